"""The calls of endpoints and of SQL.

In: a store that knows none. Out: one that can hold the latest. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "calls",
        sa.Column("id", ROW_ID, primary_key=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("pipe", sa.Text, nullable=False),
        sa.Column("deployment", sa.Text, nullable=False),
        sa.Column("duration", sa.Float, nullable=False),
        sa.Column("read_rows", sa.BigInteger, nullable=False),
        sa.Column("read_bytes", sa.BigInteger, nullable=False),
        sa.Column("result_rows", sa.BigInteger, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("error_code", sa.Text),
        sa.Column("error", sa.Text),
        sa.Column("request_id", sa.Text, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("method", sa.String(8), nullable=False),
        sa.Column("user_agent", sa.Text, nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("is_whole", sa.Boolean, nullable=False),
    )
    op.create_index("calls_started_at", "calls", ["started_at"])
    op.create_index("calls_pipe", "calls", ["pipe", "id"])


def downgrade() -> None:
    op.drop_table("calls")
