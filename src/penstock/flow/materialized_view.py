"""Rows that arrive in a view's trigger table → rows of its target: one step of a view.

In: a view and how far it is. Out: one commit of rows and cursor. Called by `scheduler`. Invariant:
each appended row of the trigger table takes part in exactly one step. A new view first reads the
history (its source as of a snapshot, by slices of `_seq`), then what was appended after.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from penstock.crash_points import reached
from penstock.flow.table_registry import Registry
from penstock.lake.read.bindings import Appended, Latest, Part, Slice, merged, relation, with_seq
from penstock.lake.read.history_slices import SliceLimits, next_slice
from penstock.lake.spark.names import quoted
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshot_tags import hold, release
from penstock.lake.tables.snapshots import Progress, Snapshots
from penstock.model.cursor import Batches, History, Tail
from penstock.model.manifest import REJECTS, SEQ, Accepts, Binding, BoundColumn, View, last_seq
from penstock.model.types import String
from penstock.sql.analysis.row_seq import with_own_seq
from penstock.sql.syntax.tokens import put_in

_WITHOUT: set[str] = set()
"""The SQL of views of which Spark has said that their rows are not made from one row each, as an aggregate without
GROUP BY. It is asked once: each refusal fills the log."""
SMALL = 50_000
"""Steps of fewer rows run in the session that is tuned for them."""


@dataclass(frozen=True, slots=True)
class Advance:
    """The next step of a view: what it reads, where it will be, rows it reads (about), and of a
    history the bytes."""

    part: Part
    progress: Progress
    seq: int
    rows: int
    bytes: int = 0


class Expired(Exception):
    """What came since the view's cursor cannot be told apart any more."""


def next_advance(lake: Lake, view: View, at: Progress | None, source: Snapshots, most: SliceLimits) -> Advance | None:
    """What the view would read next, at most about `most`; None if it is up to date. Raises Expired."""
    match at.cursor if at is not None else None:
        case Tail(snapshot) if snapshot >= 0:
            if source.has(snapshot):
                return _tail(source, snapshot, most.rows)
            return _behind_expiry(lake, view, at.through if at is not None else {}, source, most)
        case History(snapshot, seq):
            return _history(lake, view, source, (snapshot, seq), most)
        case None | Tail():
            if source.current is None:
                return None
            return _history(lake, view, source, (source.current.id, -1), most)
        case Batches():
            raise ValueError(f"the cursor of {view.id} is that of a landing flow")


def advance(lake: Lake, registry: Registry, view: View, step: Advance) -> int:
    """Run one step and commit it. Returns the rows appended. The caller holds the target's lock."""
    session = lake.spark if isinstance(step.part, Appended) and step.rows < SMALL else lake.bulk
    rows = _rows(session, view, step)
    if isinstance(step.part, Slice) and isinstance(step.progress.cursor, History):
        hold(lake, view.trigger.binding.table, step.part.snapshot, (view.table, view.id))
    added = registry.commit(rows, view.table, {view.id: step.progress})
    reached("view.committed")
    if isinstance(step.part, Slice) and isinstance(step.progress.cursor, Tail):
        release(lake, view.trigger.binding.table, (view.table, view.id))
    return added


def _rows(session: SparkSession, view: View, step: Advance) -> DataFrame:
    """The rows of a step. Each carries the `_seq` of the row that it was made from, so that rows of one step
    keep their order; where there is no such row (or Spark does not take the SQL for it), that of the step."""
    texts = {other.placeholder: merged(other.binding) for other in view.others}
    last = f"CAST({step.seq} AS BIGINT)"
    own = with_own_seq(view.sql, view.trigger.placeholder) if view.sql not in _WITHOUT else None
    if own is not None:
        trigger = relation(with_seq(view.trigger.binding), step.part)
        try:
            rows = session.sql(put_in(own, texts | {view.trigger.placeholder: trigger})).toDF(*view.fields, SEQ)
            return rows.selectExpr(*map(quoted, view.fields), f"least({SEQ}, {last}) AS {SEQ}")
        except AnalysisException:
            _WITHOUT.add(view.sql)
    trigger = relation(view.trigger.binding, step.part)
    rows = session.sql(put_in(view.sql, texts | {view.trigger.placeholder: trigger})).toDF(*view.fields)
    return rows.selectExpr(*map(quoted, view.fields), f"{last} AS {SEQ}")


