"""Check on the rows of live whether a forward query can convert them.

In: a `CheckRows` step and its deployment. Out: how many rows fail or take a default, with the most frequent values.
Invariant: exactly the rows that the forward query converts are checked: those up to the cutover offset, or those of
the snapshot that is copied; `--check` reads only a sample of a large table.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from penstock.deploy.runtime.warehouse import Warehouse
from penstock.errors import Failed, Problem
from penstock.lake.read.bindings import (
    CurrentRows,
    SnapshotSlice,
    TablePart,
    accepted_conditions,
    binding_relation,
    unexpired_condition,
    with_seq,
)
from penstock.lake.spark.damaged_files import damaged_files
from penstock.lake.spark.errors import explain_error, has_spark_ended, is_out_of_memory
from penstock.lake.spark.names import qualified_table
from penstock.model.cursor import HistoryCursor, TailCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import SEQ, Binding, Manifest, last_seq
from penstock.plan.diff.changes import rows_text
from penstock.plan.plan import HiddenRows
from penstock.plan.steps import Check, CheckRows
from penstock.plan.strategies.deletion_protection import loss_problem
from penstock.sql.analysis.may_raise import drop_errors

WORST = 5
"""How many of the values that do not convert are shown, the most frequent first."""
MOST, RANGES = 20_000_000, 100
"""Of a table with more than MOST rows, `--check` reads about MOST rows, in RANGES ranges of `_seq`."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check."""

    check: Check
    rows: int
    """How many rows do not convert."""
    worst: tuple[tuple[str | None, int], ...]
    """Their most frequent values, each with its count."""

    @property
    def text(self) -> str:
        values = ", ".join(f"{'NULL' if value is None else repr(value)} ({count:,})" for value, count in self.worst)
        return f"{rows_text(self.rows)}: {self.check.conversion} of {values}"


def check_rows(warehouse: Warehouse, deployment: Deployment, step: CheckRows) -> None:
    """Raises Failed if a row cannot be converted."""
    part, where = _forwarded_rows(warehouse, deployment.manifest, step)
    source = _rows_to_check(step.live, part, where)
    problems = [_failure_problem(step.name, each) for each in _run_checks(warehouse, source, step.checks, ("fails",))]
    problems += [] if problems else _compute_unsure(warehouse, source, step)
    if problems:
        raise Failed(f"rows of `{step.name}` do not convert: {problems[0].message}", problems)


def checked_expressions(manifest: Manifest, step: CheckRows) -> dict[str, str]:
    """The expressions of a data source's columns after `check_rows` has seen every row that they are for: without the
    errors that none of these rows gets to. They are cheaper to compute, and give the same values."""
    bound, certain = manifest.binding(step.name), {each.column for each in step.checks if each.kind != "default"}
    columns = bound.columns if bound is not None else ()
    return {
        each.name: drop_errors(each.before.expression)
        for each in columns
        if each.name in certain and each.before is not None and each.before.cut is not None
    }


def count_rows(warehouse: Warehouse, step: CheckRows) -> list[Problem]:
    """What a forward query would do to the rows that live has now: an error for those that fail, a warning for those
    that take a default. Only a sample of a large table is read."""
    rows = warehouse.registry.snapshots(step.live.table).rows
    where, share = _sample_ranges(warehouse, step.live.table, rows)
    source = _rows_to_check(step.live, CurrentRows(), where)
    about = "" if share == 1 else f" (in the {share:.0%} of the rows that were checked)"
    found = _run_checks(warehouse, source, step.checks, ("fails", "default"))
    problems = [
        (_failure_problem if each.check.kind == "fails" else _default_problem)(step.name, each) for each in found
    ]
    problems += _compute_unsure(warehouse, source, step)
    return [replace(problem, message=problem.message + about) for problem in problems]


def count_hidden(warehouse: Warehouse, hidden: HiddenRows) -> Problem | None:
    """The error that a TTL or engine Null would hide rows without `--allow-destructive`; None if it hides none."""
    live = hidden.live
    shown = [*accepted_conditions(live.accepts), *([unexpired_condition(live)] if live.keeps is not None else [])]
    where = " AND ".join([*shown, f"({hidden.expired})"])
    count = f"SELECT count(*) AS `rows` FROM {qualified_table(live.table)} WHERE {where}"
    rows = int(warehouse.lake.bulk.sql(count).collect()[0][0])
    if not rows:
        return None
    message = f"the TTL or the engine of `{hidden.source.name}` hides {rows_text(rows)} that live has"
    return loss_problem(message, hidden.location, hidden.source, hidden.before)


