"""Service data sources: what the server has recorded, as tables that SQL may read under `penstock.NAME`.

In: the records. Out: columns, and the latest rows. Invariant: only SQL of `/v0/sql` reads them, never a deployed pipe,
and only with a token that has the scope of the call that shows the same, or a grant for `penstock__NAME`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import orjson

from penstock.deploy.runtime.state_store import StateStore
from penstock.model.datasource import SERVICE_PREFIX, Column, DataSource
from penstock.model.engine import Engine
from penstock.model.types import Bool, DateTime64, Float, Int, Nullable, String, Type

MOST_ROWS = 10_000
"""The latest entries that a query sees."""
TEXT, COUNT, SECONDS, TIME = String(), Int(64), Float(64), DateTime64(6)
Rows = tuple[tuple[object, ...], ...]


@dataclass(frozen=True, slots=True)
class ServiceSource:
    """One of them."""

    columns: tuple[tuple[str, Type], ...]
    read: Callable[[StateStore], Rows]
    """The latest rows, in the order of the columns."""
    scope: Literal["admin", "deploy", "read"]
    """The scope that a token needs which has no grant for its name: that of the call that shows these records."""

    def as_datasource(self, name: str) -> DataSource:
        return DataSource(name, tuple(Column(column, of) for column, of in self.columns), Engine())


OPERATION_COLUMNS: Mapping[str, Type] = {
    "event_type": TEXT,
    "datasource_name": TEXT,
    "deployment_id": Nullable(COUNT),
    "result": TEXT,
    "elapsed_time": SECONDS,
    "rows": COUNT,
    "rows_quarantine": COUNT,
    "read_rows": COUNT,
    "read_bytes": COUNT,
    "written_rows": COUNT,
    "written_bytes": COUNT,
    "error": Nullable(TEXT),
    "timestamp": TIME,
}
AUDIT_COLUMNS: Mapping[str, Type] = {
    "began_at": TIME,
    "action": TEXT,
    "target": TEXT,
    "outcome": TEXT,
    "elapsed_time": SECONDS,
    "token": TEXT,
    "address": TEXT,
    "request_id": TEXT,
    "details": TEXT,
}
JOB_COLUMNS: Mapping[str, Type] = {
    "id": COUNT,
    "kind": TEXT,
    "pipe": TEXT,
    "datasource": TEXT,
    "state": TEXT,
    "parameters": TEXT,
    "due_at": Nullable(TIME),
    "created_at": TIME,
    "updated_at": TIME,
    "deployment": Nullable(COUNT),
    "rows": Nullable(COUNT),
    "error": Nullable(TEXT),
}
DEPLOYMENT_COLUMNS: Mapping[str, Type] = {
    "id": COUNT,
    "name": TEXT,
    "state": TEXT,
    "base": Nullable(COUNT),
    "created_at": TIME,
    "updated_at": TIME,
    "error": Nullable(TEXT),
    "paused": Bool(),
    "rows_moved": Nullable(COUNT),
    "bytes_moved": Nullable(COUNT),
}


def _read_operations(store: StateStore) -> Rows:
    return tuple(_values(each, OPERATION_COLUMNS) for each in store.operations.recent(MOST_ROWS))


def _read_audit_log(store: StateStore) -> Rows:
    return tuple(_values(each, AUDIT_COLUMNS) for each in store.audit.recent(MOST_ROWS))


def _read_jobs(store: StateStore) -> Rows:
    return tuple(_values(each, JOB_COLUMNS) for each in store.jobs.recent(MOST_ROWS))


def _read_deployments(store: StateStore) -> Rows:
    return tuple(_values(each, DEPLOYMENT_COLUMNS) for each in store.deployments.list(MOST_ROWS))


def _values(record: object, columns: Mapping[str, Type]) -> tuple[object, ...]:
    return tuple(_as_value(getattr(record, name)) for name in columns)


def _as_value(value: object) -> object:
    return orjson.dumps(value, default=dict).decode() if isinstance(value, Mapping) else value


SERVICE_SOURCES: Mapping[str, ServiceSource] = {
    f"{SERVICE_PREFIX}{name}": source
    for name, source in (
        ("datasources_ops_log", ServiceSource(tuple(OPERATION_COLUMNS.items()), _read_operations, "read")),
        ("audit_log", ServiceSource(tuple(AUDIT_COLUMNS.items()), _read_audit_log, "admin")),
        ("jobs_log", ServiceSource(tuple(JOB_COLUMNS.items()), _read_jobs, "deploy")),
        ("deployments_log", ServiceSource(tuple(DEPLOYMENT_COLUMNS.items()), _read_deployments, "deploy")),
    )
}
