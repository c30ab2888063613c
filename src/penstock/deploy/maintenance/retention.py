"""Which snapshots and raw batches the flows still need, those that run and those that may begin.

In: the deployments that have not ended, and the progress in the tables. Out: `Needs`. Invariant: errs on the side of
keeping. A flow that has not begun where it will begin, and a table that gets its cursors from another one's, keep all
that they might read.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.flow.table_registry import TableRegistry
from penstock.lake.tables.snapshots import Progress, Snapshots
from penstock.model.cursor import BatchCursor, HistoryCursor, TailCursor
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Copy, Landing, Manifest, View

ENDED: tuple[DeploymentState, ...] = ("failed", "retired", "discarded")
"""The states of a deployment whose flows will never run again."""


@dataclass(frozen=True, slots=True)
class Needs:
    """By table the snapshots up to which somebody has read it: they and all that follow are needed; so are
    those of `marks`, which nobody reads, for the progress that they hold; `all` are tables of which every
    one is. By stream the last raw batch that nobody needs any more, as far as it is known; a stream of `fed`
    may be landed again from its first batch: views feed its table too, which can be made anew."""

    snapshots: dict[str, set[int]] = field(default_factory=dict)
    marks: dict[str, int] = field(default_factory=dict)
    all: set[str] = field(default_factory=set)
    batches: dict[str, int] = field(default_factory=dict)
    fed: set[str] = field(default_factory=set)

    def snapshot(self, table: str, id: int) -> None:
        self.snapshots.setdefault(table, set()).add(id)

    def of(self, table: str) -> set[int]:
        """The snapshots of a table that are needed together with all later ones."""
        mark = {self.marks[table]} if table in self.marks else set()
        return self.snapshots.get(table, set()) | mark

    def after(self, stream: str, batch: int) -> None:
        """Record that the batches of a stream after this one are needed."""
        self.batches[stream] = min(batch, self.batches.get(stream, batch))


def find_needs(registry: TableRegistry, deployments: Iterable[Deployment]) -> Needs:
    """What the flows of all deployments need that have not ended."""
    found = Needs()
    for deployment in deployments:
        if deployment.state not in ENDED:
            _add_manifest(registry, deployment.manifest, found)
    return found


def _add_manifest(registry: TableRegistry, manifest: Manifest, found: Needs) -> None:
    fed = {view.table for view in manifest.views}
    for flow in manifest.flows:
        match flow:
            case View():
                _add_view(registry, flow, found)
            case Copy():
                _add_copy(registry, manifest, flow, found)
            case Landing():
                _add_landing(registry, flow, found)
                if flow.table in fed:
                    found.fed.add(flow.stream)


def _add_view(registry: TableRegistry, view: View, found: Needs) -> None:
    source = view.trigger.binding.table
    match registry.cursor(view.table, view.id):
        case TailCursor(snapshot) | HistoryCursor(snapshot, _):
            found.snapshot(source, snapshot)
        case None if view.starts in ("met", "resumed"):
            found.all.add(source)  # the meeting is looked for among its snapshots


def _add_copy(registry: TableRegistry, manifest: Manifest, copy: Copy, found: Needs) -> None:
    """The needs of a copy that is not complete: it will hand over cursors as of the snapshot that it reads."""
    cursor = registry.cursor(copy.table, copy.id)
    if not isinstance(cursor, HistoryCursor):
        return
    found.snapshot(copy.source.table, cursor.snapshot)
    try:
        then = registry.snapshots(copy.source.table).at(cursor.snapshot)
    except KeyError:
        _add_everything(manifest, copy, found)
        return
    for old, new in copy.cursors:
        if old in then:
            _add_inherited(manifest, copy, new, then[old], found)


def _add_inherited(manifest: Manifest, copy: Copy, flow: str, at: Progress, found: Needs) -> None:
    for each in manifest.flows_into(copy.table):
        if each.id != flow:
            continue
        if isinstance(each, View) and isinstance(at.cursor, (TailCursor, HistoryCursor)):
            found.snapshot(each.trigger.binding.table, at.cursor.snapshot)
        elif isinstance(each, Landing) and isinstance(at.cursor, BatchCursor):
            found.after(each.stream, at.cursor.number)


def _add_everything(manifest: Manifest, copy: Copy, found: Needs) -> None:
    for each in manifest.flows_into(copy.table):
        if isinstance(each, View):
            found.all.add(each.trigger.binding.table)
        elif isinstance(each, Landing):
            found.after(each.stream, 0)


def _add_landing(registry: TableRegistry, landing: Landing, found: Needs) -> None:
    """After a crash the batches of the last step are read again, for the quarantine: those after the step
    before, which is known from its snapshot."""
    now = registry.snapshots(landing.table)
    at = _landed_snapshots(now, landing.id)
    if not at:
        found.after(landing.stream, 0)
        return
    last = at[-1][1]
    before = next(((id, number) for id, number in reversed(at) if number < last), None)
    if before is not None:
        found.marks[landing.table] = before[0]
    found.after(landing.stream, before[1] if before is not None else 0)


def _landed_snapshots(now: Snapshots, flow: str) -> list[tuple[int, int]]:
    """The snapshots that record how far a landing is, each with its batch number."""
    return [
        (snapshot.id, at.cursor.number)
        for snapshot in now.line
        if (at := (snapshot.progress or {}).get(flow)) is not None and isinstance(at.cursor, BatchCursor)
    ]
