"""The names of tables that only forgotten deployments had, until their folders were searched for orphan files.

In: the schema before. Out: one with a table more. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "forgotten_tables",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("forgotten_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("forgotten_tables_forgotten_at", "forgotten_tables", ["forgotten_at"])


def downgrade() -> None:
    op.drop_table("forgotten_tables")
