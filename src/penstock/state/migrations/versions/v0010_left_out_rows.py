"""Where a view was when it last left a condemned row out.

In: condemned rows of which it is not known whether the view passed them. Out: rows for which that is written down.
Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("condemned_rows", sa.Column("left_out_at", sa.Text))


def downgrade() -> None:
    op.drop_column("condemned_rows", "left_out_at")
