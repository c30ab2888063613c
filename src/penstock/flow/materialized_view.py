"""Advance a materialized view by one step: rows that arrive in its trigger table become rows of its target.

In: a view and its progress. Out: one commit of rows and cursor. Invariant: each row appended to the trigger table
is read in exactly one step. A new view first reads the history (one snapshot of its source, in slices of `_seq`),
then what was appended after.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from penstock.crash_points import crash_point
from penstock.flow.table_registry import TableRegistry
from penstock.lake.append.direct_append import NotDirect
from penstock.lake.maintenance.removed_rows import note_beginning
from penstock.lake.read.bindings import (
    AppendedRows,
    CurrentRows,
    HeldPart,
    SnapshotSlice,
    TablePart,
    binding_relation,
    merged_relation,
    with_seq,
)
from penstock.lake.read.history_slices import SliceLimits, next_slice
from penstock.lake.read.query_execution import MAX_RESULT
from penstock.lake.read.row_identity import RowName, RowSelection, selected_relation
from penstock.lake.spark.errors import explain_error
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshot_tags import release_tag, tag_snapshot
from penstock.lake.tables.snapshots import Progress, Snapshot, Snapshots
from penstock.model.cursor import BatchCursor, HistoryCursor, TailCursor
from penstock.model.manifest import REJECTS, SEQ, Accepts, Binding, BoundColumn, View, last_seq
from penstock.model.types import String
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import quote_identifier, replace_placeholders

_NO_ROW_SEQ: set[str] = set()
"""SQL of views that Spark refused with a `_seq` column, because their rows are not made from one row each (an
aggregate without GROUP BY). Remembered, since each refusal fills the log; only after Spark accepted the SQL without the
column and refused it again with it, for what fails once may be the catalog."""
_ONLY_SPARK: set[str] = set()
"""SQL of views whose columns have another type than their table stores, so that Spark converts them when it writes."""
_MULTIPLIES = re.compile(r"\b(?:JOIN|LATERAL|EXPLODE|POSEXPLODE|INLINE|STACK|UNION)|\b\w+_OUTER\b", re.IGNORECASE)
"""What may make several rows of one in Spark SQL."""
DIRECT_STEP_ROWS, DIRECT_STEP_BYTES, MOST_DIRECT_ROWS = 20_000, 8 * 2**20, 100_000
"""The most rows and bytes that a step reads, and gives, whose rows this process writes: it holds them in memory."""
log = logging.getLogger("penstock.flow")
SMALL_STEP_ROWS = 50_000
"""Steps of fewer rows run in the session that is tuned for small work."""


@dataclass(frozen=True, slots=True)
class ViewStep:
    """The next step of a view."""

    part: TablePart
    """The part of the source that the step reads."""
    progress: Progress
    """The view's progress after the step."""
    seq: int
    """The last `_seq` of the step."""
    rows: int
    """About how many rows it reads."""
    bytes: int = 0
    """How many bytes of files it reads."""
    without: frozenset[RowName] = frozenset()
    """Condemned rows, which it leaves out."""


class SnapshotExpired(Exception):
    """The snapshot of the view's cursor was removed from outside, and the rows appended since cannot be identified."""


def next_view_step(
    lake: Lake, view: View, at: Progress | None, source: Snapshots, most: SliceLimits
) -> ViewStep | None:
    """The next step of a view, of about `most` at most; None if it is up to date. Raises SnapshotExpired."""
    match at.cursor if at is not None else None:
        case TailCursor(snapshot) if snapshot >= 0:
            start = source.unsquashed(snapshot)
            if source.has(start):
                return _tail_step(source, start, most.rows)
            if squashed := source.squashed_after(snapshot):
                return _squashed_step(source, snapshot, squashed, most.rows)
            return _step_after_expiry(lake, view, at.watermarks if at is not None else {}, source, most)
        case HistoryCursor(snapshot, seq):
            return _history_step(lake, view, source, (snapshot, seq), most)
        case None | TailCursor():
            if source.current is None:
                return None
            return _history_step(lake, view, source, (source.current.id, -1), most)
        case BatchCursor():
            raise ValueError(f"the cursor of {view.id} is that of a landing flow")


