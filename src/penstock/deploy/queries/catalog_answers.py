"""Answers of SHOW TABLES, DESCRIBE and EXPLAIN, from records: nothing is read from a table.

In: the project of a deployment, a compiled query, what the caller may read. Out: a `QueryResult`. Invariant: a caller
learns of no name that it may not read: EXPLAIN shows what stands behind a pipe only to who may read all of that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.flow.table_registry import TableRegistry
from penstock.lake.read.packed_rows import PackedRows
from penstock.lake.read.query_execution import QueryResult
from penstock.model.datasource import DataSource
from penstock.model.manifest import Manifest
from penstock.model.project import Project
from penstock.model.service_sources import SERVICE_SOURCES
from penstock.model.types import String
from penstock.redaction import redact
from penstock.sql.query import Query, SourceRead
from penstock.sql.spark_text import quote_identifier, replace_placeholders
from penstock.sql.syntax.catalog_statements import DescribeTable, ShowTables

TEXT = String()


@dataclass(frozen=True, slots=True)
class CatalogAnswers:
    """Answers for one caller about one deployment."""

    project: Project
    """With quarantines."""
    manifest: Manifest
    registry: TableRegistry
    may: Callable[[str], bool]
    began: float
    """When the statement was received, by the monotonic clock."""

    def show_tables(self, statement: ShowTables) -> QueryResult:
        """The names that SQL can read, each with its kind."""
        named = self._service_names() if statement.is_service else self._own_names()
        rows = sorted((name, kind) for name, kind in named if statement.matches(name))
        return self._answer(("name", "kind"), rows)

    def describe(self, statement: DescribeTable, query: Query) -> QueryResult:
        """The columns of a query, with the DEFAULTs of the data source that is described."""
        source = self.project.datasource(statement.name) if statement.name is not None else None
        rows = ((name, str(of), *_default_of(source, name)) for name, of in query.columns)
        return self._answer(("name", "type", "default_type", "default_expression"), rows)

    def explain(self, query: Query) -> QueryResult:
        """The Spark SQL of a query over the names of data sources, what it reads, and what it returns."""
        return self._answer(("explain",), ((redact(line),) for line in self._explained_lines(query)))

    def _own_names(self) -> Iterator[tuple[str, str]]:
        quarantines = {binding.name for binding in self.manifest.quarantines}
        for source in self.project.datasources:
            if self.may(source.name):
                yield source.name, "quarantine" if source.name in quarantines else "data source"
        for pipe in self.project.pipes:
            if pipe.endpoint is not None and self.may(pipe.name):
                yield pipe.name, "endpoint"

    def _service_names(self) -> Iterator[tuple[str, str]]:
        for name, source in SERVICE_SOURCES.items():
            if self.may(name):
                yield source.name, "service data source"

    def _explained_lines(self, query: Query) -> Iterator[str]:
        yield "Spark SQL:"
        names = {read.placeholder: quote_identifier(read.datasource) for read in query.reads}
        yield from (f"  {line}" for line in replace_placeholders(query.sql, names).splitlines())
        yield "Reads:"
        yield from map(self._read_text, query.reads)
        if not query.reads:
            yield "  nothing"
        yield "Returns:"
        yield from (f"  {name} {of}" for name, of in query.columns)

    def _read_text(self, read: SourceRead) -> str:
        final = ", merged as FINAL does" if read.final else ""
        columns = f"columns {', '.join(read.columns) or 'none'}"
        binding = self.manifest.binding(read.datasource)
        if binding is None:
            return f"  {read.datasource}: {columns}"
        stored = self.registry.snapshots(binding.table)
        size = ", ".join(
            _counted(*each) for each in ((stored.rows, "row"), (stored.files, "file"), (stored.bytes, "byte"))
        )
        return f"  {read.datasource}: {columns}; table {binding.table} with {size}{final}"

    def _answer(self, names: Iterable[str], rows: Iterable[tuple[object, ...]]) -> QueryResult:
        kept = PackedRows()
        for row in rows:
            kept.append(row)
        return QueryResult(tuple((name, TEXT) for name in names), kept, time.monotonic() - self.began, 0, 0)


def _counted(count: int, thing: str) -> str:
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def _default_of(source: DataSource | None, name: str) -> tuple[str, str]:
    column = source.column(name) if source is not None else None
    return ("DEFAULT", column.default.text) if column is not None and column.default is not None else ("", "")
