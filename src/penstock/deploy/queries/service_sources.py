"""The rows of service data sources: what the server has recorded, in the columns of `model/service_sources.py`.

In: the records, and the columns that a query uses. Out: the latest rows. Invariant: what was recorded before a query
began is in its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import partial
from urllib.parse import urlencode

import orjson

from penstock.deploy.queries.service_jobs import list_jobs
from penstock.deploy.runtime.state_store import StateStore
from penstock.flow.table_registry import TableRegistry
from penstock.model.datasource import SERVICE_PREFIX
from penstock.model.deployment import DeploymentRecord
from penstock.model.manifest import Binding, Manifest
from penstock.model.service_sources import NEVER_FILLED, QUERY_API, SERVICE_SOURCES
from penstock.model.types import DateTime, Nullable, Type
from penstock.state.jobs import SINK
from penstock.state.logs.audit_log import AuditEntry
from penstock.state.logs.operations import Operation

MOST_ROWS = 10_000
"""The latest entries that a query sees, except for calls, of which it sees all."""
MOST_CALLS = 10_000_000
MOST_BYTES = 2**31 - 1
"""What the column `processed_bytes` of the format holds."""
_OF_A_TABLE = re.compile(r"__d[0-9]{1,19}(?:f[0-9]{1,19})?$")
"""What a physical table has after the name of its data source: its deployment, and the number of a clone."""
Rows = list[tuple[object, ...]]
Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ServiceRecords:
    """Where the rows come from, for a query of one version."""

    store: StateStore
    registry: TableRegistry
    manifest: Manifest


def read_service_source(name: str, columns: Sequence[str], records: ServiceRecords) -> Rows:
    """The latest rows of a service data source, `penstock__NAME`, as values of some of its columns."""
    types = dict(SERVICE_SOURCES[name].columns)
    wanted = [(each, types[each]) for each in columns]
    found = _READERS[name.removeprefix(SERVICE_PREFIX)](records, columns)
    return [tuple(_as_value(row.get(column), of) for column, of in wanted) for row in found]


def _as_value(value: object, of: Type) -> object:
    """The value as a value of the type; what is not recorded is empty, or NULL."""
    if value is None:
        return None if isinstance(of, Nullable) else _EMPTY[str(of)]
    plain = of.of if isinstance(of, Nullable) else of
    if isinstance(value, datetime) and isinstance(plain, DateTime):
        return value.replace(microsecond=0)
    if isinstance(value, Mapping) and str(plain) == "String":
        return orjson.dumps(value, default=dict).decode()
    return value


_EMPTY: Mapping[str, object] = {
    "String": "",
    "Array(String)": [],
    "Float32": 0.0,
    "Float64": 0.0,
    "UInt64": 0,
    "Int64": 0,
}
"""What stands for values that are not recorded, by type."""


def _read_operations(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    bound = {each.table: each.name for each in records.manifest.bindings}
    for operation in records.store.operations.recent(MOST_ROWS):
        yield _operation_row(operation, bound)


def _operation_row(operation: Operation, bound: Mapping[str, str]) -> Row:
    """The record of a table is one of its data source: by the name that it has in the version that is read, else by the
    one that the table was made for. The id is the name, as in the other records, so that they can be joined."""
    own, table = {name: getattr(operation, name) for name in Operation.__slots__}, operation.datasource_name
    name = bound.get(table) or _OF_A_TABLE.sub("", table)
    return {**own, "datasource_id": name, "datasource_name": name}


def _read_calls(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    needed = list(dict.fromkeys(source for each in columns for source in _CALL_COLUMNS.get(each, ()))) or ["id"]
    for values in records.store.calls.recent(needed, MOST_CALLS):
        call = dict(zip(needed, values, strict=True))
        yield {each: _CALL_VALUES[each](call) for each in columns if each in _CALL_VALUES}


def _column(name: str) -> Callable[[Row], object]:
    return lambda call: call[name]


_PLAIN_COLUMNS = {
    "start_datetime": "started_at",
    "pipe_id": "pipe",
    "pipe_name": "pipe",
    "duration": "duration",
    "read_bytes": "read_bytes",
    "read_rows": "read_rows",
    "result_rows": "result_rows",
    "request_id": "request_id",
    "token": "token",
    "token_name": "token",
    "status_code": "status",
    "method": "method",
    "user_agent": "user_agent",
    "deployment": "deployment",
    "error_code": "error_code",
    "error_message": "error",
}
"""The column of the call log for a column of `pipe_stats_rt`; the others are computed."""


def _texts(call: Row) -> dict[str, str]:
    """The parameters as texts; a list as JSON."""
    given = call["parameters"]
    assert isinstance(given, Mapping), "the call log has an object there"
    return {name: value if isinstance(value, str) else orjson.dumps(value).decode() for name, value in given.items()}


def _url(call: Row) -> str:
    path = "/v0/sql" if call["pipe"] == QUERY_API else f"/v0/pipes/{call['pipe']}.json"
    asked = urlencode(_texts(call))
    return f"{path}?{asked}" if asked else path


def _is_error(call: Row) -> int:
    return int(int(str(call["status"])) >= 400)


_CALL_VALUES: Mapping[str, Callable[[Row], object]] = {
    **{name: _column(source) for name, source in _PLAIN_COLUMNS.items()},
    "error": _is_error,
    "parameters": _texts,
    "url": _url,
}
_CALL_COLUMNS: Mapping[str, tuple[str, ...]] = {
    **{name: (source,) for name, source in _PLAIN_COLUMNS.items()},
    "error": ("status",),
    "parameters": ("parameters",),
    "url": ("pipe", "parameters"),
}


def _read_jobs(records: ServiceRecords, columns: Sequence[str]) -> Iterable[Row]:
    return list_jobs(records.store, MOST_ROWS)


def _read_deployments(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    return map(partial(_fields, DeploymentRecord.__slots__), records.store.deployments.list(MOST_ROWS))


def _read_audit_log(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    return map(partial(_fields, AuditEntry.__slots__), records.store.audit.recent(MOST_ROWS))


def _fields(names: Iterable[str], record: object) -> Row:
    return {name: getattr(record, name) for name in names}


def _read_storage(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    """What each data source takes now: there is no history of it."""
    quarantines = {each.name: each for each in records.manifest.quarantines}
    now = datetime.now(timezone.utc)
    for bound in records.manifest.bindings:
        rows, size = _stored(records, bound)
        rejected, rejected_size = _stored(records, quarantines.get(f"{bound.name}_quarantine"))
        yield {
            "datasource_id": bound.name,
            "datasource_name": bound.name,
            "timestamp": now,
            "rows": rows,
            "bytes": size,
            "rows_quarantine": rejected,
            "bytes_quarantine": rejected_size,
        }


def _stored(records: ServiceRecords, bound: Binding | None) -> tuple[int, int]:
    """The rows and bytes of a table."""
    if bound is None:
        return 0, 0
    found = records.registry.snapshots(bound.table)
    return found.rows, found.bytes


def _read_sinks(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    for job in records.store.jobs.recent(MOST_ROWS):
        if job.kind == SINK and not job.is_open:
            error = job.error.get("error") if job.error is not None else None
            yield {
                "timestamp": job.updated_at,
                "service": "kafka" if job.datasource.startswith("topic ") else job.datasource.partition(":")[0],
                "pipe_id": job.pipe,
                "pipe_name": job.pipe,
                "token_name": job.token,
                "result": {"done": "ok", "failed": "error"}.get(job.state, job.state),
                "error": str(error) if error is not None else None,
                "elapsed_time": (job.updated_at - job.created_at).total_seconds(),
                "job_id": str(job.id),
                "read_rows": job.rows or 0,
                "written_rows": job.rows or 0 if job.state == "done" else 0,
                "written_bytes": job.written_bytes or 0 if job.state == "done" else 0,
                "output": [job.datasource],
                "parameters": {name: str(value) for name, value in job.parameters.items()},
                "options": {},
            }


def _read_topics(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    for read in records.store.topic_reads.recent(MOST_ROWS):
        yield {
            "timestamp": read.timestamp,
            "datasource_id": read.datasource,
            "topic": read.topic,
            "partition": read.partition,
            "msg_type": read.kind,
            "lag": read.lag,
            "processed_messages": read.messages,
            "processed_bytes": min(read.bytes, MOST_BYTES),
            "committed_messages": read.messages,
            "msg": read.text,
        }


def _read_nothing(records: ServiceRecords, columns: Sequence[str]) -> Iterator[Row]:
    """Of what this server does not do yet."""
    return iter(())


_READERS: Mapping[str, Callable[[ServiceRecords, Sequence[str]], Iterable[Row]]] = {
    "pipe_stats_rt": _read_calls,
    "datasources_ops_log": _read_operations,
    "datasources_storage": _read_storage,
    "jobs_log": _read_jobs,
    "deployments_log": _read_deployments,
    "kafka_ops_log": _read_topics,
    "sinks_ops_log": _read_sinks,
    **dict.fromkeys(NEVER_FILLED, _read_nothing),
    "audit_log": _read_audit_log,
}
