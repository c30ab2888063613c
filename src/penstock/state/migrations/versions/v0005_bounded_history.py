"""Nothing grows with history: idempotency keys have an age and the digest of their body, deployments can be listed
without their manifests, and numbered rows have 64 bits on Postgres too.

In: the schema before. Out: this one. Invariant: known keys stay known for their whole retention from now on; batches
that stayed in the log without a file, only because of a key, leave it.
"""

from __future__ import annotations

from datetime import datetime, timezone

import orjson
import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

NUMBERED = (
    ("deployments", "id"),
    ("deployments", "base"),
    ("pointer", "live"),
    ("pointer", "previous"),
    ("pointer", "version"),
    ("journal", "deployment"),
    ("operations", "id"),
    ("operations", "deployment_id"),
    ("jobs", "id"),
    ("jobs", "deployment"),
)
SEQUENCES = ("deployments", "operations", "jobs")


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        _set_number_type("BIGINT")
    _add_keys_columns()
    _add_deployment_columns()


def downgrade() -> None:
    op.drop_index("deployments_name", "deployments")
    for column in ("swept", "bytes_moved", "rows_moved", "revision"):
        op.drop_column("deployments", column)
    op.drop_index("batch_keys_used_at", "batch_keys")
    op.drop_column("batch_keys", "used_at")
    op.drop_column("batch_keys", "digest")
    if op.get_bind().dialect.name == "postgresql":
        _set_number_type("INTEGER")


def _set_number_type(to: str) -> None:
    for table, column in NUMBERED:
        op.execute(sa.text(f"ALTER TABLE {table} ALTER COLUMN {column} TYPE {to}"))
    for table in SEQUENCES:
        op.execute(sa.text(f"ALTER SEQUENCE {table}_id_seq AS {to}"))


def _add_keys_columns() -> None:
    now = datetime.now(timezone.utc)
    written = now.strftime("%Y-%m-%d %H:%M:%S.%f") + ("+00" if op.get_bind().dialect.name == "postgresql" else "")
    op.add_column("batch_keys", sa.Column("digest", sa.String(64)))
    # A constant default fills the existing rows without rewriting them; it is the moment of the upgrade.
    op.add_column(
        "batch_keys", sa.Column("used_at", sa.DateTime(timezone=True), nullable=False, server_default=written)
    )
    op.create_index("batch_keys_used_at", "batch_keys", ["used_at"])
    op.execute(
        sa.text(
            "DELETE FROM batches WHERE segment = '' "
            "AND number < (SELECT max(other.number) FROM batches other WHERE other.stream = batches.stream) "
            "AND NOT EXISTS (SELECT 1 FROM damaged_segments damaged "
            "WHERE damaged.stream = batches.stream AND damaged.number = batches.number)"
        )
    )


def _add_deployment_columns() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.add_column("deployments", sa.Column("revision", number, nullable=False, server_default="0"))
    op.add_column("deployments", sa.Column("rows_moved", sa.BigInteger))
    op.add_column("deployments", sa.Column("bytes_moved", sa.BigInteger))
    op.add_column("deployments", sa.Column("swept", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_index("deployments_name", "deployments", ["name"])
    connection = op.get_bind()
    for id, plan in connection.execute(sa.text("SELECT id, plan FROM deployments")).all():
        known = orjson.loads(plan) if isinstance(plan, (str, bytes)) else plan
        values = {"id": id, "rows": known.get("rows_moved"), "bytes": known.get("bytes_moved")}
        connection.execute(
            sa.text("UPDATE deployments SET rows_moved = :rows, bytes_moved = :bytes WHERE id = :id"), values
        )
