"""Answers calls of endpoints by their functions in Python.

In: an endpoint's `Handler`, the row of its parameters, and what answers queries. Out: `QueryResult` with the columns of
RETURNS. Invariants: a row that does not fit these columns is an error with its number, never another value; a query of
the function reads the deployment that was called.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import NamedTemporaryFile

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.deploy.external.stored_values import stored_arrow
from penstock.deploy.queries.handlers.handler_pool import (
    HandlerCall,
    HandlerFailed,
    HandlerLimits,
    HandlerPool,
)
from penstock.deploy.queries.handlers.handler_query import bind_variables
from penstock.errors import Forbidden, Problem
from penstock.flow.landing.row_parser import RowParser
from penstock.flow.landing.spark_workers import RowValues, record_batches
from penstock.lake.read.file_table import file_table
from penstock.lake.read.query_execution import QueryLimits, QueryResult, choose_session, run_query
from penstock.lake.spark.session import Lake
from penstock.model.datasource import Column, DataSource
from penstock.model.engine import Engine
from penstock.model.json_path import parse_json_path
from penstock.model.manifest import Landing, LandingColumn
from penstock.model.pipe import Handler
from penstock.model.settings import Settings
from penstock.model.types import Type
from penstock.sql.spark_text import quote_identifier

Ask = Callable[[str], QueryResult]
"""From SQL to its answer."""


class EndpointHandlers:
    """Runs handlers, in processes that start with the first call."""

    def __init__(self, settings: Settings, lake: Lake):
        python, self._lake = settings.python, lake
        self._is_allowed = python.handlers
        limits = (python.handler_processes, python.handler_seconds, python.handler_bytes)
        self._pool = HandlerPool(HandlerLimits(*limits, settings.server.max_result_bytes))

    def close(self) -> None:
        """End the processes."""
        self._pool.close()

    def answer(self, name: str, handler: Handler, given: QueryResult, ask: Ask, most: QueryLimits) -> QueryResult:
        """The rows that the function of the endpoint `name` gives for the parameters in the only row of `given`. Raises
        Forbidden where handlers are not allowed, and what the pool raises; a failure has its line of the datafile."""
        if not self._is_allowed:
            hint = "handlers = true in [python] of penstock.toml allows them"
            raise Forbidden(f"`{name}` answers by Python, which this server does not run", hint=hint)
        parameters = next(_rows_as_dicts(given), {})
        try:
            rows = self._pool.run(
                HandlerCall(handler.source.text, name, parameters),
                lambda text, variables: list(_rows_as_dicts(ask(bind_variables(text, variables)))),
            )
        except HandlerFailed as failure:
            raise _located(failure, name, handler) from failure
        values = _typed_rows(name, rows, handler.returns)
        return self._as_result(handler.returns, values, most)

    def _as_result(self, returns: Sequence[Column], rows: Sequence[RowValues], most: QueryLimits) -> QueryResult:
        """Spark reads the rows from a file as it reads those of a table: each value has the form of its type."""
        columns = tuple((each.name, each.type) for each in returns)
        names = ", ".join(quote_identifier(name) for name, _ in columns)
        with NamedTemporaryFile(prefix="penstock-answer-", suffix=".parquet") as file:
            _write_rows(file.name, columns, rows)
            with file_table(self._lake, dict(columns), Path(file.name)) as table:
                return run_query(choose_session(self._lake, len(rows)), f"SELECT {names} FROM {table}", columns, most)


def _write_rows(path: str, columns: Sequence[tuple[str, Type]], rows: Sequence[RowValues]) -> None:
    schema = pa.schema([(name, stored_arrow(of)) for name, of in columns])
    pq.write_table(pa.Table.from_batches(record_batches(iter(rows), schema), schema), path)


def _rows_as_dicts(answer: QueryResult) -> Iterator[dict[str, object]]:
    names = [name for name, _ in answer.columns]
    return (dict(zip(names, row, strict=True)) for row in answer.rows)


def _typed_rows(name: str, rows: Iterable[object], returns: Sequence[Column]) -> list[RowValues]:
    """The rows by the columns, as a posted row would be read. Raises HandlerFailed."""
    source = DataSource(name, tuple(returns), Engine())
    columns = tuple(LandingColumn(each.name, each.name, each.type, source.path_of(each)) for each in returns)
    parser = RowParser([Landing(name, name, "answer", columns)])
    keys = dict.fromkeys(parse_json_path(each.path)[0] for each in columns if each.path is not None)
    return [_typed_row(number, row, parser, list(keys)) for number, row in enumerate(rows, start=1)]


def _typed_row(number: int, row: object, parser: RowParser, keys: Sequence[str | None]) -> RowValues:
    other = next((each for each in row if each not in keys), None) if isinstance(row, Mapping) else None
    if other is not None:
        known = ", ".join(each for each in keys if each is not None)
        raise HandlerFailed(f"row {number} of the answer has `{other}`, which is none of its columns: {known}")
    parsed = parser.parse(json.dumps(row).encode()) if isinstance(row, Mapping) else None
    if parsed is None:
        raise HandlerFailed(f"row {number} of the answer is a {type(row).__name__}: expected a dict or a model")
    if parsed.values is None:
        reasons = "; ".join(reason for _, reasons in parsed.rejects for reason in reasons)
        raise HandlerFailed(f"row {number} of the answer does not fit its columns: {reasons}")
    return parsed.values


def _located(failure: HandlerFailed, name: str, handler: Handler) -> HandlerFailed:
    """The failure with the line of the datafile, and what stands there."""
    if failure.line is None:
        return failure
    lines = handler.source.text.split("\n")
    code = lines[failure.line - 1].strip() if failure.line <= len(lines) else ""
    message = f"the function of `{name}` failed: {failure.message}"
    found = HandlerFailed(message, failure.line)
    hint = f"it was here: {code}" if code else None
    found.problems = (Problem(HandlerFailed.code, message, handler.source.at(failure.line, 1), hint),)
    return found
