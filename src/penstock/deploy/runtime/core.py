"""The parts of a running pipeline that the deployer works on, in one frozen value.

In: what `pipeline` opened. Out: `Core`. Called by the modules of deploy. Invariant: holds
references only; every decision is in the module that takes it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

from penstock.deploy.runtime.active_readers import ActiveReaders
from penstock.deploy.worker.supervisor import WorkerSupervisor
from penstock.errors import Conflict, NotFound, PenstockError, did_you_mean
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.lag import FlowLag, blocked_tables, find_lags
from penstock.flow.scheduler import Scheduler
from penstock.flow.stepper import Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.flow.work_items import collect_work
from penstock.integer_parsing import parse_whole_number
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.spark.session import Lake
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest
from penstock.model.pipe import Copied
from penstock.model.settings import Settings
from penstock.model.token_grants import TokenGrants, collect_grants
from penstock.parse.project_loader import load_files
from penstock.state.crash_counts import CrashCounts
from penstock.state.deployments import Deployments
from penstock.state.jobs import Jobs
from penstock.state.journal import Journal
from penstock.state.live_pointer import LivePointer
from penstock.state.operations import OperationsLog
from penstock.state.schema import MAX_ROW_ID


@dataclass(frozen=True, slots=True)
class RunningDeployments:
    """The running deployments, which of them is live, what its TOKEN lines grant and its copies, as of one moment."""

    deployments: tuple[Deployment, ...] = ()
    live: Deployment | None = None
    grants: TokenGrants = field(default_factory=dict)
    copies: Mapping[str, Copied] = field(default_factory=dict)


class Board:
    """Where the current `Running` hangs: readers take it whole, a switch replaces it whole."""

    def __init__(self) -> None:
        self.running = RunningDeployments()


@dataclass(frozen=True, slots=True)
class Core:
    """The lake, the flows and the records that deployments change."""

    settings: Settings
    lake: Lake
    recorded: RecordedTables
    registry: TableRegistry
    arrivals: Arrivals
    stepper: Stepper
    scheduler: Scheduler
    deployments: Deployments
    pointer: LivePointer
    journal: Journal
    operations: OperationsLog
    attempts: CrashCounts
    apart: WorkerSupervisor
    readers: ActiveReaders
    board: Board
    jobs: Jobs

    def assign(self) -> None:
        """Run the flows of the deployments that are running now, and show readers those."""
        running = tuple(self.deployments.running())
        pointed = self.pointer.read().live
        live = next((each for each in running if each.id == pointed), None)
        self.board.running = RunningDeployments(running, live, *self._said(live))
        paused = {each.id for each in running if each.paused}
        for id in self.apart.tables.keys() - {each.id for each in running if not each.paused}:
            self.apart.end(id)
        self.scheduler.assign([work for work in collect_work(running) if not paused.issuperset(work.deployments)])

    def _said(self, live: Deployment | None) -> tuple[TokenGrants, Mapping[str, Copied]]:
        """What live grants, and its copies. Files of a deployment never change, so they are read once. What cannot
        be read says nothing."""
        if live is None:
            return {}, {}
        before = self.board.running
        if before.live is not None and before.live.id == live.id:
            return before.grants, before.copies
        try:
            project = load_files(live.files).project
        except PenstockError:
            return {}, {}
        return collect_grants(project), {pipe.name: pipe.copies for pipe in project.pipes if pipe.copies is not None}

    @contextmanager
    def exclusive(self, tables: Collection[str]) -> Iterator[None]:
        """Hold the tables: whatever writes them ends first, and nothing begins until the block ends."""
        taken = set(tables)
        apart = any(taken & theirs for theirs in self.apart.tables.values())
        with self.apart.halted() if apart else nullcontext(), self.scheduler.exclusive(taken):
            yield

    def failing(self, attempts: int = 1) -> frozenset[tuple[str, str]]:
        """The flows that failed so often in a row, as table and flow."""
        return frozenset(key for key, failure in self.scheduler.failures.items() if failure.attempts >= attempts)

    def late(
        self, manifest: Manifest, heads: Mapping[str, int], excused: Collection[tuple[str, str]]
    ) -> tuple[FlowLag, ...]:
        """What a version lacks up to these batches, but for what waits for the excused flows: a branch
        that fails goes on when it is mended, and must not keep anybody from mending it."""
        held = blocked_tables(manifest, excused) if excused else ()
        return tuple(each for each in find_lags(self.registry, manifest, heads) if each.table not in held)

    def lag(self, manifest: Manifest) -> float:
        """The seconds that the first row has waited which a version lacks (where its flows do not fail)."""
        late = self.late(manifest, self.arrivals.heads, self.failing())
        return max((self.arrivals.waited(each.stream, each.at) for each in late), default=0.0)

    def live(self) -> Deployment | None:
        return self.board.running.live

    def find(self, ref: str) -> Deployment:
        """`live`, `staging` (the newest that is not live yet), `previous`, an id or a name.

        Raises NotFound with what there is.
        """
        pointed = self.pointer.read()
        match ref:
            case "live" | "previous":
                found = pointed.live if ref == "live" else pointed.previous
                if found is None:
                    raise NotFound(f"there is no {ref} deployment")
                return self.deployments.get(found)
            case "staging":
                return self._staging()
        number = parse_whole_number(ref)
        if number is not None and number <= MAX_ROW_ID:
            return self.deployments.get(number)
        named = [each for each in self.deployments.list() if each.name == ref]
        if not named:
            known = ["live", "staging", "previous", *(each.name for each in self.deployments.list())]
            raise NotFound(f"there is no deployment `{ref}`", hint=did_you_mean(ref, known))
        return named[0]

    def readable(self, ref: str) -> Deployment:
        """The same, if its tables can be read. Raises Conflict where they cannot yet or any more."""
        live = self.live()
        if ref == "live" and live is not None:
            return live
        found = self.find(ref)
        if found.state not in ("ready", "live", "previous"):
            raise Conflict(f"deployment {found.id} is {found.state}: it cannot be read")
        return found

    def _staging(self) -> Deployment:
        for state in ("ready", "backfilling", "preparing", "planned", "failed"):
            found = [each for each in self.deployments.list() if each.state == state]
            if found:
                return found[0]
        raise NotFound("there is no staging deployment", hint="`penstock deploy --no-promote` makes one")
