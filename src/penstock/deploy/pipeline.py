"""A running pipeline: everything the server offers, opened from a project folder's settings.

In: settings and the folder of the embedded state. Out: `Pipeline`. Called by serve. Invariant:
each method is blocking and thread-safe, and raises nothing but `PenstockError`s for what a user did.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from penstock.deploy.ingest import event_ingestion
from penstock.deploy.ingest.copy_jobs import CopyContext, CopyJobs
from penstock.deploy.ingest.copy_schedule import CopySchedule
from penstock.deploy.ingest.event_ingestion import Receipt, landed_batch
from penstock.deploy.lifecycle.backfill import outgrow, spare_live
from penstock.deploy.lifecycle.deployer import Deployer, DeployOptions
from penstock.deploy.lifecycle.drift import DriftWatch, find
from penstock.deploy.lifecycle.progress import DeploymentEvent, deployment_events, fillings, waits
from penstock.deploy.lifecycle.rollback_window import RollbackWindow
from penstock.deploy.maintenance.column_materialization import ColumnMaterializer, share_of
from penstock.deploy.maintenance.maintenance_runner import Maintenance
from penstock.deploy.queries.reader import NONE, QueryReader, anything
from penstock.deploy.runtime.active_readers import ActiveReaders
from penstock.deploy.runtime.core import Board, Core
from penstock.deploy.runtime_config import inbox_of, limits_of, rate_of, state_url
from penstock.deploy.worker import supervisor
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.lag import find_lags
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.scheduler import Scheduler, SchedulerCallbacks
from penstock.flow.stepper import Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.flow.throttle import BackfillThrottle
from penstock.flow.work_items import PRIORITY, WorkItem
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.read.query import QueryResult
from penstock.lake.spark.errors import explain_error
from penstock.lake.spark.session import open_lake
from penstock.lake.tables import physical_tables
from penstock.model.deployment import Deployment
from penstock.model.settings import Settings
from penstock.state.batches import Batch, BatchLog
from penstock.state.crash_counts import CrashCounts
from penstock.state.database import Database, open_database
from penstock.state.deployments import Deployments
from penstock.state.jobs import Job, Jobs
from penstock.state.journal import Journal
from penstock.state.live_pointer import LivePointer
from penstock.state.made_tables import MadeTables
from penstock.state.operations import OperationsLog
from penstock.state.tokens import ApiToken, ApiTokens
from penstock.template.frame import Parameter

MOST_DAMAGED = 50
MOST_JOBS = 100
JOBS = ".jobs"
"""The folder of the inbox in which rows that a job has read wait; no stream can have this name."""


class Pipeline:
    """Opens in the constructor (some seconds: Spark starts), runs until `close`."""

    def __init__(self, settings: Settings, home: Path, database: Database | None = None):
        """`database` is the state store, if who calls has opened it and holds its lease."""
        self._database = database if database is not None else open_database(state_url(settings, home))
        self._core = self._made(settings, home)
        core = self._core
        self._batches = BatchLog(self._database)
        known = partial(landed_batch, core)
        self._inbox = Inbox(inbox_of(settings, home), self._batches, self._arrived, settings.inbox, known)
        self._deployer = Deployer(core)
        self._reader = QueryReader(core)
        self.tokens = ApiTokens(self._database)
        core.assign()
        self._settler = ColumnMaterializer(core, SliceLimits(settings.flow.max_step_rows, settings.flow.max_step_bytes))
        self._watch = DriftWatch(lambda: find(core.recorded, core.deployments.list()), core.recorded.save)
        self._watch.start()
        spare_live(core)
        core.scheduler.start()
        core.apart.start()
        self._deployer.resume()
        self._settler.start()
        self._window = RollbackWindow(core, self._deployer.retire)
        self._maintenance = Maintenance(core, self._batches, inbox_of(settings, home))
        self._copies = CopyJobs(CopyContext(core, self._reader, self._inbox, inbox_of(settings, home) / JOBS))
        self._schedule = CopySchedule(core.jobs, lambda: core.board.running.copies)
        for part in (self._window, self._maintenance, self._copies, self._schedule):
            part.start()

    def _made(self, settings: Settings, home: Path) -> Core:
        database, lake = self._database, open_lake(settings, home)
        batches, registry, operations = BatchLog(database), TableRegistry(lake), OperationsLog(database)
        arrivals, attempts = Arrivals(batches.heads()), CrashCounts(database)
        recorded = RecordedTables(partial(physical_tables.load_table, lake), MadeTables(database))
        stepper = Stepper(
            lake, registry, batches, inbox_of(settings, home), limits_of(settings), operations,
            arrivals, BackfillThrottle(rate_of(settings), self._live_lag), recorded,
        )  # fmt: skip
        told = SchedulerCallbacks(self._diverged, self._outgrown, lambda work: attempts.lived(work.key))
        scheduler = Scheduler(stepper, explain_error, told, float(settings.flow.staging_step_seconds))
        around = supervisor.SupervisorContext(
            home, settings, database.token, scheduler, registry, attempts, self._live_lag, self._diverged
        )
        return Core(
            settings, lake, recorded, registry, arrivals, stepper, scheduler,
            Deployments(database), LivePointer(database), Journal(database), operations, attempts,
            supervisor.WorkerSupervisor(around), ActiveReaders(self._idle), Board(), Jobs(database),
        )  # fmt: skip

    @property
    def ready(self) -> bool:
        return not self._core.scheduler.stopping

    @property
    def jvm(self) -> int:
        """The process id of Spark's JVM."""
        return int(self._core.lake.jvm)

    def close(self) -> None:
        """Keep what was posted, end the steps under way, stop Spark."""
        self._schedule.stop()
        self._copies.stop()
        self._inbox.close()
        self._maintenance.stop()
        self._window.stop()
        self._settler.stop()
        self._watch.stop()
        self._core.apart.stop()
        self._core.scheduler.stop()
        self._deployer.close()
        self._core.lake.close()
        self._database.close()

    def token(self, secret: str) -> ApiToken | None:
        """The token of a secret; one that is `declared` with what TOKEN lines of the live version grant it."""
        found = self.tokens.find(secret)
        return found.granted(self._core.board.running.grants) if found is not None else None

    def append(self, name: str, body: bytes, key: str | None) -> Receipt:
        """Durable on return. Raises NotFound, InvalidRequest, TooLarge."""
        return event_ingestion.append(self._core, self._inbox, name, body, key)

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        """Until the receipt's rows are queryable in live, in every table below. Raises Timeout."""
        return event_ingestion.wait(self._core, receipt, timeout)

    def sql(
        self,
        text: str,
        deployment: str,
        may: Callable[[str], bool] = anything,
        parameters: Mapping[str, Parameter] = NONE,
    ) -> QueryResult:
        """Answer a SELECT of what may be read; `parameters` are for one that is a template. Raises InvalidQuery,
        InvalidRequest, NotFound, Forbidden, Timeout, TooLarge."""
        return self._reader.sql(text, deployment, may, parameters)

    def endpoint(self, name: str, parameters: Mapping[str, Parameter], deployment: str) -> QueryResult:
        """Answer an endpoint. Raises NotFound, InvalidRequest, InvalidQuery."""
        return self._reader.endpoint(name, parameters, deployment)

    def copy(self, name: str, parameters: Mapping[str, Parameter]) -> Job:
        """Run a copy of the live version. Raises NotFound, InvalidRequest, InvalidQuery."""
        return self._copies.run(name, parameters)

    def jobs(self) -> tuple[Job, ...]:
        """The newest first."""
        return self._core.jobs.recent(MOST_JOBS)

    def job(self, id: int) -> Job:
        """Raises NotFound."""
        return self._core.jobs.get(id)

    def cancel(self, id: int) -> Job:
        """Raises NotFound, Conflict."""
        return self._copies.cancel(id)

    def deploy(self, files: Mapping[str, str], options: DeployOptions) -> Deployment:
        """Plan and start (or only plan). Raises InvalidProject."""
        return self._deployer.deploy(files, options)

    def deployments(self) -> tuple[Deployment, ...]:
        return tuple(self._core.deployments.list())

    def deployment(self, ref: str) -> Deployment:
        """By id, name, live, staging or previous. Raises NotFound."""
        return self._core.find(ref)

    def promote(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.promote(ref)

    def discard(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.discard(ref)

    def rollback(self) -> Deployment:
        """Raises Conflict."""
        return self._deployer.rollback()

    def retire(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.retire(ref)

    def pause(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.pause(ref)

    def resume(self, ref: str | None) -> Deployment:
        """Raises Conflict, NotFound."""
        return self._deployer.go_on(ref)

    def events(self, id: int) -> Iterator[DeploymentEvent]:
        """What the deployment does, until it comes to rest. Raises NotFound."""
        self._core.deployments.get(id)
        return deployment_events(self._core, id)

    def status(self) -> dict[str, object]:
        """What runs, how far it is and what fails, as JSON values."""
        core = self._core
        heads = core.arrivals.heads
        return {
            "streams": dict(heads),
            "deployments": [_deployment_status(core, each, heads) for each in core.board.running.deployments],
            "apart": {"process": core.apart.process, "tables": sorted(frozenset().union(*core.apart.tables.values()))},
            "failures": [
                {"table": table, "flow": flow, "message": failure.message, "attempts": failure.attempts}
                for (table, flow), failure in core.scheduler.failures.items()
            ],
            "damaged": [
                {"stream": each.stream, "batch": each.number, "rows": each.rows, "damage": each.damage}
                for each in self._batches.condemned(MOST_DAMAGED)
            ],
            "drift": [each.as_json() for each in self._watch.found],
            "maintenance": self._maintenance.counts.as_json(),
        }

    def spark_ended(self) -> None:
        """Note what was under way, for versions that are not live, when Spark's process ended."""
        core = self._core
        core.attempts.died([work.key for work in core.scheduler.under_way if work.priority > PRIORITY["previous"]])

    def _live_lag(self) -> float:
        live = self._core.live()
        return self._core.lag(live.manifest) if live is not None else 0.0

    def _idle(self, deployment: int) -> None:
        self._deployer.idle(deployment)

    def _outgrown(self, work: WorkItem) -> bool:
        return outgrow(self._core, work)

    def _diverged(self, parting: SplitRequired) -> None:
        self._deployer.diverged(parting)

    def _arrived(self, batch: Batch) -> None:
        self._core.arrivals.add(batch.stream, batch.number)
        self._core.scheduler.wake()


def _deployment_status(core: Core, deployment: Deployment, heads: Mapping[str, int]) -> dict[str, object]:
    late = find_lags(core.registry, deployment.manifest, heads)
    return {
        "id": deployment.id,
        "name": deployment.name,
        "state": deployment.state,
        "paused": deployment.paused,
        "tables": {
            bound.name: {
                "table": bound.table,
                "rows": core.registry.snapshots(bound.table).rows,
                "settled": share_of(bound),
            }
            for bound in deployment.manifest.bindings
        },
        "behind": [
            {"table": each.table, "flow": each.flow, "stream": each.stream, "batches": each.head - each.at}
            for each in late
        ],
        "filling": [each.data for each in fillings(core, deployment) if not each.done and each.all.rows],
        "waits": waits(core, deployment),
    }