def _rows_to_check(live: Binding, part: TablePart, where: str) -> str:
    return f"(SELECT * FROM {binding_relation(with_seq(replace(live, keeps=None)), part)} WHERE {where})"


def _run_checks(
    warehouse: Warehouse, source: str, checks: Sequence[Check], kinds: Collection[str]
) -> list[CheckResult]:
    found = [_run_check(warehouse, source, check) for check in checks if check.kind in kinds]
    return [each for each in found if each.rows]


def _run_check(warehouse: Warehouse, source: str, check: Check) -> CheckResult:
    """How many rows of a relation do not convert, and which values."""
    bad = f"SELECT CAST({check.value} AS STRING) AS `value` FROM {source} AS `rows` WHERE {check.bad}"
    rows = warehouse.lake.bulk.sql(
        f"SELECT `value`, `count`, sum(`count`) OVER () AS `all` FROM"
        f" (SELECT `value`, count(*) AS `count` FROM ({bad}) GROUP BY `value`)"
        f" ORDER BY `count` DESC, `value` LIMIT {WORST}"
    ).collect()
    worst = tuple((row["value"], int(row["count"])) for row in rows)
    return CheckResult(check, int(rows[0]["all"]) if rows else 0, worst)


def _failure_problem(name: str, found: CheckResult) -> Problem:
    message = f"column `{found.check.column}` of `{name}` cannot be converted for {found.text}"
    return Problem("rows-do-not-convert", message, hint="accurateCastOrDefault or accurateCastOrNull keep such rows")


def _default_problem(name: str, found: CheckResult) -> Problem:
    message = f"column `{found.check.column}` of `{name}` takes its default for {found.text}"
    return Problem("rows-take-a-default", message, level="warning")


def _compute_unsure(warehouse: Warehouse, source: str, step: CheckRows) -> list[Problem]:
    """Compute columns of every row, only to find out whether they can be computed."""
    problems = []
    for check in step.checks:
        if check.kind == "unsure":
            try:
                warehouse.lake.bulk.sql(f"SELECT max(xxhash64({check.value})) FROM {source} AS `rows`").collect()
            except Exception as error:  # whatever Spark raises about a row is what the user has to know
                if is_out_of_memory(error) or has_spark_ended(error) or damaged_files(error) is not None:
                    raise  # it says nothing about the rows
                message = f"column `{check.column}` of `{step.name}` cannot be computed: {explain_error(error)}"
                problems.append(Problem("rows-do-not-convert", message))
    return problems


def _forwarded_rows(warehouse: Warehouse, manifest: Manifest, step: CheckRows) -> tuple[TablePart, str]:
    """The rows that the forward query converts: a part of live's table and a Spark SQL condition."""
    for copy in manifest.copies:
        cursor = warehouse.registry.cursor(copy.table, copy.id)
        if (
            copy.source.table == step.live.table
            and isinstance(cursor, (HistoryCursor, TailCursor))
            and cursor.snapshot >= 0
        ):
            return SnapshotSlice(cursor.snapshot, -1, 2**62), "true"
    bound = manifest.binding(step.name)
    cuts = [each.before.cut for each in bound.columns if each.before and each.before.cut is not None] if bound else []
    return CurrentRows(), f"{SEQ} <= {max(cuts)}" if cuts else "false"


def _sample_ranges(warehouse: Warehouse, table: str, rows: int) -> tuple[str, float]:
    """Which rows to check, as ranges of `_seq` spread over the table, and their share (0 to 1) of all rows."""
    if rows <= MOST:
        return "true", 1
    progress = warehouse.registry.snapshots(table).progress.values()
    last = last_seq(max((batch for at in progress for batch in at.watermarks.values()), default=0))
    width = last // RANGES
    share = MOST / rows
    ranges = (f"{SEQ} BETWEEN {start} AND {start + int(width * share)}" for start in range(0, last, width))
    return f"({' OR '.join(ranges)})", share
