"""Service data sources: the server's own records under the names and types by which SQL reads them.

In: nothing. Out: `SERVICE_SOURCES`, by the name of the data source that each one is to the compiler. Invariant: columns
of the format have its names and types; columns that this server adds come after them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from penstock.errors import Location
from penstock.model.datasource import SERVICE_PREFIX, Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.pipe import Node, Pipe
from penstock.model.quick_dataclass import dataclass
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

SERVICE_NAMESPACES = ("penstock", "tinybird", "organization")
"""What is written before the name of a service data source. The format has the records of all workspaces of an
organization in the last one; here there is one workspace."""
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
    ("client_ip", Nullable(TEXT)),
    ("memory_usage", COUNT),
    ("replica", TEXT),
    ("workspace_id", TEXT),
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
    ("memory_usage", COUNT),
    ("workspace_id", TEXT),
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
    ("workspace_id", TEXT),
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
    ("time_read", SECONDS),
    ("time_process", SECONDS),
    ("time_write", SECONDS),
    ("workspace_id", TEXT),
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
    ("workspace_id", TEXT),
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
    ("cpu_time_sum", Float(64)),
    ("resource_tags", TEXTS),
    ("workspace_id", TEXT),
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
    ("resource_tags", TEXTS),
    ("workspace_id", TEXT),
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
    toFloat64(sum(cpu_time)) AS cpu_time_sum,
    emptyArrayString() AS resource_tags,
    any(workspace_id) AS workspace_id
FROM penstock.pipe_stats_rt
GROUP BY date, pipe_id, pipe_name
"""
_ENDPOINTS: tuple[tuple[str, Type], ...] = (
    ("pipe_name", TEXT),
    ("requests", COUNT),
    ("errors", COUNT),
    ("p50", Float(64)),
    ("p95", Float(64)),
    ("p99", Float(64)),
    ("slowest", Float(64)),
    ("result_rows", COUNT),
    ("read_rows", COUNT),
    ("read_bytes", COUNT),
    ("first_request", TIME),
    ("last_request", TIME),
)
_ENDPOINTS_SQL = f"""
SELECT
    c.pipe_name AS pipe_name,
    count() AS requests,
    countIf(c.error = 1) AS errors,
    toFloat64(quantileExact(0.5)(c.duration)) AS p50,
    toFloat64(quantileExact(0.95)(c.duration)) AS p95,
    toFloat64(quantileExact(0.99)(c.duration)) AS p99,
    toFloat64(max(c.duration)) AS slowest,
    sum(c.result_rows) AS result_rows,
    sum(c.read_rows) AS read_rows,
    sum(c.read_bytes) AS read_bytes,
    min(c.start_datetime) AS first_request,
    max(c.start_datetime) AS last_request
FROM penstock.pipe_stats_rt AS c
WHERE c.pipe_name != '{QUERY_API}'
GROUP BY pipe_name
"""
_ERRORS_SQL = f"""
SELECT
    start_datetime, request_id, pipe_id, pipe_name,
    toNullable(toJSONString(parameters)) AS params,
    url, toNullable(c.status_code) AS status_code, error_message AS error, resource_tags, workspace_id
FROM penstock.pipe_stats_rt AS c
WHERE c.error = 1 AND pipe_name != '{QUERY_API}'
"""

