"""Segments that were found damaged: decided once for every table that reads their stream.

In: a store whose log knows digests. Out: one that knows damage too. Invariant:
nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "damaged_segments",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("damaged_segments")
