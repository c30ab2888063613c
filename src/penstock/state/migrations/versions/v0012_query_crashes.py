"""Queries that were running when Spark's process ended.

In: crashes of flows only. Out: those of queries too. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.create_table(
        "query_crashes",
        sa.Column("digest", sa.String(32), primary_key=True),
        sa.Column("crashes", sa.Integer, nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("query_crashes")