def run_view_step(lake: Lake, registry: TableRegistry, view: View, step: ViewStep) -> int:
    """Run one step and commit it. Returns the number of rows appended. The caller must hold the target's lock."""
    if isinstance(step.part, AppendedRows) and not step.rows:
        registry.add_progress(view.table, {view.id: step.progress})  # no insert: even an aggregate of all rows has none
        crash_point("view.committed")
        return 0
    if isinstance(step.part, SnapshotSlice) and isinstance(step.progress.cursor, HistoryCursor):
        tag_snapshot(lake, view.trigger.binding.table, step.part.snapshot, (view.table, view.id))
    if isinstance(step.part, SnapshotSlice) and step.part.after < 0:
        note_beginning(lake, view, step.part.snapshot)
    session, selection = step_session(lake, step), RowSelection(None, step.without)
    with _fastest_part(session, registry, view, step) as part:
        rows = step_rows(session, view, step, lambda binding: selected_relation(binding, part, selection))
        added = _commit_rows(registry, view, step, rows)
    crash_point("view.committed")
    if isinstance(step.part, SnapshotSlice) and isinstance(step.progress.cursor, TailCursor):
        release_tag(lake, view.trigger.binding.table, (view.table, view.id))
    return added


@contextmanager
def _fastest_part(session: SparkSession, registry: TableRegistry, view: View, step: ViewStep) -> Iterator[TablePart]:
    """The part of the source that a step reads, or the same rows from memory, if they are there still."""
    part, source = step.part, view.trigger.binding.table
    held = registry.held_rows(source, part.after, part.upto) if isinstance(part, AppendedRows) else None
    if held is None or step.without:
        yield part
        return
    name = f"held_{uuid.uuid4().hex}"
    session.createDataFrame(held).createOrReplaceTempView(name)
    try:
        yield HeldPart(name)
    finally:
        session.catalog.dropTempView(name)


def _commit_rows(registry: TableRegistry, view: View, step: ViewStep, rows: DataFrame) -> int:
    """Commit the rows of a step: a few are computed by Spark and written by this process. Returns how many."""
    made = {view.id: step.progress}
    found = _few_rows(view, rows) if _is_direct(view, step) and registry.takes_arrow(view.table) else None
    if found is not None:
        try:
            return registry.commit(found, view.table, made)
        except NotDirect as reason:
            _ONLY_SPARK.add(view.sql)
            log.warning("from now on Spark writes what %s gives: %s", view.id, reason)
    return registry.commit(rows, view.table, made)


def _few_rows(view: View, rows: DataFrame) -> pa.Table | None:
    """What a step gives, in this process; None if it is too much for it. Raises what Spark raises."""
    try:
        found = (rows.limit(MOST_DIRECT_ROWS + 1) if _may_multiply(view) else rows).toArrow()
    except Exception as error:
        if MAX_RESULT not in explain_error(error):
            raise
        return None  # few rows of much text, which Spark's workers write without bringing them together
    return found if found.num_rows <= MOST_DIRECT_ROWS else None


def _is_direct(view: View, step: ViewStep) -> bool:
    few = step.rows <= DIRECT_STEP_ROWS and step.bytes <= DIRECT_STEP_BYTES
    return isinstance(step.part, AppendedRows) and few and view.sql not in _ONLY_SPARK


def _may_multiply(view: View) -> bool:
    """Whether a step may give more rows than it reads."""
    return bool(view.others) or _MULTIPLIES.search(view.sql) is not None


def step_session(lake: Lake, step: ViewStep) -> SparkSession:
    """The session that suits the size of a step."""
    return lake.spark if isinstance(step.part, AppendedRows) and step.rows < SMALL_STEP_ROWS else lake.bulk


