"""The work of a set of deployments: each flow once, however many deployments share it.

In: the running deployments. Out: `WorkItem` values, the most urgent first. Invariant: no two items have the same
table and flow; the landings of all versions into one table are one item.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, Union

from typing_extensions import assert_never

from penstock.flow.barrier import Barrier, find_barrier
from penstock.flow.landing.landing import LandingTable
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Copy, Flow, Landing, Manifest, View

PRIORITY: Mapping[DeploymentState, int] = {"live": 0, "previous": 1, "ready": 2, "backfilling": 3}

Runnable: TypeAlias = Union[LandingTable, View, Copy]


@dataclass(frozen=True, slots=True)
class WorkItem:
    """A flow to keep advancing."""

    table: str
    flow: str
    run: Runnable
    priority: int
    """The priority of the most urgent deployment that needs the flow."""
    deployments: tuple[int, ...]
    """The ids of the deployments that need it."""
    copy: str | None = None
    """The history copy after which it starts."""
    variants: tuple[tuple[int, View], ...] = ()
    """The view in each deployment that shares it, by deployment id."""
    barrier: Barrier | None = None
    """Where it waits for the other flows into its table."""
    source_barrier: Barrier | None = None
    """The barrier of its source, from which it begins."""
    quarantine: str | None = None
    """Of a view: the quarantine of its target, if that has one."""
    landing: tuple[str, str] | None = None
    """Of a view: the stream that is landed in its target too, and the flow that does it."""

    @property
    def key(self) -> tuple[str, str]:
        return (self.table, self.flow)

    @property
    def kind(self) -> str:
        """What kind of flow it is: landing, view or copy."""
        return type(self.run).__name__.removesuffix("Table").lower()

    @property
    def tables(self) -> tuple[str, ...]:
        """The tables that a step reads or writes."""
        match self.run:
            case LandingTable() as landing:
                return (self.table, landing.quarantine)
            case View() as view:
                read = (source.binding.table for source in (view.trigger, *view.others))
                return (self.table, *read, *self._filled_quarantine(view))
            case Copy() as copy:
                return (self.table, copy.source.table)
            case _:
                assert_never(self.run)

    def _filled_quarantine(self, view: View) -> tuple[str, ...]:
        return (self.quarantine,) if self.quarantine is not None and view.on_error == "quarantine" else ()


def collect_work(deployments: Iterable[Deployment]) -> tuple[WorkItem, ...]:
    """Every flow of the running deployments, most urgent first."""
    running = sorted((each for each in deployments if each.state in PRIORITY), key=lambda each: PRIORITY[each.state])
    found: dict[tuple[str, str], WorkItem] = {}
    for deployment in running:
        for work in _deployment_work(deployment):
            known = found.get(work.key)
            found[work.key] = work if known is None else _merge_items(known, work)
    return tuple(sorted(found.values(), key=lambda work: work.priority))


def _deployment_work(deployment: Deployment) -> Iterable[WorkItem]:
    priority = PRIORITY[deployment.state]
    copies = {copy.table: copy.id for copy in deployment.manifest.copies}
    for flow in deployment.manifest.flows:
        run: Runnable = LandingTable((flow,)) if isinstance(flow, Landing) else flow
        copy = copies.get(flow.table) if not isinstance(flow, Copy) and flow.starts == "placed" else None
        variants = ((deployment.id, flow),) if isinstance(flow, View) else ()
        barrier = find_barrier(deployment.manifest, flow.table)
        source_barrier = (
            find_barrier(deployment.manifest, flow.trigger.binding.table) if isinstance(flow, View) else None
        )
        yield WorkItem(
            flow.table,
            flow.id,
            run,
            priority,
            (deployment.id,),
            copy,
            variants,
            barrier,
            source_barrier,
            *_landed_too(deployment.manifest, flow),
        )


def _landed_too(manifest: Manifest, flow: Flow) -> tuple[str | None, tuple[str, str] | None]:
    """Of a view: the quarantine of its target, and the landing into that."""
    landings = (each for each in manifest.flows_into(flow.table) if isinstance(each, Landing))
    landing = next(landings, None) if isinstance(flow, View) else None
    return (LandingTable((landing,)).quarantine, (landing.stream, landing.id)) if landing is not None else (None, None)


def _merge_items(first: WorkItem, second: WorkItem) -> WorkItem:
    run = first.run
    if isinstance(first.run, LandingTable) and isinstance(second.run, LandingTable):
        run = _merge_landings(first.run, second.run)
    return replace(
        first,
        run=run,
        deployments=first.deployments + second.deployments,
        copy=first.copy or second.copy,
        barrier=first.barrier or second.barrier,
        source_barrier=first.source_barrier or second.source_barrier,
        variants=first.variants + second.variants,
    )


def _merge_landings(first: LandingTable, second: LandingTable) -> LandingTable:
    """One item that lands for both versions in one pass."""
    known = {landing.version for landing in first.landings}
    return LandingTable(first.landings + tuple(each for each in second.landings if each.version not in known))
