"""The first schema: deployments, pointer, journal, batch log, tokens, operations.

In: an empty store. Out: its tables, and the one row of the pointer. Invariant:
once released a migration is never edited; a change of schema is a new one.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    _create_deployments()
    _create_batches()
    op.create_table(
        "tokens",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("digest", sa.String(64), nullable=False, unique=True),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
    )
    _create_operations()


def downgrade() -> None:
    for table in ("operations", "tokens", "batch_keys", "batches", "journal", "pointer", "deployments"):
        op.drop_table(table)


def _create_deployments() -> None:
    op.create_table(
        "deployments",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("base", sa.Integer),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("files", sa.JSON, nullable=False),
        sa.Column("plan", sa.JSON, nullable=False),
        sa.Column("manifest", sa.Text, nullable=False),
        sa.Column("error", sa.JSON),
    )
    op.create_index("deployments_state", "deployments", ["state"])
    pointer = op.create_table(
        "pointer",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("live", sa.Integer, sa.ForeignKey("deployments.id")),
        sa.Column("previous", sa.Integer, sa.ForeignKey("deployments.id")),
        sa.Column("version", sa.Integer, nullable=False),
    )
    op.bulk_insert(pointer, [{"id": 1, "live": None, "previous": None, "version": 0}])
    op.create_table(
        "journal",
        sa.Column("deployment", sa.Integer, sa.ForeignKey("deployments.id"), primary_key=True),
        sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("step", sa.Text, nullable=False),
        sa.Column("done", sa.Boolean, nullable=False),
    )


def _create_batches() -> None:
    op.create_table(
        "batches",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("segment", sa.Text, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_table(
        "batch_keys",
        sa.Column("stream", sa.Text, primary_key=True),
        sa.Column("key", sa.Text, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
    )


def _create_operations() -> None:
    counts = ("rows", "rows_quarantine", "read_rows", "read_bytes", "written_rows", "written_bytes")
    op.create_table(
        "operations",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("timestamp", sa.DateTime(timezone=True), nullable=False),
        sa.Column("event_type", sa.Text, nullable=False),
        sa.Column("datasource_name", sa.Text, nullable=False),
        sa.Column("deployment_id", sa.Integer),
        sa.Column("result", sa.Text, nullable=False),
        sa.Column("elapsed_time", sa.Float, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in counts),
        sa.Column("error", sa.Text),
    )
    op.create_index("operations_timestamp", "operations", ["timestamp"])
