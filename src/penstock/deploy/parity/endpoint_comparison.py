"""Compare the answers of an endpoint of two versions, over the tables as of a cut and at one moment.

In: a `Cut` and a call. Out: `EndpointReport`. Invariant: an answer that differs for another reason than the versions
(random numbers, rows that the engine has not merged yet, an endpoint that answers differently each time) is not called
a difference; the reason is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.deploy.parity.row_texts import row_text
from penstock.deploy.parity.version_cut import Cut, CutVersion
from penstock.deploy.queries.fixed_time import at_time, is_repeatable
from penstock.deploy.queries.reader import QueryReader, run_filled
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.suspect_queries import QueryCall
from penstock.errors import PenstockError
from penstock.lake.read.bindings import binding_relation, merged_relation
from penstock.lake.read.query_execution import QueryLimits, QueryResult
from penstock.model.service_sources import SERVICE_NAMESPACES, SERVICE_SOURCES
from penstock.plan.parity.answer_comparison import AnswerDifference, compare_answers
from penstock.plan.parity.endpoint_calls import EndpointCall
from penstock.plan.parity.report import DifferingRow, EndpointReport, RowDifference
from penstock.plan.parity.step_dependence import StepDependence
from penstock.sql.query import Query
from penstock.sql.spark_text import replace_placeholders, tokenize_spark
from penstock.template.render_frame import Parameter


@dataclass(frozen=True, slots=True)
class PreparedCall:
    """A call of one version: its SQL over the snapshots of the cut, as served and with all tables merged."""

    version: CutVersion
    name: str
    parameters: Mapping[str, Parameter]
    query: Query
    sql: str
    merged: str


@dataclass(frozen=True, slots=True)
class EndpointComparison:
    """Compares calls of endpoints at one cut."""

    core: Core
    reader: QueryReader
    cut: Cut
    scope: ComparisonScope
    dependence: tuple[StepDependence, StepDependence]

    def compare(self, call: EndpointCall) -> EndpointReport:
        """The report of one call. A call that neither version answers is not compared."""
        empty = EndpointReport(call.endpoint, call.texts, "not_compared", declared=self.scope.declares([call.endpoint]))
        versions = (self.cut.left, self.cut.right)
        if any(self.reader.has_handler(version.deployment, call.endpoint) for version in versions):
            return replace(empty, reason="it answers by a function in Python, whose queries are known when it runs")
        prepared = [self._prepare(version, call) for version in versions]
        refused = [each for each in prepared if isinstance(each, str)]
        if refused:
            return self._refused(empty, prepared)
        left, right = (each for each in prepared if isinstance(each, PreparedCall))
        records = sorted({each for call in (left, right) for each in _service_sources(call.query)})
        if records:
            reason = f"it reads records of the server, which each call changes: {', '.join(records)}"
            return replace(empty, reason=reason)
        rejected = sorted({each for call in (left, right) for each in _quarantines(call)})
        if rejected:
            reason = f"it reads what each version rejects, which is compared by itself: {', '.join(rejected)}"
            return replace(empty, reason=reason)
        unreadable = self._unreadable(left) or self._unreadable(right)
        if unreadable is not None:
            return replace(empty, outcome="failed", reason=unreadable)
        if left.sql == right.sql:
            return replace(empty, outcome="same", notes=("the same query of the same rows",))
        return self._compare_answers(empty, left, right)

    def _prepare(self, version: CutVersion, call: EndpointCall) -> PreparedCall | str:
        """The call of one version, or why it refuses."""
        try:
            query = self.reader.compiled_endpoint(version.deployment, call.endpoint, call.parameters)
        except PenstockError as error:
            return "; ".join([error.message, *(str(each) for each in error.problems if each.message != error.message)])
        served, merged = self._filled(version, query), self._filled(version, query, final=True)
        return PreparedCall(version, call.endpoint, call.parameters, query, served, merged)

    def _filled(self, version: CutVersion, query: Query, *, final: bool = False) -> str:
        relations: dict[str, str] = {}
        for read in query.reads:
            if read.datasource in SERVICE_SOURCES:
                continue
            bound = version.deployment.manifest.binding(read.datasource)
            assert bound is not None, f"{read.datasource} was compiled, so the manifest has a binding for it"
            if bound.table in self.cut.snapshots:
                rows = self.cut.snapshots[bound.table]
                merged = final or read.final
                relations[read.placeholder] = merged_relation(bound, rows) if merged else binding_relation(bound, rows)
        return at_time(replace_placeholders(query.with_totals or query.sql, relations), self.cut.at)

    def _tables(self, call: PreparedCall) -> Iterable[str]:
        bindings = (call.version.deployment.manifest.binding(read.datasource) for read in call.query.reads)
        return {bound.table for bound in bindings if bound is not None}

    def _unreadable(self, call: PreparedCall) -> str | None:
        found = (self.cut.unreadable(call.version, table) for table in self._tables(call))
        return next((f"of a table that it reads: {reason}" for reason in found if reason is not None), None)

    def _compare_answers(self, report: EndpointReport, left: PreparedCall, right: PreparedCall) -> EndpointReport:
        answers = [self._answer(each, each.sql) for each in (left, right)]
        if any(isinstance(each, str) for each in answers):
            return self._refused(replace(report, outcome="failed"), answers)
        one, other = (each for each in answers if isinstance(each, QueryResult))
        ignored = self.scope.columns([report.name])
        found = _compare(one, other, ignored)
        report = replace(
            report,
            left_rows=len(one.rows),
            right_rows=len(other.rows),
            left_out=self._left_out(one, other, ignored),
            rows=self._shown(found),
            notes=_notes(found),
            outcome="same",
        )
        return report if found.is_same else self._differing(report, left, right, one)

    def _differing(
        self, report: EndpointReport, left: PreparedCall, right: PreparedCall, first: QueryResult
    ) -> EndpointReport:
        """The report of answers that differ, once the other causes were tried."""
        if not (is_repeatable(left.sql) and is_repeatable(right.sql)):
            return replace(report, outcome="not_compared", reason="it reads a clock or random numbers")
        ignored = self.scope.columns([report.name])
        again = self._answer(left, left.sql)
        if isinstance(again, str) or not _compare(first, again, ignored).is_same:
            return replace(report, outcome="not_compared", reason="one version alone answers differently each time")
        if (left.merged, right.merged) != (left.sql, right.sql):
            one, other = self._answer(left, left.merged), self._answer(right, right.merged)
            if isinstance(one, QueryResult) and isinstance(other, QueryResult):
                merged = _compare(one, other, ignored)
                if merged.is_same:
                    note = "the same once rows are merged: it reads a table without FINAL"
                    return replace(report, outcome="same", rows=self._shown(merged), notes=(*report.notes, note))
        uncertain = self._uncertain(left, self.dependence[0]) or self._uncertain(right, self.dependence[1])
        if uncertain is not None:
            return replace(report, outcome="not_compared", reason=f"of a table that it reads: {uncertain}")
        limited = any(token.text.upper() == "LIMIT" for token in tokenize_spark(left.query.sql))
        warning = ("it has a LIMIT: of rows that are equal in its ORDER BY, each version may take others",)
        return replace(report, outcome="differs", notes=(*report.notes, *(warning if limited else ())))

    def _uncertain(self, call: PreparedCall, dependence: StepDependence) -> str | None:
        manifest = call.version.deployment.manifest
        for read in call.query.reads:
            bound = manifest.binding(read.datasource)
            if bound is None:
                continue
            physical = [bound_column.physical for bound_column in bound.columns if bound_column.name in read.columns]
            clocked = (dependence.columns.get((bound.table, each)) for each in physical)
            reason = dependence.reason(bound.table) or next(filter(None, clocked), None)
            if reason is not None:
                return reason
        return None

    def _answer(self, call: PreparedCall, sql: str) -> QueryResult | str:
        server = self.core.settings.server
        most = QueryLimits(server.max_query_seconds, server.max_result_rows, server.max_result_bytes)
        rows = sum(self.cut.rows.get(table, 0) for table in self._tables(call))
        asked = QueryCall(call.version.deployment.id, call.name, call.parameters)
        try:
            with self.core.suspects.running(asked, most.check_time):
                return run_filled(self.core.warehouse.lake, rows, call.query, sql, most)
        except PenstockError as error:
            return error.message

    def _left_out(self, left: QueryResult, right: QueryResult, ignored: frozenset[str]) -> Mapping[str, str]:
        one, other = dict(left.columns), dict(right.columns)
        found = {name: f"only deployment {self.cut.left.deployment.id} has it" for name in one if name not in other}
        found |= {name: f"only deployment {self.cut.right.deployment.id} has it" for name in other if name not in one}
        return found | {name: "declared to differ" for name in ignored if name in one and name in other}

    def _shown(self, found: AnswerDifference) -> RowDifference:
        left = [DifferingRow("left", 1, row_text(found.columns, row)) for row in found.only_left[: self.scope.sample]]
        right = [
            DifferingRow("right", 1, row_text(found.columns, row)) for row in found.only_right[: self.scope.sample]
        ]
        return RowDifference(len(found.only_left), len(found.only_right), found.close, (*left, *right))

    def _refused(self, report: EndpointReport, sides: Iterable[object]) -> EndpointReport:
        """The report of a call that at least one version did not answer; the texts say why."""
        left, right = sides
        if isinstance(left, str) and isinstance(right, str):
            return replace(report, reason=left if left == right else f"{left}; {right}")
        version, reason = (self.cut.left, left) if isinstance(left, str) else (self.cut.right, right)
        text = f"only deployment {version.deployment.id} refuses: {reason}"
        return replace(report, outcome="differs", reason=text)


def _service_sources(query: Query) -> Iterable[str]:
    found = (SERVICE_SOURCES.get(read.datasource) for read in query.reads)
    return (f"`{SERVICE_NAMESPACES[0]}.{source.name}`" for source in found if source is not None)


def _quarantines(call: PreparedCall) -> Iterable[str]:
    known = {bound.name for bound in call.version.deployment.manifest.quarantines}
    return (f"`{read.datasource}`" for read in call.query.reads if read.datasource in known)


def _compare(left: QueryResult, right: QueryResult, ignored: frozenset[str]) -> AnswerDifference:
    """The totals of a query WITH TOTALS are one more row."""
    one, other = list(left.rows), list(right.rows)
    one += [left.totals] if left.totals is not None else []
    other += [right.totals] if right.totals is not None else []
    return compare_answers((left.columns, one), (right.columns, other), ignored)


def _notes(found: AnswerDifference) -> tuple[str, ...]:
    close = (f"{found.close:,} rows differ in the last digits of floats only",) if found.close else ()
    return (*close, *(("the rows come in another order",) if found.reordered else ()))
