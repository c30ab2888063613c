"""Run a view with `ON_ERROR quarantine`: rows for which its query fails go to the quarantine of its target.

In: a step of the view. Out: the step's commit, without the rows that make it fail; these, with the reasons, in the
quarantine. Invariant: a row is condemned in the state store before the step leaves it out, and numbered; the quarantine
records the last number it has in the commit of its rows. So every row of the source is in the target's rows or in the
quarantine, once, whenever the server is killed.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial

from penstock.crash_points import crash_point
from penstock.flow.failing_rows import SMALLEST_SAMPLED, FailingRows, Selection, find_failing_rows
from penstock.flow.landing.landing import QUARANTINE_SCHEMA
from penstock.flow.materialized_view import ViewStep, run_view_step, step_rows, step_session
from penstock.flow.table_registry import TableRegistry
from penstock.lake.read.row_identity import (
    MARK,
    RAW,
    RowName,
    RowSelection,
    names_condition,
    row_names_sql,
    row_texts_sql,
    selected_relation,
)
from penstock.lake.spark.row_errors import is_row_error
from penstock.lake.spark.session import Lake
from penstock.lake.tables.dry_run import why_rows_fail
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor
from penstock.model.manifest import SEQ, View, view_rejects
from penstock.state.condemned_rows import CondemnedRow, CondemnedRows

MOST_QUARANTINED = 10_000
"""If more rows are condemned that the view has not passed, or all of SMALLEST_SAMPLED and more of a step fail, the view
stops: then not the rows are wrong, but the query or a table that it joins."""
log = logging.getLogger("penstock.flow")


class TooManyRowsFail(Exception):
    """The rows for which a view fails are too many to be an exception."""

    def __init__(self, count: int, problem: str):
        super().__init__(
            f"{count} rows fail, too many for the quarantine: correct the query, or the table that it "
            f"joins; the first reason is: {problem}"
        )


class ViewQuarantine:
    """Runs steps of views with the policy `quarantine`."""

    def __init__(self, lake: Lake, registry: TableRegistry, condemned: CondemnedRows):
        self._lake = lake
        self._registry = registry
        self._condemned = condemned

    def run_step(self, view: View, step: ViewStep, quarantine: str) -> int:
        """Run a step without the condemned rows; returns the number of rows appended. Raises what Spark raises."""
        condemned = self._condemned.of_flow((view.table, view.id))
        if not condemned:
            return run_view_step(self._lake, self._registry, view, step)
        self._publish(view, quarantine, condemned)
        step = replace(step, without=frozenset(RowName(each.seq, each.mark) for each in condemned))
        passed = self._rows_in(view, step)
        added = run_view_step(self._lake, self._registry, view, step)
        numbers = [each.number for each in condemned if RowName(each.seq, each.mark) in passed]
        self._condemned.forget((view.table, view.id), numbers)
        return added

    def condemn_failing_rows(self, view: View, step: ViewStep, quarantine: str, error: Exception) -> None:
        """Condemn the rows for which the step failed with `error`. Raises `error` if no row is to blame, and
        TooManyRowsFail."""
        if not is_row_error(error):
            raise error
        log.warning("%s fails because of rows of its source; they are looked for", view.id, exc_info=error)
        key = (view.table, view.id)
        known = self._condemned.of_flow(key)
        refuse_too_many(FailingRows({each.number: each.problem for each in known}), 0, 0)
        step = replace(step, without=frozenset(RowName(each.seq, each.mark) for each in known))
        names = self._names(view, step)
        kept = self._published(view, quarantine)

        def condemn(rows: Sequence[tuple[int, str]]) -> None:
            self._condemned.add(key, self._condemned_rows(view, step, [(names[at], why) for at, why in rows]), kept)

        failing = find_failing_rows(
            len(names), partial(self._why_it_fails, view, step, names), lambda at, why: condemn([(at, why)])
        )
        if not failing.reasons:
            raise error
        refuse_too_many(failing, len(names), len(known))
        if failing.rest:
            condemn([(at, why) for rows, why in failing.rest for at in rows])

    def _why_it_fails(self, view: View, step: ViewStep, names: Sequence[RowName], rows: Selection) -> str | None:
        pieces = tuple((names[each.start], names[each.stop - 1]) for each in rows)
        selection = RowSelection(pieces, step.without)
        made = step_rows(
            step_session(self._lake, step),
            view,
            step,
            lambda binding: selected_relation(binding, step.part, selection),
        )
        return why_rows_fail(made, view.table)

    def _names(self, view: View, step: ViewStep) -> list[RowName]:
        """The names of the rows that the step reads, in order."""
        sql = row_names_sql(view.trigger.binding, step.part, RowSelection(None, step.without))
        found = self._lake.spark.sql(sql).toArrow()
        return sorted(map(RowName, found.column(SEQ).to_pylist(), found.column(MARK).to_pylist()))

    def _rows_in(self, view: View, step: ViewStep) -> frozenset[RowName]:
        """Those of the condemned rows that the step reads: later steps do not read them again."""
        binding = view.trigger.binding
        everything = row_names_sql(binding, step.part, RowSelection())
        found = self._lake.spark.sql(f"{everything} AND {names_condition(binding, step.without)}")
        return frozenset(RowName(row[SEQ], row[MARK]) for row in found.collect())

    def _condemned_rows(
        self, view: View, step: ViewStep, rows: Sequence[tuple[RowName, str]]
    ) -> tuple[CondemnedRow, ...]:
        """The rows with their text; equal rows are one, with a line of text each."""
        binding = view.trigger.binding
        texts: dict[RowName, list[str]] = {}
        for found in self._lake.spark.sql(row_texts_sql(binding, step.part, [name for name, _ in rows])).collect():
            texts.setdefault(RowName(found[SEQ], found[MARK]), []).append(found[RAW])
        return tuple(
            CondemnedRow(
                name.seq,
                name.mark,
                f"the view {view.pipe}.{view.node} fails for this row of `{binding.name}` (_seq {name.seq}): {why}",
                "\n".join(texts.get(name, [])),
            )
            for name, why in rows
        )

    def _published(self, view: View, quarantine: str) -> int:
        """The number of the last condemned row that the quarantine has."""
        kept = self._registry.cursor(quarantine, _quarantine_flow(view))
        return kept.number if isinstance(kept, BatchCursor) else 0

    def _publish(self, view: View, quarantine: str, condemned: Sequence[CondemnedRow]) -> None:
        """Append the condemned rows to the quarantine that it does not have yet."""
        with self._registry.lock(quarantine):
            kept = self._published(view, quarantine)
            new = [each for each in condemned if each.number > kept]
            if not new:
                return
            now, version = datetime.now(timezone.utc), view_rejects(view.table)
            rows = [(each.seq, version, now, raw, [each.problem]) for each in new for raw in each.raw.split("\n")]
            at = Progress(BatchCursor(new[-1].number))
            frame = self._lake.spark.createDataFrame(rows, QUARANTINE_SCHEMA)
            self._registry.commit(frame, quarantine, {_quarantine_flow(view): at})
            crash_point("quarantine.committed")


def refuse_too_many(failing: FailingRows, examined: int, before: int) -> None:
    """Raises TooManyRowsFail if so many of the examined rows fail, with those `before` that are condemned already, that
    it is not the rows. A search that was cut off condemned what it had found: without the sum, a view that fails for
    most rows would give up all of them, some at each attempt."""
    reasons = failing.reasons
    all_fail = bool(failing.rest) and len(reasons) == examined >= SMALLEST_SAMPLED
    if all_fail or before + len(reasons) > MOST_QUARANTINED:
        raise TooManyRowsFail(before + len(reasons), next(iter(reasons.values())))


def _quarantine_flow(view: View) -> str:
    return f"condemned.{view.table}.{view.id}"