_OPERATION_DAYS: tuple[tuple[str, Type], ...] = (
    ("event_date", TIME),
    ("datasource_id", TEXT),
    ("datasource_name", TEXT),
    ("event_type", TEXT),
    ("pipe_id", TEXT),
    ("pipe_name", TEXT),
    ("error_count", COUNT),
    ("executions", COUNT),
    ("avg_elapsed_time_state", AggregateFunction("avg", (SECONDS,))),
    ("quantiles_state", AggregateFunction("quantiles", (Float(64),), ("0.9", "0.95", "0.99"))),
    ("read_rows", COUNT),
    ("read_bytes", COUNT),
    ("written_rows", COUNT),
    ("written_bytes", COUNT),
    ("written_rows_quarantine", COUNT),
    ("written_bytes_quarantine", COUNT),
    ("cpu_time", Float(64)),
    ("resource_tags", TEXTS),
    ("workspace_id", TEXT),
)
_OPERATION_DAYS_SQL = """
SELECT
    toDateTime(toDate(timestamp)) AS event_date, datasource_id, datasource_name, event_type, pipe_id, pipe_name,
    countIf(result != 'ok') AS error_count,
    count() AS executions,
    avgState(elapsed_time) AS avg_elapsed_time_state,
    quantilesState(0.9, 0.95, 0.99)(toFloat64(elapsed_time)) AS quantiles_state,
    sum(l.read_rows) AS read_rows,
    sum(l.read_bytes) AS read_bytes,
    sum(l.written_rows) AS written_rows,
    sum(l.written_bytes) AS written_bytes,
    sum(l.written_rows_quarantine) AS written_rows_quarantine,
    sum(l.written_bytes_quarantine) AS written_bytes_quarantine,
    toFloat64(sum(l.cpu_time)) AS cpu_time,
    emptyArrayString() AS resource_tags,
    any(l.workspace_id) AS workspace_id
FROM penstock.datasources_ops_log AS l
GROUP BY event_date, datasource_id, datasource_name, event_type, pipe_id, pipe_name
"""
_WORKSPACES: tuple[tuple[str, Type], ...] = (
    ("workspace_id", TEXT),
    ("name", TEXT),
    ("database", TEXT),
    ("plan", TEXT),
    ("created_at", TIME),
    ("deleted_at", Nullable(TIME)),
    ("origin", TEXT),
)
_WORKSPACES_SQL = """
SELECT
    '' AS workspace_id, 'penstock' AS name, '' AS database, '' AS plan,
    toDateTime(min(d.created_at)) AS created_at,
    CAST(NULL, 'Nullable(DateTime)') AS deleted_at,
    '' AS origin
FROM penstock.deployments_log AS d
"""
# Of what follows there is nothing here: no hooks, no regions, no limits of a cluster, no language models.
_RELEASES: tuple[tuple[str, Type], ...] = (
    ("timestamp", DateTime64(3)),
    ("event_type", TEXT),
    ("commit", TEXT),
    ("semver", TEXT),
    ("token", TEXT),
    ("token_name", TEXT),
    ("result", TEXT),
    ("error", TEXT),
)
_TRANSFERS: tuple[tuple[str, Type], ...] = (
    ("timestamp", TIME),
    ("event", TEXT),
    ("origin_provider", TEXT),
    ("origin_region", TEXT),
    ("destination_provider", TEXT),
    ("destination_region", TEXT),
    ("kind", TEXT),
    ("bytes", COUNT),
    ("workspace_id", TEXT),
)
_LIMITS: tuple[tuple[str, Type], ...] = (
    ("timestamp", DateTime64(3)),
    ("workspace_id", TEXT),
    ("workspace_name", TEXT),
    ("pipe_name", TEXT),
    ("rate_limit_type", TEXT),
    ("action", TEXT),
    ("limit_metadata", TEXT),
)
_HOOKS: tuple[tuple[str, Type], ...] = (
    ("timestamp", TIME),
    ("request_id", TEXT),
    ("import_id", Nullable(TEXT)),
    ("job_id", Nullable(TEXT)),
    ("source", TEXT),
    ("hook_id", TEXT),
    ("name", TEXT),
    ("operation", TEXT),
    ("status", TEXT),
    ("datasource_id", TEXT),
    ("datasource_name", TEXT),
    ("processing_time", Nullable(SECONDS)),
    ("processing_error", Nullable(TEXT)),
)
_LANGUAGE_MODELS: tuple[tuple[str, Type], ...] = (
    ("start_time", TIME),
    ("end_time", TIME),
    ("organization_id", TEXT),
    ("organization_name", TEXT),
    ("workspace_id", TEXT),
    ("workspace_name", TEXT),
    ("user_email", TEXT),
    ("request_id", TEXT),
    ("prompt_tokens", Int(32, signed=False)),
    ("completion_tokens", Int(32, signed=False)),
    ("total_tokens", Int(32, signed=False)),
    ("duration", SECONDS),
    ("cost", SECONDS),
    ("origin", TEXT),
    ("feature", TEXT),
)
NEVER_FILLED = (
    "releases_log",
    "data_transfer",
    "cluster_control_log",
    "hook_log",
    "llm_usage",
)
"""Those of what this server does not do."""

SERVICE_SOURCES: Mapping[str, ServiceSource] = {
    f"{SERVICE_PREFIX}{source.name}": source
    for source in (
        ServiceSource("pipe_stats_rt", _CALLS, "admin"),
        ServiceSource("pipe_stats", _DAYS, "read", sql=_DAYS_SQL),
        ServiceSource("endpoint_errors", _ERRORS, "admin", sql=_ERRORS_SQL),
        ServiceSource("endpoint_stats", _ENDPOINTS, "read", sql=_ENDPOINTS_SQL),
        ServiceSource("datasources_ops_log", _OPERATIONS, "read"),
        ServiceSource("datasources_ops_stats", _OPERATION_DAYS, "read", sql=_OPERATION_DAYS_SQL),
        ServiceSource("datasources_storage", _STORAGE, "read"),
        ServiceSource("jobs_log", _JOBS, "deploy"),
        ServiceSource("deployments_log", _DEPLOYMENTS, "deploy"),
        ServiceSource("workspaces", _WORKSPACES, "deploy", sql=_WORKSPACES_SQL),
        ServiceSource("kafka_ops_log", _KAFKA, "read"),
        ServiceSource("sinks_ops_log", _SINKS, "deploy"),
        ServiceSource("releases_log", _RELEASES, "deploy"),
        ServiceSource("data_transfer", _TRANSFERS, "read"),
        ServiceSource("cluster_control_log", _LIMITS, "read"),
        ServiceSource("hook_log", _HOOKS, "read"),
        ServiceSource("llm_usage", _LANGUAGE_MODELS, "read"),
        ServiceSource("audit_log", _AUDIT, "admin", is_private=True),
    )
}
