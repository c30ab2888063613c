"""Run a view with `ON_ERROR quarantine`: rows for which its query fails go to the quarantine of its target.

In: a step of the view. Out: the step's commit, without the rows that make it fail; these, with the reasons, in the
quarantine. Invariant: a row is condemned in the state store before the step leaves it out, and numbered; the quarantine
records the last number it has in the commit of its rows. So every row of the source is in the target's rows or in the
quarantine, once, whenever the server is killed and whatever the view's policy is later.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial

from penstock.flow.failing.trials import NamedRows, RowTexts, RunTrial, ViewTrial
from penstock.flow.failing_rows import Probe, Selection, find_failing_rows, samples_that_fail
from penstock.flow.landing.landing import QUARANTINE_SCHEMA
from penstock.flow.landing.quarantine_commits import commit_to_quarantine, view_flow
from penstock.flow.materialized_view import ViewStep, run_view_step
from penstock.flow.table_registry import TableRegistry
from penstock.lake.read.row_identity import MARK, RowName, RowSelection, names_condition, row_names_sql
from penstock.lake.spark.session import Lake
from penstock.model.cursor import BatchCursor, encode_cursor
from penstock.model.manifest import SEQ, View, view_rejects
from penstock.state.condemned_rows import CondemnedRow, CondemnedRows

MOST_QUARANTINED = 10_000
"""If more rows are condemned that the view has not passed, or all of the samples of a step of SMALLEST_SAMPLED or more
rows fail, the view stops: then not the rows are wrong, but the query or a table that it joins."""
SMALLEST_SAMPLED, SAMPLES = 64, 16
BEGINNING = ""
"""The position of a view that has read nothing."""
log = logging.getLogger("penstock.flow")


class TooManyRowsFail(Exception):
    """The rows for which a view fails are too many to be an exception."""

    def __init__(self, count: str, problem: str):
        super().__init__(
            f"{count} rows fail, too many for the quarantine: correct the query, or the table that it "
            f"joins; the first reason is: {problem}"
        )


class ViewQuarantine:
    """Runs steps of views, without their condemned rows."""

    def __init__(self, lake: Lake, registry: TableRegistry, condemned: CondemnedRows):
        self._lake = lake
        self._registry = registry
        self._condemned = condemned

    def run_step(self, view: View, step: ViewStep, quarantine: str | None) -> int:
        """Run a step without the condemned rows; returns the number of rows appended. Raises what Spark raises."""
        condemned = self._rows_to_leave_out(view, quarantine)
        if not condemned:
            return run_view_step(self._lake, self._registry, view, step)
        step = replace(step, without=frozenset(RowName(each.seq, each.mark) for each in condemned))
        passed = self._rows_in(view, step)
        numbers = [each.number for each in condemned if RowName(each.seq, each.mark) in passed]
        flow = (view.table, view.id)
        self._condemned.leave_out(flow, numbers, self._position(view))
        added = run_view_step(self._lake, self._registry, view, step)
        self._condemned.forget(flow, numbers)
        return added

    def find_failing_rows(
        self, view: View, step: ViewStep, quarantine: str, run: RunTrial, samples: int = SAMPLES
    ) -> int:
        """Condemn the rows for which the step fails; `run` runs parts of it. Returns how many were found. Raises
        TooManyRowsFail, SearchUnfinished, and what `run` raises."""
        key = (view.table, view.id)
        known = self._condemned.of_flow(key)
        step = replace(step, without=frozenset(RowName(each.seq, each.mark) for each in known))
        names = run(NamedRows(view, step))
        why = partial(_why_it_fails, run, view, step, names)
        _refuse_if_all_fail(len(names), samples, why)
        published = self._published(view, quarantine)
        found = len(known)

        def condemn(at: int, problem: str) -> None:
            nonlocal found
            if found >= MOST_QUARANTINED:
                raise TooManyRowsFail(f"more than {MOST_QUARANTINED:,}", problem)
            texts = run(RowTexts(view, step, (names[at],)))
            self._condemned.add(key, [_condemned_row(view, names[at], problem, [text for _, text in texts])], published)
            found += 1

        return len(find_failing_rows(len(names), why, condemn))

    def _rows_to_leave_out(self, view: View, quarantine: str | None) -> tuple[CondemnedRow, ...]:
        """The condemned rows that the view has not passed; they are in the quarantine. Without `quarantine`, a view
        that stops for what fails, those that are there already: the others are rows like any other again."""
        flow = (view.table, view.id)
        condemned = self._condemned.of_flow(flow)
        if not condemned:
            return ()
        position = self._position(view)
        passed = [each.number for each in condemned if each.left_out_at not in (None, position)]
        self._condemned.forget(flow, passed)
        condemned = tuple(each for each in condemned if each.number not in passed)
        if view.on_error == "quarantine" and quarantine is not None:
            self._publish(view, quarantine, condemned)
            return condemned
        published = self._published(view, quarantine) if quarantine is not None else 0
        self._condemned.forget(flow, [each.number for each in condemned if each.number > published])
        return tuple(each for each in condemned if each.number <= published)

    def _position(self, view: View) -> str:
        """The position of the view, as text: another one after each of its steps."""
        cursor = self._registry.cursor(view.table, view.id)
        return encode_cursor(cursor) if cursor is not None else BEGINNING

    def _rows_in(self, view: View, step: ViewStep) -> frozenset[RowName]:
        """Those of the condemned rows that the step reads: later steps do not read them again."""
        binding = view.trigger.binding
        everything = row_names_sql(binding, step.part, RowSelection())
        found = self._lake.spark.sql(f"{everything} AND {names_condition(binding, step.without)}")
        return frozenset(RowName(row[SEQ], row[MARK]) for row in found.collect())

    def _published(self, view: View, quarantine: str) -> int:
        """The number of the last condemned row that the quarantine has."""
        kept = self._registry.cursor(quarantine, view_flow(view.table, view.id))
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
            frame = self._lake.spark.createDataFrame(rows, QUARANTINE_SCHEMA)
            made = (view_flow(view.table, view.id), BatchCursor(new[-1].number))
            commit_to_quarantine(self._lake, self._registry, frame, quarantine, made)


def first_failing_row(view: View, step: ViewStep, run: RunTrial) -> tuple[RowName, str] | None:
    """The first row, with the reason, for which a step fails by itself; None if there is none."""
    names = run(NamedRows(view, step))

    def stop(at: int, problem: str) -> None:
        raise _Found(names[at], problem)

    try:
        find_failing_rows(len(names), partial(_why_it_fails, run, view, step, names), stop)
    except _Found as found:
        return found.row, found.problem
    return None


class _Found(Exception):
    """Ends a search with its first result."""

    def __init__(self, row: RowName, problem: str):
        super().__init__(problem)
        self.row, self.problem = row, problem


def _why_it_fails(run: RunTrial, view: View, step: ViewStep, names: Sequence[RowName], rows: Selection) -> str | None:
    pieces = tuple((names[each.start], names[each.stop - 1]) for each in rows)
    return run(ViewTrial(view, step, RowSelection(pieces, step.without)))


def _refuse_if_all_fail(count: int, samples: int, why: Probe) -> None:
    """Raises TooManyRowsFail if rows spread over a larger step fail, each of them."""
    problem = samples_that_fail(count, samples, why) if count >= SMALLEST_SAMPLED else None
    if problem is not None:
        raise TooManyRowsFail(f"{samples} of {samples} examined", problem)


def _condemned_row(view: View, name: RowName, why: str, texts: Sequence[str]) -> CondemnedRow:
    """The row with its text; equal rows are one, with a line of text each."""
    source = view.trigger.binding.name
    problem = f"the view {view.pipe}.{view.node} fails for this row of `{source}` (_seq {name.seq}): {why}"
    return CondemnedRow(name.seq, name.mark, problem, "\n".join(texts))
