"""Rows that a flow leaves out because its step fails for them.

In: a store without them. Out: one that keeps them. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "condemned_rows",
        sa.Column("table_id", sa.Text, primary_key=True),
        sa.Column("flow", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("mark", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("problem", sa.Text, nullable=False),
        sa.Column("raw", sa.Text, nullable=False),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
    )


def downgrade() -> None:
    op.drop_table("condemned_rows")
