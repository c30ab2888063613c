"""Who asked for a run of a sink, and how much it wrote.

In: jobs. Out: jobs with the name of a token and a number of bytes. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("jobs", sa.Column("written_bytes", sa.BigInteger))
    op.add_column("jobs", sa.Column("token", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    op.drop_column("jobs", "token")
    op.drop_column("jobs", "written_bytes")
