"""The quarantine of a data source as an operator sees it: what is wrong with how many rows, and the newest of them.

In: a data source of a deployment. Out: `QuarantineReport`; or its rows are removed. Invariant: only rows that the
deployment shows in its quarantine are counted or removed: another version may have accepted a row that this one
rejected.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from penstock.deploy.runtime.core import Core
from penstock.errors import NotFound, did_you_mean
from penstock.lake.maintenance.row_removal import remove_rows
from penstock.lake.read.bindings import CurrentRows, rejected_condition, rejected_relation
from penstock.lake.read.query_execution import QueryLimits, run_query
from penstock.lake.spark.cancellation import time_limit
from penstock.model.deployment import Deployment
from penstock.model.manifest import Binding
from penstock.sql.spark_text import string_literal
from penstock.state.logs.operations import Operation

MOST_REASONS = 500
VALUE = (
    r'^([^:"]*: )?("(?:[^"\\]|\\.)*": )?'
    r'(?:"(?:[^"\\]|\\.)*(?:"|\\?\.\.\.|(?= is no ))|[\[{].*?|[^"\[{ ]+) '
    r"((?:is|are) (?:not|outside|longer|no) |has more than |where |values where )"
)
"""The value that a reason is about, behind the names of its column and of a path in it, and the words after it: as
JSON (`value_parser.format_value`), of which the end may be cut off. Reasons without a value are kept whole."""
_PLACE = r": line [0-9]+ column [0-9]+ .char [0-9]+.$"
"""Where a row stops being JSON."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason for which rows were rejected."""

    column: str | None
    """The column that it is about; None if it is about the row."""
    text: str
    """The reason, with `…` for the value."""
    rows: int


@dataclass(frozen=True, slots=True)
class QuarantineReport:
    """What is in a quarantine."""

    rows: int
    reasons: tuple[Reason, ...]
    """The most frequent first; a row may have several."""
    newest: tuple[tuple[object, ...], ...]
    """The newest rows: when each was received, its raw text and its problems."""


class Quarantines:
    """Reads and clears quarantines."""

    def __init__(self, core: Core):
        self._core = core

    def describe(self, name: str, ref: str, rows: int) -> QuarantineReport:
        """The reasons, and the newest `rows` rows, of a data source's quarantine in a deployment. Raises NotFound, and
        what a query raises."""
        deployment = self._core.board.readable(ref)
        with self._core.board.readers.reading(deployment.id):
            found, columns = find_quarantine(deployment, name), _columns_of(deployment, name)
            source = rejected_relation(found, CurrentRows(), deployment.manifest.quarantined_table(found))
            counted = self._ask(_reasons_sql(source))
            newest = f"SELECT inserted_at, raw, problems FROM {source} ORDER BY inserted_at DESC LIMIT {rows}"
            return QuarantineReport(
                int(str(self._ask(f"SELECT count(*) FROM {source}")[0][0])),
                tuple(_reason(str(text), int(str(count)), columns) for text, count in counted),
                tuple(self._ask(newest)) if rows else (),
            )

    def _ask(self, sql: str) -> list[tuple[object, ...]]:
        server, lake = self._core.settings.server, self._core.warehouse.lake
        most = QueryLimits(server.max_query_seconds, server.max_result_rows, server.max_result_bytes)
        return list(run_query(lake.spark, sql, (), most).rows)

    def clear(self, name: str) -> int:
        """Remove the rows that live shows in a quarantine, in one commit; returns how many. Raises NotFound."""
        deployment = self._core.board.readable("live")
        found = find_quarantine(deployment, name)
        condition = rejected_condition(found, deployment.manifest.quarantined_table(found))
        removed = remove_from_quarantine(self._core, found.table, condition)
        self._core.store.operations.log(Operation("quarantine_clear", name, deployment.id, rows=removed))
        return removed


def find_quarantine(deployment: Deployment, name: str) -> Binding:
    """The binding of a data source's quarantine. Raises NotFound."""
    found = deployment.manifest.binding(f"{name}_quarantine")
    if found is None or found not in deployment.manifest.quarantines:
        known = [each.name for each in deployment.manifest.bindings]
        raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, known))
    return found


def remove_from_quarantine(core: Core, table: str, condition: str) -> int:
    """Remove the rows of a physical quarantine for which the condition (Spark SQL) holds; returns how many."""
    lake, registry = core.warehouse.lake, core.warehouse.registry
    with registry.lock(table), time_limit(lake.bulk, float(core.settings.flow.max_step_seconds)):
        try:
            return remove_rows(lake, table, condition)
        finally:
            registry.refresh(table)


def _columns_of(deployment: Deployment, name: str) -> frozenset[str]:
    found = deployment.manifest.binding(name)
    return frozenset(column.name for column in found.columns) if found is not None else frozenset()


def _reasons_sql(source: str) -> str:
    """Each reason without the values that it is about, and how many rows have it."""
    value = f"regexp_replace(`problem`, {string_literal(VALUE)}, '$1$2… $3')"
    masked = f"regexp_replace({value}, {string_literal(_PLACE)}, '')"
    problems = f"(SELECT explode(problems) AS `problem` FROM {source})"
    counted = f"SELECT {masked} AS `reason`, count(*) AS `rows` FROM {problems} GROUP BY 1"
    return f"{counted} ORDER BY 2 DESC, 1 LIMIT {MOST_REASONS}"


def _reason(text: str, rows: int, columns: Collection[str]) -> Reason:
    column, colon, rest = text.partition(": ")
    return Reason(column, rest, rows) if colon and column in columns else Reason(None, text, rows)