def resume(registry: Registry, view: View, met: int) -> None:
    """Commit, without a row, that a view has what its source had at its meeting: its table came with
    that. The caller holds the target's lock."""
    source = registry.snapshots(view.trigger.binding.table)
    progress = Progress(Tail(met), _through(source, met))
    registry.mark(view.table, {view.id: progress})


class Diverged(Exception):
    """The rows that a shared view would read next are not the same for all its deployments."""

    def __init__(self, table: str, deployments: tuple[int, ...]):
        super().__init__(f"{table} cannot be shared any longer by deployments {deployments}")
        self.table = table
        self.deployments = deployments


def check_shared(lake: Lake, variants: Sequence[tuple[int, View]], step: Advance) -> None:
    """Raise Diverged if a landing version of one of the deployments rejects a row of the step that
    another one accepts. Versions that accept the same rows share their views' tables."""
    _, first = variants[0]
    others = [(id, view) for id, view in variants[1:] if _chains(view) != _chains(first)]
    if not others:
        return
    sources = [(first.trigger.binding.table, step.part)] + [
        (each.binding.table, Latest()) for each in first.others if each.binding.accepts
    ]
    if any(_has_rejects(lake, table, part) for table, part in sources):
        raise Diverged(first.table, tuple(id for id, _ in others))


def _chains(view: View) -> tuple[tuple[Accepts, ...], ...]:
    return tuple(source.binding.accepts for source in (view.trigger, *view.others))


def _has_rejects(lake: Lake, table: str, part: Part) -> bool:
    marked = Binding("rows", table, (BoundColumn(REJECTS, String(), REJECTS),))
    return not lake.spark.sql(
        f"SELECT 1 FROM {relation(marked, part)} AS `rows` WHERE {REJECTS} IS NOT NULL LIMIT 1"
    ).isEmpty()


def _history(lake: Lake, view: View, source: Snapshots, at: tuple[int, int], most: SliceLimits) -> Advance:
    snapshot, seq = at
    piece = next_slice(lake, view.trigger.binding.table, snapshot, seq, most)
    if piece.last:
        progress = Progress(Tail(snapshot), _through(source, snapshot))
    else:
        progress = Progress(History(snapshot, piece.upto))
    return Advance(Slice(snapshot, seq, piece.upto), progress, piece.upto, piece.rows, piece.bytes)


def _behind_expiry(
    lake: Lake, view: View, through: Mapping[str, int], source: Snapshots, most: SliceLimits
) -> Advance | None:
    """Somebody has expired the snapshot that the view had read up to. Where one flow of one stream feeds
    the source, what came since is what has a greater `_seq`: it is read like a history."""
    carrying = [progress for progress in source.progress.values() if progress.through]
    if source.current is None or len(carrying) != 1 or len(carrying[0].through) != 1 or len(through) != 1:
        raise Expired(
            f"the snapshot of {view.trigger.binding.table} up to which {view.id} has read was expired from outside, "
            "and several flows feed that table: what came since cannot be told apart"
        )
    return _history(lake, view, source, (source.current.id, _seq_of(through)), most)


def _tail(source: Snapshots, snapshot: int, most_rows: int) -> Advance | None:
    """The snapshots after `snapshot`, as many as hold about `most_rows` appended rows."""
    start = source.index(snapshot) + 1
    if start >= len(source.line):
        return None
    rows, end = 0, start
    while end < len(source.line) and (end == start or rows + source.line[end].added <= most_rows):
        rows += source.line[end].added if source.line[end].appends else 0
        end += 1
    upto = source.line[end - 1].id
    through = _through(source, upto)
    return Advance(Appended(snapshot, upto), Progress(Tail(upto), through), _seq_of(through), rows)


def _through(source: Snapshots, snapshot: int) -> Mapping[str, int]:
    """Per stream, the batch up to which the source was complete at a snapshot: the least of the
    flows that carry the stream."""
    through: dict[str, int] = {}
    for progress in source.at(snapshot).values():
        for stream, batch in progress.through.items():
            through[stream] = min(batch, through.get(stream, batch))
    return through


def _seq_of(through: Mapping[str, int]) -> int:
    return last_seq(max(through.values(), default=0))
