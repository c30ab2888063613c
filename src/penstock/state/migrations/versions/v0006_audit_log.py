"""The audit log: who changed what, from where, and what became of it.

In: a store without it. Out: one that keeps it. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "audit_log",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("began_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("elapsed_time", sa.Float, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
    )
    op.create_index("audit_log_began_at", "audit_log", ["began_at"])


def downgrade() -> None:
    op.drop_table("audit_log")
