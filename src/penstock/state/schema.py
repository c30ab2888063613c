"""The tables of the state store, as SQLAlchemy Core describes them.

In: nothing. Out: `METADATA` and one `Table` per name. Invariant: this is what the scripts in `migrations/` build;
a test compares the two.
"""

from __future__ import annotations

from datetime import datetime, timezone

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

MAX_ROW_ID = 2**63 - 1
"""The greatest row id: the maximum of BIGINT."""
ROW_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""Numbers of rows: an INTEGER of Postgres has 32 bits; one of SQLite has 64, and only it numbers rows by itself."""


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC. SQLite stores no time zone, so values are normalised when written and when read."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return value.astimezone(timezone.utc) if value else None

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)


METADATA = sa.MetaData()

deployments = sa.Table(
    "deployments",
    METADATA,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("base", ROW_ID),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Column("files", sa.JSON, nullable=False),
    sa.Column("plan", sa.JSON, nullable=False),
    sa.Column("manifest", sa.Text, nullable=False),
    sa.Column("error", sa.JSON(none_as_null=True)),
    sa.Column("paused", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Column("revision", ROW_ID, nullable=False, server_default="0"),
    sa.Column("rows_moved", sa.BigInteger),
    sa.Column("bytes_moved", sa.BigInteger),
    sa.Column("swept", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index("deployments_state", "state"),
    sa.Index("deployments_name", "name"),
)

forgotten_tables = sa.Table(
    "forgotten_tables",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("forgotten_at", UtcDateTime, nullable=False),
    sa.Index("forgotten_tables_forgotten_at", "forgotten_at"),
)

pointer = sa.Table(
    "pointer",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("live", ROW_ID, sa.ForeignKey("deployments.id")),
    sa.Column("previous", ROW_ID, sa.ForeignKey("deployments.id")),
    sa.Column("version", ROW_ID, nullable=False),
)

journal = sa.Table(
    "journal",
    METADATA,
    sa.Column("deployment", ROW_ID, sa.ForeignKey("deployments.id"), primary_key=True),
    sa.Column("ordinal", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("step", sa.Text, nullable=False),
    sa.Column("state", sa.String(8), nullable=False, server_default="waiting"),
)

batches = sa.Table(
    "batches",
    METADATA,
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("segment", sa.Text, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("received_at", UtcDateTime, nullable=False),
    sa.Column("digest", sa.String(64)),
    sa.Column("replaces", sa.BigInteger),
    sa.Column("removes", sa.Boolean),
)

batch_keys = sa.Table(
    "batch_keys",
    METADATA,
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("digest", sa.String(64)),
    sa.Column("used_at", UtcDateTime, nullable=False),
    sa.Index("batch_keys_used_at", "used_at"),
)

stream_positions = sa.Table(
    "stream_positions",
    METADATA,
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("source", sa.Text, primary_key=True),
    sa.Column("position", sa.Text, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
)

tokens = sa.Table(
    "tokens",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.String(64), nullable=False, unique=True),
    sa.Column("scopes", sa.JSON, nullable=False),
    sa.Column("created_at", UtcDateTime, nullable=False),
)

operations = sa.Table(
    "operations",
    METADATA,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("timestamp", UtcDateTime, nullable=False),
    sa.Column("event_type", sa.Text, nullable=False),
    sa.Column("datasource_name", sa.Text, nullable=False),
    sa.Column("deployment_id", ROW_ID),
    sa.Column("result", sa.Text, nullable=False),
    sa.Column("elapsed_time", sa.Float, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("rows_quarantine", sa.BigInteger, nullable=False),
    sa.Column("read_rows", sa.BigInteger, nullable=False),
    sa.Column("read_bytes", sa.BigInteger, nullable=False),
    sa.Column("written_rows", sa.BigInteger, nullable=False),
    sa.Column("written_bytes", sa.BigInteger, nullable=False),
    sa.Column("error", sa.Text),
    sa.Index("operations_timestamp", "timestamp"),
)

audit_log = sa.Table(
    "audit_log",
    METADATA,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("began_at", UtcDateTime, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("elapsed_time", sa.Float, nullable=False),
    sa.Column("token", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("request_id", sa.Text, nullable=False),
    sa.Column("details", sa.Text, nullable=False),
    sa.Index("audit_log_began_at", "began_at"),
)

calls = sa.Table(
    "calls",
    METADATA,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("started_at", UtcDateTime, nullable=False),
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
    sa.Index("calls_started_at", "started_at"),
    sa.Index("calls_pipe", "pipe", "id"),
)

lease = sa.Table(
    "lease",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("token", sa.BigInteger, nullable=False),
    sa.Column("beat", sa.BigInteger, nullable=False),
    sa.Column("owner", sa.JSON, nullable=False),
)

made_tables = sa.Table(
    "made_tables",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("columns", sa.JSON, nullable=False),
    sa.Column("accepted", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("newest", sa.BigInteger, nullable=False, server_default="0"),
)

attempts = sa.Table(
    "attempts",
    METADATA,
    sa.Column("table_id", sa.Text, primary_key=True),
    sa.Column("flow", sa.Text, primary_key=True),
    sa.Column("deaths", sa.Integer, nullable=False),
)

query_crashes = sa.Table(
    "query_crashes",
    METADATA,
    sa.Column("digest", sa.String(32), primary_key=True),
    sa.Column("crashes", sa.Integer, nullable=False),
    sa.Column("last_at", UtcDateTime, nullable=False),
)

damaged_segments = sa.Table(
    "damaged_segments",
    METADATA,
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("found_at", UtcDateTime, nullable=False),
)

condemned_rows = sa.Table(
    "condemned_rows",
    METADATA,
    sa.Column("table_id", sa.Text, primary_key=True),
    sa.Column("flow", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("mark", sa.Text, primary_key=True),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("raw", sa.Text, nullable=False),
    sa.Column("found_at", UtcDateTime, nullable=False),
    sa.Column("left_out_at", sa.Text),
)

jobs = sa.Table(
    "jobs",
    METADATA,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("pipe", sa.Text, nullable=False),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("parameters", sa.JSON, nullable=False),
    sa.Column("due_at", UtcDateTime),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Column("deployment", ROW_ID),
    sa.Column("stream", sa.Text),
    sa.Column("rows", sa.BigInteger),
    sa.Column("error", sa.JSON(none_as_null=True)),
    sa.Column("mode", sa.String(16), nullable=False, server_default="append"),
    sa.Column("written_bytes", sa.BigInteger),
    sa.Column("token", sa.Text, nullable=False, server_default=""),
    sa.UniqueConstraint("pipe", "due_at", name="jobs_once"),
    sa.Index("jobs_state", "state"),
)

storage = sa.Table(
    "storage",
    METADATA,
    sa.Column("part", sa.String(16), primary_key=True),
    sa.Column("uuid", sa.String(36), nullable=False),
    sa.Column("stamp", sa.String(36), nullable=False),
    sa.Column("next_stamp", sa.String(36)),
    sa.Column("location", sa.Text, nullable=False),
)

topic_positions = sa.Table(
    "topic_positions",
    METADATA,
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("topic", sa.Text, primary_key=True),
    sa.Column("partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("origin", sa.Text, nullable=False),
    sa.Column("next", sa.BigInteger, nullable=False),
)

topic_reads = sa.Table(
    "topic_reads",
    METADATA,
    sa.Column("id", ROW_ID, primary_key=True),
    sa.Column("timestamp", UtcDateTime, nullable=False),
    sa.Column("datasource", sa.Text, nullable=False),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("partition", sa.Integer, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("lag", sa.BigInteger, nullable=False),
    sa.Column("messages", sa.BigInteger, nullable=False),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Index("topic_reads_timestamp", "timestamp"),
)

imported_files = sa.Table(
    "imported_files",
    METADATA,
    sa.Column("stream", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("mark", sa.Text, nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("has_header", sa.Boolean),
    sa.Column("successful_rows", sa.BigInteger, nullable=False),
    sa.Column("quarantined_rows", sa.BigInteger, nullable=False),
    sa.Column("error", sa.Text),
    sa.Column("found_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Index("imported_files_address", "stream", "address", unique=True),
    sa.Index("imported_files_state", "stream", "state", "number"),
)

reader_leases = sa.Table(
    "reader_leases",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("until", sa.Double, nullable=False),
    sa.Column("seconds", sa.Double, nullable=False),
)
