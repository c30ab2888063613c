"""Jobs: what is run once, on demand or at a time, and what became of it.

In: a store without jobs. Out: one that keeps them. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("pipe", sa.Text, nullable=False),
        sa.Column("datasource", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("parameters", sa.JSON, nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deployment", sa.Integer),
        sa.Column("stream", sa.Text),
        sa.Column("rows", sa.BigInteger),
        sa.Column("error", sa.JSON),
        sa.UniqueConstraint("pipe", "due_at", name="jobs_once"),
    )
    op.create_index("jobs_state", "jobs", ["state"])


def downgrade() -> None:
    op.drop_table("jobs")
