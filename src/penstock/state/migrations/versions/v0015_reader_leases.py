"""Until when other Iceberg readers may use files that they were given.

In: a store that knows no leases. Out: one that can hold the latest. Invariant: nothing that was there changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "reader_leases",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("until", sa.Double, nullable=False),
        sa.Column("seconds", sa.Double, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("reader_leases")
