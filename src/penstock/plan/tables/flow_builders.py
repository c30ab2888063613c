"""Builders of the manifest values of one data source: flows, bindings and its quarantine table.

In: a data source, its physical table and columns, compiled views. Out: `Landing`, `View`, `Binding` and `Table`.
Invariant: equal input gives equal flows, so deployments share the flows that they have in common.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from penstock.model.datasource import DataSource
from penstock.model.manifest import (
    KEEPS_NOTHING,
    Accepts,
    Binding,
    BoundColumn,
    Field,
    Landing,
    LandingColumn,
    Source,
    Starts,
    Table,
    View,
)
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import String
from penstock.plan.compiled_project import CompiledProject
from penstock.plan.diff.project_queries import reads_of_view
from penstock.plan.quarantine_sources import QUARANTINE_COLUMNS, SUFFIX
from penstock.sql import query
from penstock.sql.query import SourceRead
from penstock.sql.spark_text import quote_identifier, replace_calls, replace_columns

QUARANTINE = (Field("version", String()), *(Field(name, of) for name, of in QUARANTINE_COLUMNS.items()))

RECEIVED = {"current_timestamp": "`_received_at`", "current_date": "CAST(`_received_at` AS DATE)"}
"""While rows are landed, the time is that at which their batch was received: landing the batch again,
into another table or after a crash, gives the same rows."""


@dataclass(frozen=True, slots=True)
class TargetTable:
    """Where a data source is stored: a physical table, and its columns under their logical names."""

    source: DataSource
    table: str
    columns: tuple[BoundColumn, ...]

    @property
    def physical(self) -> Mapping[str, str]:
        return {column.name: column.physical for column in self.columns}


def build_landing(place: TargetTable, stream: str, compiled: CompiledProject, starts: Starts) -> Landing:
    """The flow of raw batches into a table. Its version identifies which rows the landing accepts, and how it reads
    them."""
    physical = place.physical
    stored = {name: quote_identifier(to) for name, to in physical.items()}
    columns = []
    for column in place.source.columns:
        default = compiled.default(place.source, column)
        written = replace_calls(replace_columns(default, stored), RECEIVED) if default is not None else None
        path = place.source.path_of(column)
        columns.append(LandingColumn(column.name, physical[column.name], column.type, path, written))
    return Landing(stream, place.table, _landing_version(place.table, columns), tuple(columns), starts)


def _landing_version(table: str, columns: list[LandingColumn]) -> str:
    """The version of a landing. The table is part of it: two tables of one stream share a quarantine table, and a
    binding shows what its own table rejected."""
    content = {each.name: (each.physical, str(each.type), each.path, each.default) for each in columns}
    return hashlib.sha256(json.dumps([table, content], sort_keys=True).encode()).hexdigest()[:12]


def build_view(
    compiled: query.CompiledView, place: TargetTable, binding_of: Callable[[str], Binding], starts: Starts
) -> View:
    """The flow of a materialized view into a table."""
    trigger, *others = (_build_source(read, binding_of(read.datasource)) for read in reads_of_view(compiled))
    fields = tuple(column.physical for column in place.columns)
    id = f"{compiled.pipe}.{compiled.node}"
    sql = compiled.query.sql
    return View(id, compiled.pipe, compiled.node, place.table, sql, trigger, fields, tuple(others), starts)


def _build_source(read: SourceRead, binding: Binding) -> Source:
    columns = tuple(column for column in binding.columns if read.final or column.name in read.columns)
    keeps = binding.keeps if binding.keeps == KEEPS_NOTHING else None  # a TTL reads columns that the view may not
    merge = binding.merge if read.final else None  # it reads columns that the view may not
    return Source(read.placeholder, Binding(binding.name, binding.table, columns, binding.accepts, keeps, merge))


def quarantine_table(stream: str) -> Table:
    """The table for rows of the stream that a landing rejects."""
    return Table(f"{stream}__quarantine", QUARANTINE)


def quarantine_binding(name: str, stream: str, accepts: tuple[Accepts, ...]) -> Binding:
    """The binding of `<name>_quarantine`."""
    columns = tuple(BoundColumn(column, of, column) for column, of in QUARANTINE_COLUMNS.items())
    return Binding(f"{name}{SUFFIX}", f"{stream}__quarantine", columns, accepts)
