"""Service data sources: the server's own records under the names and types by which SQL reads them.

In: nothing. Out: `SERVICE_SOURCES`, by the name of the data source that each one is to the compiler. Invariant: columns
of the format have its names and types; columns that this server adds come after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.errors import Location
from penstock.model.datasource import SERVICE_PREFIX, Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.pipe import Node, Pipe
from penstock.model.types import (
    AggregateFunction,
    Array,
    Bool,
    Date,
    DateTime,
    DateTime64,
    Float,
    Int,
    Map,
    Nullable,
    String,
    Type,
)

SERVICE_NAMESPACES = ("penstock", "tinybird")
"""What is written before the name of a service data source."""
QUERY_API = "query_api"
"""The name under which a call of `/v0/sql` is recorded, in place of a pipe's."""

TEXT, NUMBER, SECONDS, TIME, FINE_TIME = String(), Int(64), Float(32), DateTime(), DateTime64(6)
COUNT, TEXTS = Int(64, signed=False), Array(String())
Scope: TypeAlias = Literal["admin", "deploy", "read"]


@dataclass(frozen=True, slots=True)
class ServiceSource:
    """One of them."""

    name: str
    columns: tuple[tuple[str, Type], ...]
    scope: Scope
    """The scope that a token needs which has no grant for its name: that of the call that shows these records."""
    is_private: bool = False
    """Whether only SQL of a call reads it, and no pipe does: an endpoint would show it to others."""
    sql: str = ""
    """The query of other service data sources that it is; empty for one that is read from records."""

    @property
    def datasource(self) -> DataSource:
        """It as the compiler sees it."""
        columns = tuple(Column(column, of) for column, of in self.columns)
        return DataSource(f"{SERVICE_PREFIX}{self.name}", columns, Engine())

    @property
    def pipe(self) -> Pipe | None:
        """The pipe that it is to the compiler, if it is a query."""
        if not self.sql:
            return None
        return Pipe(f"{SERVICE_PREFIX}{self.name}", (Node(self.name, Text(self.sql, Location(self.name))),))


