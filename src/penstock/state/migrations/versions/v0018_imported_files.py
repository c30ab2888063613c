"""The files that data sources take, each once.

In: a store that knows no files. Out: one that can hold which were found and taken. Invariant: nothing that was there
changes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    op.create_table(
        "imported_files",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("address", sa.Text, nullable=False),
        sa.Column("mark", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("has_header", sa.Boolean),
        sa.Column("successful_rows", sa.BigInteger, nullable=False),
        sa.Column("quarantined_rows", sa.BigInteger, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("found_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("imported_files_address", "imported_files", ["stream", "address"], unique=True)
    op.create_index("imported_files_state", "imported_files", ["stream", "state", "number"])


def downgrade() -> None:
    op.drop_table("imported_files")
