"""How far the sources of streams have come.

In: a store that knows no positions. Out: one that can hold them. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "stream_positions",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, primary_key=True),
        sa.Column("position", sa.Text, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("stream_positions")
