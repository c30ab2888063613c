"""The parts that move rows, and how far a version of the pipeline lags behind the batch log.

In: the scheduler, its stepper and the worker process. Out: `RunningFlows`: tables held exclusively, late and failing
flows, lag in seconds. Invariant: while a table is held exclusively, no other part writes it, in either process.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.deploy.worker.supervisor import WorkerSupervisor
from penstock.deploy.worker.trial_process import TrialProcess
from penstock.flow.cautious_stepper import CautiousStepper
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.lag import FlowLag, blocked_tables, find_lags
from penstock.flow.scheduler import Scheduler
from penstock.flow.stepper import Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.model.manifest import Manifest


@dataclass(frozen=True, slots=True)
class RunningFlows:
    """The parts that move rows."""

    registry: TableRegistry
    arrivals: Arrivals
    """The batches that arrived."""
    stepper: Stepper
    """Runs one step of a flow."""
    cautious: CautiousStepper
    """Runs one step of a flow that may end Spark's process, or of any other."""
    scheduler: Scheduler
    """Decides which flow is stepped next."""
    worker: WorkerSupervisor
    """Fills large histories in a worker process."""
    trials: TrialProcess
    """Runs what may end Spark's process."""

    @contextmanager
    def exclusive(self, tables: Collection[str]) -> Iterator[None]:
        """Lock the tables for the block: running steps that write them end first, and none begins before the block
        ends."""
        with self.worker.halted(tables), self.scheduler.exclusive(tables):
            yield

    def failing(self, attempts: int = 1) -> frozenset[tuple[str, str]]:
        """The flows, as (table, flow), whose last `attempts` steps all failed."""
        return frozenset(key for key, failure in self.scheduler.failures.items() if failure.attempts >= attempts)

    def late(
        self, manifest: Manifest, heads: Mapping[str, int], excused: Collection[tuple[str, str]]
    ) -> tuple[FlowLag, ...]:
        """The flows of a version that have not reached the batch numbers in `heads`, without the tables that the
        `excused` flows block: a failing branch must not prevent the promotion of the version that corrects it."""
        blocked = blocked_tables(manifest, excused) if excused else ()
        return tuple(each for each in find_lags(self.registry, manifest, heads) if each.table not in blocked)

    def lag(self, manifest: Manifest) -> float:
        """Seconds that the oldest row has waited which is not in all tables of a version yet; tables that failing flows
        block do not count."""
        late = self.late(manifest, self.arrivals.heads, self.failing())
        return max((self.arrivals.seconds_waiting(each.stream, each.at) for each in late), default=0.0)
