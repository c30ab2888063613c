"""Which warehouse and which inbox belong to the store.

In: a store that any folder could be used with. Out: one that knows its storage; it is filled in by the next start.
Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.create_table(
        "storage",
        sa.Column("part", sa.String(16), primary_key=True),
        sa.Column("uuid", sa.String(36), nullable=False),
        sa.Column("stamp", sa.String(36), nullable=False),
        sa.Column("next_stamp", sa.String(36)),
        sa.Column("location", sa.Text, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("storage")
