"""Which deployments run now, and which of them is live: for queries, for the scheduler and for access checks.

In: the state store, which is authoritative. Out: `RunningDeployments`, replaced as a whole at each change.
Invariant: a reader that takes the value once sees one version, the old or the new one, never a mix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from penstock.deploy.runtime.active_readers import ActiveReaders
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.errors import Conflict, PenstockError
from penstock.flow.work_items import collect_work
from penstock.model.datasource import DataSource
from penstock.model.deployment import Deployment
from penstock.model.pipe import Copied
from penstock.model.project import TokenGrants, collect_grants
from penstock.parse.project_loader import LoadedProject


@dataclass(frozen=True, slots=True)
class RunningDeployments:
    """The running deployments at one moment."""

    deployments: tuple[Deployment, ...] = ()
    live: Deployment | None = None
    grants: TokenGrants = field(default_factory=dict)
    """What the TOKEN lines of the live deployment grant."""
    copies: Mapping[str, Copied] = field(default_factory=dict)
    """The copies of the live deployment, by the name of their pipe."""

    @property
    def complete(self) -> tuple[Deployment, ...]:
        """Those that may be queried and are not replaced yet: live, whose word about a stream holds, and then those
        that are ready, the latest first."""
        found = [each for each in self.deployments if each.state in ("live", "ready")]
        return tuple(sorted(found, key=lambda each: (each.state != "live", -each.id)))


def landed_sources(loaded: LoadedProject, deployment: Deployment) -> Iterator[tuple[DataSource, str]]:
    """The data sources of a version that land a stream, each with the name of the stream."""
    for source in loaded.project.datasources:
        landing = deployment.manifest.landing(source.name)
        if landing is not None:
            yield source, landing.stream


class DeploymentBoard:
    """Holds the current `RunningDeployments`; `readers` counts the queries that read each deployment."""

    def __init__(self, store: StateStore, flows: RunningFlows, projects: ProjectCache, readers: ActiveReaders):
        self.running = RunningDeployments()
        self.readers = readers
        self._store = store
        self._flows = flows
        self._projects = projects

    def live(self) -> Deployment | None:
        """The live deployment, None before the first promotion."""
        return self.running.live

    def refresh(self) -> None:
        """Read the running deployments from the state store, show them to readers and run their flows."""
        running = tuple(self._store.deployments.running())
        pointed = self._store.pointer.read().live
        live = next((each for each in running if each.id == pointed), None)
        self.running = RunningDeployments(running, live, *self._grants_and_copies(live))
        paused = {each.id for each in running if each.paused}
        worker = self._flows.worker
        for id in worker.tables.keys() - {each.id for each in running if not each.paused}:
            worker.end(id)
        work = [each for each in collect_work(running) if not paused.issuperset(each.deployments)]
        self._flows.stepper.forget_except(work)
        self._flows.scheduler.assign(work)

    def readable(self, ref: str) -> Deployment:
        """The deployment of a reference (see `StateStore.find`). Raises NotFound, and Conflict if its tables
        are not complete yet or may be dropped already."""
        live = self.live()
        if ref == "live" and live is not None:
            return live
        found = self._store.find(ref)
        if found.state not in ("ready", "live", "previous"):
            raise Conflict(f"deployment {found.id} is {found.state}: it cannot be read")
        return found

    @contextmanager
    def reading(self, ref: str) -> Iterator[Deployment]:
        """The deployment of a reference; its tables are not dropped before the block ends. It is looked up again once
        its readers are counted, since it may have been retired in between. Raises what `readable` raises."""
        while True:
            deployment = self.readable(ref)
            with self.readers.reading(deployment.id):
                if self.readable(ref).id == deployment.id:
                    yield deployment
                    return

    def _grants_and_copies(self, live: Deployment | None) -> tuple[TokenGrants, Mapping[str, Copied]]:
        """The grants and the copies of the live deployment; both empty if its files cannot be read."""
        if live is None:
            return {}, {}
        try:
            project = self._projects.load(live).project
        except PenstockError:
            return {}, {}
        return collect_grants(project), {pipe.name: pipe.copies for pipe in project.pipes if pipe.copies is not None}