def step_rows(session: SparkSession, view: View, step: ViewStep, trigger: Callable[[Binding], str]) -> DataFrame:
    """The rows that a step makes of the rows of its trigger; `trigger` gives the SQL of these for a binding. Each has
    the `_seq` of the row it was made from, so that rows of one step keep their order; if there is no such row, or Spark
    refuses the SQL with `_seq`, it has the last `_seq` of the step."""
    own = query_facts(view.sql).with_row_seq(view.trigger.placeholder) if view.sql not in _NO_ROW_SEQ else None
    if own is None:
        return _rows_without_seq(session, view, step, trigger)
    try:
        return _rows_with_seq(session, view, step, (own, trigger))
    except AnalysisException as refusal:
        found = _rows_without_seq(session, view, step, trigger)
        try:
            return _rows_with_seq(session, view, step, (own, trigger))
        except AnalysisException as again:
            if again.getCondition() != refusal.getCondition():
                raise
            _NO_ROW_SEQ.add(view.sql)
            return found


def _rows_with_seq(
    session: SparkSession, view: View, step: ViewStep, own: tuple[str, Callable[[Binding], str]]
) -> DataFrame:
    sql, trigger = own
    texts = _other_relations(view) | {view.trigger.placeholder: trigger(with_seq(view.trigger.binding))}
    seq = f"least({SEQ}, CAST({step.seq} AS BIGINT))"
    return session.sql(_renamed(replace_placeholders(sql, texts), (*view.fields, SEQ), view.fields, seq))


def _rows_without_seq(
    session: SparkSession, view: View, step: ViewStep, trigger: Callable[[Binding], str]
) -> DataFrame:
    texts = _other_relations(view) | {view.trigger.placeholder: trigger(view.trigger.binding)}
    seq = f"CAST({step.seq} AS BIGINT)"
    return session.sql(_renamed(replace_placeholders(view.sql, texts), view.fields, view.fields, seq))


def _renamed(sql: str, columns: Sequence[str], fields: Sequence[str], seq: str) -> str:
    """The rows of a query whose columns get these names: the fields, and a `_seq`. One text, since Spark analyses each
    DataFrame on the way to another one."""
    names = ", ".join(map(quote_identifier, columns))
    shown = ", ".join((*map(quote_identifier, fields), f"{seq} AS {SEQ}"))
    return f"SELECT {shown} FROM (\n{sql}\n) AS `step`({names})"


def _other_relations(view: View) -> dict[str, str]:
    return {other.placeholder: merged_relation(other.binding) for other in view.others}


def resume_view(registry: TableRegistry, view: View, met: int) -> None:
    """Record, in a commit without rows, that a view has read its source up to the source's barrier, snapshot `met`,
    because its table was created with these rows. The caller must hold the target's lock."""
    source = registry.snapshots(view.trigger.binding.table)
    progress = Progress(TailCursor(met), _watermarks_at(source, met))
    registry.add_progress(view.table, {view.id: progress})


class SplitRequired(Exception):
    """The deployments that share a view's table would see different rows from here on: the table must be split
    (copy-on-write)."""

    def __init__(self, table: str, deployments: tuple[int, ...]):
        super().__init__(f"{table} cannot be shared any longer by deployments {deployments}")
        self.table = table
        self.deployments = deployments


def check_shared(lake: Lake, variants: Sequence[tuple[int, View]], step: ViewStep) -> None:
    """Raises SplitRequired if the landing versions of the deployments differ on a row of the step: one rejects it,
    another accepts it. Versions that accept the same rows share the tables of their views."""
    _, first = variants[0]
    others = [(id, view) for id, view in variants[1:] if _accepts_chains(view) != _accepts_chains(first)]
    if not others:
        return
    sources = [(first.trigger.binding.table, step.part)] + [
        (each.binding.table, CurrentRows()) for each in first.others if each.binding.accepts
    ]
    if any(_has_rejects(lake, table, part) for table, part in sources):
        raise SplitRequired(first.table, tuple(id for id, _ in others))


def _accepts_chains(view: View) -> tuple[tuple[Accepts, ...], ...]:
    return tuple(source.binding.accepts for source in (view.trigger, *view.others))


