"""Batches that remove rows from those before them.

In: a log of batches that add or replace rows. Out: one that can hold removals. Invariant: nothing that was there
changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("batches", sa.Column("removes", sa.Boolean))


def downgrade() -> None:
    op.drop_column("batches", "removes")
