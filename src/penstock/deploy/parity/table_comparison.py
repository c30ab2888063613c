"""Compare the rows of a data source of two versions, or of two data sources of one version, as of a cut.

In: a `Cut` and a `TablePair`. Out: `TableReport`. Invariants: rows are compared as FINAL shows them, so that neither
compaction nor the division into files can make a difference; a table whose rows may differ for another reason than its
datafiles is called not comparable when they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.deploy.parity.version_cut import Cut, CutVersion
from penstock.deploy.queries.fixed_time import at_time
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.suspect_queries import QueryCall
from penstock.errors import PenstockError
from penstock.lake.read.bindings import merged_relation, rejected_relation
from penstock.lake.read.query_execution import QueryLimits, choose_session, run_query
from penstock.lake.read.row_comparison import (
    ComparedValue,
    RowComparison,
    both_checksums,
    difference_counts,
    left_checksums,
    only_left_rows,
    only_right_rows,
)
from penstock.model.manifest import Binding
from penstock.model.types import Type
from penstock.plan.parity.comparable_values import comparable_values
from penstock.plan.parity.report import ColumnChecksums, DifferingRow, RowDifference, TableReport
from penstock.plan.parity.step_dependence import StepDependence
from penstock.plan.parity.version_pairs import ColumnPair, TablePair
from penstock.sql.spark_text import quote_identifier

SECONDS = 3600.0
"""How long comparing one table may take."""
MOST_ROWS, MOST_BYTES = 10_000, 64 * 2**20
DECLARED = "declared to differ"


@dataclass(frozen=True, slots=True)
class TableComparison:
    """Compares tables at one cut."""

    core: Core
    cut: Cut
    scope: ComparisonScope
    dependence: tuple[StepDependence, StepDependence]
    """Of the left version and of the right one."""

    def compare(self, pair: TablePair) -> TableReport:
        """The report of one data source or quarantine; what cannot be read of it is not compared."""
        if pair.left is None or pair.right is None:
            return TableReport(pair.name, "only_right" if pair.left is None else "only_left")
        for version, bound in ((self.cut.left, pair.left), (self.cut.right, pair.right)):
            unreadable = self.cut.unreadable(version, bound.table)
            if unreadable is not None:
                return TableReport(pair.name, "failed", unreadable, declared=self.scope.declares(pair.names))
        if not any(self.cut.rows[bound.table] for bound in (pair.left, pair.right)):
            return TableReport(pair.name, "same", None, 0, 0, notes=("both are empty",))
        try:
            return self._compare(pair, pair.left, pair.right)
        except PenstockError as error:
            return TableReport(pair.name, "failed", error.message, declared=self.scope.declares(pair.names))

    def _compare(self, pair: TablePair, left: Binding, right: Binding) -> TableReport:
        one, other = self._relation(self.cut.left, pair, left), self._relation(self.cut.right, pair, right)
        values, left_out = self._values(pair, left, right, shared=one == other)
        rows = RowComparison(one, other, values)
        first, second = self._checksums(rows, pair)
        columns = tuple(
            ColumnChecksums(value.name, _checksum(first[at]), _checksum(second[at]))
            for at, value in enumerate(values, 1)
        )
        report = TableReport(
            pair.name, "same", None, _count(first[0]), _count(second[0]), RowDifference(), columns, left_out
        )
        if one == other or (first == second and rows.plain):
            return report
        found = self._difference(rows, pair)
        if found.is_same:
            notes = (f"{found.close:,} rows differ in the last digits of floats only",) if found.close else ()
            return replace(report, rows=found, notes=notes)
        return self._differing(replace(report, rows=found), pair, left, right)

    def _checksums(self, rows: RowComparison, pair: TablePair) -> tuple[tuple[object, ...], tuple[object, ...]]:
        """The checksums of both sides, from one reading where they are the same rows."""
        if rows.left == rows.right:
            only = self._ask_all(left_checksums(rows), pair)[0][:-1]
            return only, only
        found = {row[-1]: row[:-1] for row in self._ask_all(both_checksums(rows), pair)}
        return found[0], found[1]

    def _differing(self, report: TableReport, pair: TablePair, left: Binding, right: Binding) -> TableReport:
        """The report of rows that differ: whether that says something, and is declared."""
        reason = self.dependence[0].reason(left.table) or self.dependence[1].reason(right.table)
        if reason is not None and not pair.quarantine:
            return replace(report, outcome="not_compared", reason=reason)
        engines = () if left.merge == right.merge else ("the engines of the two versions merge rows in different ways",)
        return replace(report, outcome="differs", notes=engines, declared=self.scope.declares(pair.names))

    def _relation(self, version: CutVersion, pair: TablePair, bound: Binding) -> str:
        rows = self.cut.snapshots[bound.table]
        if pair.quarantine:
            return rejected_relation(bound, rows, version.deployment.manifest.quarantined_table(bound))
        return at_time(merged_relation(bound, rows), self.cut.at)

    def _values(
        self, pair: TablePair, left: Binding, right: Binding, *, shared: bool
    ) -> tuple[tuple[ComparedValue, ...], Mapping[str, str]]:
        """What is compared of each row, and which columns are not, each with the reason."""
        left_out = dict.fromkeys(pair.only_left, f"only {self._side(self.cut.left, left)} has it")
        left_out |= dict.fromkeys(pair.only_right, f"only {self._side(self.cut.right, right)} has it")
        if pair.quarantine:
            left_out = {}
        declared, values = self.scope.columns(pair.names), []
        for column in pair.columns:
            clocked = None if shared else self._clocked(column, left, right)
            found = _compared_value(column)
            if column.names & declared:
                left_out[column.name] = DECLARED
            elif clocked is not None:
                left_out[column.name] = clocked
            elif isinstance(found, str):
                left_out[column.name] = found
            else:
                values.append(found)
        return tuple(values), left_out

    def _side(self, version: CutVersion, bound: Binding) -> str:
        """What a side of the comparison is called: the deployment, or the table if both are of one deployment."""
        is_one = self.cut.left.deployment.id == self.cut.right.deployment.id
        return f"`{bound.name}`" if is_one else f"deployment {version.deployment.id}"

    def _clocked(self, column: ColumnPair, left: Binding, right: Binding) -> str | None:
        """Why values of a column may differ although its rows are the same."""
        one = self.dependence[0].columns.get((left.table, column.left.physical))
        return one or self.dependence[1].columns.get((right.table, column.right.physical))

    def _difference(self, rows: RowComparison, pair: TablePair) -> RowDifference:
        only_left, only_right, close = map(_count, self._ask_all(difference_counts(rows), pair)[0])
        sample: list[DifferingRow] = []
        if self.scope.sample == 0:
            return RowDifference(only_left, only_right, close)
        if only_left:
            found = self._ask_all(only_left_rows(rows, self.scope.sample), pair)
            sample += [DifferingRow("left", _count(times), str(row)) for times, row in found]
        if only_right:
            found = self._ask_all(only_right_rows(rows, self.scope.sample), pair)
            sample += [DifferingRow("right", _count(times), str(row)) for times, row in found]
        return RowDifference(only_left, only_right, close, tuple(sample))

    def _ask_all(self, sql: str, pair: TablePair) -> list[tuple[object, ...]]:
        rows = sum(self.cut.rows[table] for table in {each.table for each in (pair.left, pair.right) if each})
        most = QueryLimits(SECONDS, MOST_ROWS, MOST_BYTES)
        columns: tuple[tuple[str, Type], ...] = ()
        asked = QueryCall(self.cut.right.deployment.id, f"diff of {pair.name}", {})
        with self.core.suspects.running(asked, most.check_time):
            return list(run_query(choose_session(self.core.warehouse.lake, rows), sql, columns, most).rows)


def _compared_value(column: ColumnPair) -> ComparedValue | str:
    """How a column is compared, or why not."""
    left = (quote_identifier(column.left.name), column.left.type)
    right = (quote_identifier(column.right.name), column.right.type)
    found = comparable_values(left, right)
    if found is None:
        return f"its type is {column.left.type} in one version and {column.right.type} in the other"
    return ComparedValue(column.name, found.left, found.right, found.plain, found.tolerance)


def _count(value: object) -> int:
    return int(str(value))


def _checksum(value: object) -> str:
    """A sum of hashes, shortened to 64 bits; that of no rows is 0."""
    return f"{(int(str(value)) if value is not None else 0) % 2**64:016x}"