def _has_rejects(lake: Lake, table: str, part: TablePart) -> bool:
    marked = Binding("rows", table, (BoundColumn(REJECTS, String(), REJECTS),))
    return not lake.spark.sql(
        f"SELECT 1 FROM {binding_relation(marked, part)} AS `rows` WHERE {REJECTS} IS NOT NULL LIMIT 1"
    ).isEmpty()


def _history_step(lake: Lake, view: View, source: Snapshots, at: tuple[int, int], most: SliceLimits) -> ViewStep:
    snapshot, seq = at
    history_slice = next_slice(lake, view.trigger.binding.table, snapshot, seq, most)
    if history_slice.last:
        progress = Progress(TailCursor(snapshot), _watermarks_at(source, snapshot))
    else:
        progress = Progress(HistoryCursor(snapshot, history_slice.upto))
    return ViewStep(
        SnapshotSlice(snapshot, seq, history_slice.upto),
        progress,
        history_slice.upto,
        history_slice.rows,
        history_slice.bytes,
    )


def _step_after_expiry(
    lake: Lake, view: View, watermarks: Mapping[str, int], source: Snapshots, most: SliceLimits
) -> ViewStep | None:
    """The next step if somebody expired the snapshot that the view had read up to. If a single flow of one stream feeds
    the source, the rows appended since are those with a greater `_seq`, and are read like a history."""
    carrying = [progress for progress in source.progress.values() if progress.watermarks]
    if source.current is None or len(carrying) != 1 or len(carrying[0].watermarks) != 1 or len(watermarks) != 1:
        raise SnapshotExpired(
            f"{view.id} cannot continue: its last snapshot of {view.trigger.binding.table} was removed from outside, "
            "and its new rows cannot be identified because several flows write that table"
        )
    return _history_step(lake, view, source, (source.current.id, _last_seq_of(watermarks)), most)


def _tail_step(source: Snapshots, snapshot: int, most_rows: int) -> ViewStep | None:
    """A step over the snapshots after `snapshot`, as many as have about `most_rows` appended rows."""
    start = source.index(snapshot) + 1
    if start >= len(source.line):
        return None
    rows, end = 0, start
    while end < len(source.line) and (end == start or rows + source.line[end].added <= most_rows):
        rows += source.line[end].added if source.line[end].appends else 0
        end += 1
    upto = source.line[end - 1].id
    watermarks = _watermarks_at(source, upto)
    size = sum(each.added_bytes for each in source.line[start:end] if each.appends)
    progress = Progress(TailCursor(upto), watermarks)
    return ViewStep(AppendedRows(snapshot, upto), progress, _last_seq_of(watermarks), rows, size)


def _squashed_step(source: Snapshots, snapshot: int, squashed: Sequence[Snapshot], most_rows: int) -> ViewStep:
    """A step over squashed snapshots after `snapshot`, as many as have about `most_rows` rows. The cursor is that of
    the last one, even if what it stands for is still in the line: that may expire while the step runs."""
    rows, end = squashed[0].added, 1
    while end < len(squashed) and rows + squashed[end].added <= most_rows:
        rows += squashed[end].added
        end += 1
    upto = squashed[end - 1].id
    watermarks = _watermarks_at(source, upto)
    progress = Progress(TailCursor(upto), watermarks)
    size = sum(each.added_bytes for each in squashed[:end])
    return ViewStep(AppendedRows(snapshot, upto), progress, _last_seq_of(watermarks), rows, size)


def _watermarks_at(source: Snapshots, snapshot: int) -> Mapping[str, int]:
    """Watermarks of the source at a snapshot: per stream, the batch up to which every flow that carries it is
    complete."""
    watermarks: dict[str, int] = {}
    for progress in source.at(snapshot).values():
        for stream, batch in progress.watermarks.items():
            watermarks[stream] = min(batch, watermarks.get(stream, batch))
    return watermarks


def _last_seq_of(watermarks: Mapping[str, int]) -> int:
    return last_seq(max(watermarks.values(), default=0))