_CALLS: tuple[tuple[str, Type], ...] = (
    ("start_datetime", TIME),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("duration", SECONDS),
    ("read_bytes", COUNT),
    ("read_rows", COUNT),
    ("result_rows", COUNT),
    ("url", Nullable(TEXT)),
    ("error", Int(8, signed=False)),
    ("request_id", TEXT),
    ("token", TEXT),
    ("token_name", TEXT),
    ("status_code", Int(32)),
    ("method", TEXT),
    ("parameters", Map(TEXT, TEXT)),
    ("release", TEXT),
    ("user_agent", Nullable(TEXT)),
    ("resource_tags", TEXTS),
    ("cpu_time", SECONDS),
    ("deployment", TEXT),
    ("error_code", Nullable(TEXT)),
    ("error_message", Nullable(TEXT)),
)
_OPERATIONS: tuple[tuple[str, Type], ...] = (
    ("timestamp", TIME),
    ("event_type", TEXT),
    ("datasource_id", TEXT),
    ("datasource_name", TEXT),
    ("result", TEXT),
    ("elapsed_time", SECONDS),
    ("error", Nullable(TEXT)),
    ("request_id", TEXT),
    ("import_id", Nullable(TEXT)),
    ("job_id", Nullable(TEXT)),
    ("rows", Nullable(COUNT)),
    ("rows_quarantine", Nullable(COUNT)),
    ("blocks_ids", TEXTS),
    ("Options.Names", TEXTS),
    ("Options.Values", TEXTS),
    ("operation_id", TEXT),
    ("read_rows", COUNT),
    ("read_bytes", COUNT),
    ("written_rows", COUNT),
    ("written_bytes", COUNT),
    ("written_rows_quarantine", COUNT),
    ("written_bytes_quarantine", COUNT),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("release", TEXT),
    ("resource_tags", TEXTS),
    ("cpu_time", SECONDS),
    ("deployment_id", Nullable(NUMBER)),
)
_JOBS: tuple[tuple[str, Type], ...] = (
    ("job_id", TEXT),
    ("job_type", TEXT),
    ("workspace_id", TEXT),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("datasource_id", TEXT),
    ("datasource_name", TEXT),
    ("request_id", TEXT),
    ("created_at", TIME),
    ("started_at", TIME),
    ("updated_at", TIME),
    ("status", TEXT),
    ("error", Nullable(TEXT)),
    ("job_metadata", TEXT),
    ("id", NUMBER),
    ("kind", TEXT),
    ("pipe", TEXT),
    ("datasource", TEXT),
    ("state", TEXT),
    ("parameters", TEXT),
    ("due_at", Nullable(TIME)),
    ("deployment", Nullable(NUMBER)),
    ("rows", Nullable(NUMBER)),
)
_AUDIT: tuple[tuple[str, Type], ...] = (
    ("began_at", FINE_TIME),
    ("action", TEXT),
    ("target", TEXT),
    ("outcome", TEXT),
    ("elapsed_time", Float(64)),
    ("token", TEXT),
    ("address", TEXT),
    ("request_id", TEXT),
    ("details", TEXT),
)
_DEPLOYMENTS: tuple[tuple[str, Type], ...] = (
    ("id", NUMBER),
    ("name", TEXT),
    ("state", TEXT),
    ("base", Nullable(NUMBER)),
    ("created_at", FINE_TIME),
    ("updated_at", FINE_TIME),
    ("error", Nullable(TEXT)),
    ("paused", Bool()),
    ("rows_moved", Nullable(NUMBER)),
    ("bytes_moved", Nullable(NUMBER)),
)
_STORAGE: tuple[tuple[str, Type], ...] = (
    ("datasource_id", TEXT),
    ("datasource_name", TEXT),
    ("timestamp", TIME),
    ("bytes", COUNT),
    ("rows", COUNT),
    ("bytes_quarantine", COUNT),
    ("rows_quarantine", COUNT),
)
_KAFKA: tuple[tuple[str, Type], ...] = (
    ("timestamp", TIME),
    ("datasource_id", TEXT),
    ("topic", TEXT),
    ("partition", Int(16)),
    ("msg_type", TEXT),
    ("lag", NUMBER),
    ("processed_messages", Int(32)),
    ("processed_bytes", Int(32)),
    ("committed_messages", Int(32)),
    ("msg", TEXT),
)
_SINKS: tuple[tuple[str, Type], ...] = (
    ("timestamp", TIME),
    ("service", TEXT),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("token_name", TEXT),
    ("result", TEXT),
    ("error", Nullable(TEXT)),
    ("elapsed_time", Float(64)),
    ("job_id", Nullable(TEXT)),
    ("read_rows", COUNT),
    ("written_rows", COUNT),
    ("read_bytes", COUNT),
    ("written_bytes", COUNT),
    ("output", TEXTS),
    ("parameters", Map(TEXT, TEXT)),
    ("options", Map(TEXT, TEXT)),
    ("cpu_time", SECONDS),
)
_DAYS: tuple[tuple[str, Type], ...] = (
    ("date", Date()),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("view_count", COUNT),
    ("error_count", COUNT),
    ("avg_duration_state", AggregateFunction("avg", (SECONDS,))),
    ("quantile_timing_state", AggregateFunction("quantilesTiming", (Int(32, signed=False),), ("0.9", "0.95", "0.99"))),
    ("read_bytes_sum", COUNT),
    ("read_rows_sum", COUNT),
    ("resource_tags", TEXTS),
)
_ERRORS: tuple[tuple[str, Type], ...] = (
    ("start_datetime", TIME),
    ("request_id", TEXT),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("params", Nullable(TEXT)),
    ("url", Nullable(TEXT)),
    ("status_code", Nullable(Int(32))),
    ("error", Nullable(TEXT)),
)
_DAYS_SQL = """
SELECT
    toDate(start_datetime) AS date, pipe_id, pipe_name,
    count() AS view_count,
    countIf(error = 1) AS error_count,
    avgState(duration) AS avg_duration_state,
    quantilesTimingState(0.9, 0.95, 0.99)(toUInt32(duration * 1000)) AS quantile_timing_state,
    sum(read_bytes) AS read_bytes_sum,
    sum(read_rows) AS read_rows_sum,
    emptyArrayString() AS resource_tags
FROM penstock.pipe_stats_rt
GROUP BY date, pipe_id, pipe_name
"""
_ERRORS_SQL = f"""
SELECT
    start_datetime, request_id, pipe_id, pipe_name,
    toNullable(toJSONString(parameters)) AS params,
    url, toNullable(c.status_code) AS status_code, error_message AS error
FROM penstock.pipe_stats_rt AS c
WHERE c.error = 1 AND pipe_name != '{QUERY_API}'
"""

SERVICE_SOURCES: Mapping[str, ServiceSource] = {
    f"{SERVICE_PREFIX}{source.name}": source
    for source in (
        ServiceSource("pipe_stats_rt", _CALLS, "admin"),
        ServiceSource("pipe_stats", _DAYS, "read", sql=_DAYS_SQL),
        ServiceSource("endpoint_errors", _ERRORS, "admin", sql=_ERRORS_SQL),
        ServiceSource("datasources_ops_log", _OPERATIONS, "read"),
        ServiceSource("datasources_storage", _STORAGE, "read"),
        ServiceSource("jobs_log", _JOBS, "deploy"),
        ServiceSource("deployments_log", _DEPLOYMENTS, "deploy"),
        ServiceSource("kafka_ops_log", _KAFKA, "read"),
        ServiceSource("sinks_ops_log", _SINKS, "deploy"),
        ServiceSource("audit_log", _AUDIT, "admin", is_private=True),
    )
}
