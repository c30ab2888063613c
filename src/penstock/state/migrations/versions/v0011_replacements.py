"""Batches that replace the rows before them, and the jobs that make them.

In: a log in which every batch adds rows, and jobs that all append. Out: one that can hold replacements. Invariant:
nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("batches", sa.Column("replaces", sa.BigInteger))
    op.add_column("jobs", sa.Column("mode", sa.String(16), nullable=False, server_default="append"))


def downgrade() -> None:
    op.drop_column("jobs", "mode")
    op.drop_column("batches", "replaces")
