"""The wiring of a running pipeline: opens its parts, starts them in order, stops them in reverse order.

In: the settings and the folder of the embedded state. Out: `Pipeline`, whose attributes are the parts that the HTTP
side calls. Invariant: the methods of the parts block and are thread-safe, and raise `PenstockError`s for whatever
a user did wrong.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.deploy.backup.backup import BackupSource, make_backup
from penstock.deploy.backup.layout import BackupInfo
from penstock.deploy.ingest.copy_jobs import CopyContext, CopyJobs
from penstock.deploy.ingest.copy_schedule import CopySchedule, RunSchedule
from penstock.deploy.ingest.event_ingestion import EventIngestion, landed_batch
from penstock.deploy.ingest.imports.file_import import ImportParts
from penstock.deploy.ingest.imports.file_imports import FileImports
from penstock.deploy.ingest.quarantine import Quarantines
from penstock.deploy.ingest.quarantine_replay import QuarantineReplay
from penstock.deploy.ingest.row_deletion import RowDeletion
from penstock.deploy.ingest.row_files.file_ingestion import FileIngestion
from penstock.deploy.ingest.row_rebuilds import RebuildContext, RowRebuilds
from penstock.deploy.ingest.row_replacement import RowReplacement
from penstock.deploy.ingest.row_traces import RowTraces, find_row_traces
from penstock.deploy.ingest.topics.topic_ingestion import TopicIngestion
from penstock.deploy.ingest.topics.topic_reading import TopicParts
from penstock.deploy.lifecycle.backfill import move_crashing_flows, move_slow_flow
from penstock.deploy.lifecycle.candidate_budget import CandidateBudget
from penstock.deploy.lifecycle.copy_on_write import drop_leftover_clones
from penstock.deploy.lifecycle.deployer import Deployer
from penstock.deploy.lifecycle.deployment_cleanup import DeploymentCleanup
from penstock.deploy.lifecycle.drift_watch import DriftWatch, find_drift
from penstock.deploy.lifecycle.rollback_window import RollbackWindow
from penstock.deploy.lifecycle.states import NOT_OVER
from penstock.deploy.maintenance.column_materialization import ColumnMaterializer
from penstock.deploy.maintenance.maintenance_runner import Maintenance
from penstock.deploy.monitor import MonitoredParts, PipelineMonitor
from penstock.deploy.ownership.storage_claim import claim_storage
from penstock.deploy.ownership.storage_records import StorageRecords
from penstock.deploy.parity.version_comparison import VersionComparison
from penstock.deploy.queries.call_log_writer import CallLogWriter
from penstock.deploy.queries.open_tables import OpenTables
from penstock.deploy.queries.reader import QueryReader
from penstock.deploy.queries.template_secrets import read_template_secrets
from penstock.deploy.runtime.active_readers import ActiveReaders
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.own_actions import record_own_action
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.reader_lease_record import ReaderLeaseRecord
from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.deploy.runtime.state_store import StateStore
from penstock.deploy.runtime.suspect_queries import SuspectQueries
from penstock.deploy.runtime.warehouse import Warehouse
from penstock.deploy.runtime_config import backfill_rate, inbox_folder, scheduler_limits, state_url, step_limits
from penstock.deploy.sinks.sink_jobs import SinkContext, SinkJobs
from penstock.deploy.status import pipeline_status
from penstock.deploy.worker.supervisor import SupervisorContext, WorkerSupervisor
from penstock.deploy.worker.trial_process import TrialOrder, TrialProcess
from penstock.errors import PenstockError
from penstock.flow.cautious_stepper import CautiousStepper
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.scheduler import Scheduler, SchedulerCallbacks
from penstock.flow.stepper import Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.flow.telemetry.step_times import StepTimes
from penstock.flow.throttle import BackfillThrottle
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.spark.errors import explain_error
from penstock.lake.spark.java_process import StartingJava
from penstock.lake.spark.memory_watch import MemoryWatch, SparkHeap
from penstock.lake.spark.reader_memory import ReaderMemory
from penstock.lake.spark.session import open_lake
from penstock.lake.tables import physical_tables
from penstock.model.pipe import Exported
from penstock.model.project import TokenGrants
from penstock.model.settings import Settings
from penstock.state.batches import Batch, BatchLog
from penstock.state.condemned_rows import CondemnedRows
from penstock.state.crash_counts import CrashCounts, QueryCrashes
from penstock.state.database import Database, open_database
from penstock.state.deployments import Deployments
from penstock.state.jobs import SINK, Jobs
from penstock.state.journal import Journal
from penstock.state.live_pointer import LivePointer
from penstock.state.logs.audit_log import AuditLog
from penstock.state.logs.call_log import CallLog
from penstock.state.logs.operations import OperationsLog
from penstock.state.logs.topic_reads import TopicReads
from penstock.state.made_tables import MadeTables
from penstock.state.positions.imported_files import ImportedFiles
from penstock.state.positions.topic_positions import TopicPositions
from penstock.state.reader_leases import ReaderLeases
from penstock.state.tokens import ApiToken, ApiTokens

SINKS = ".sinks"
"""The folder of the inbox for what sinks have not published yet; no stream can have this name."""
IMPORTS = ".imports"
"""The folder of the inbox for files while they are read; no stream can have this name."""
JOBS = ".jobs"
"""The folder of the inbox for rows that a copy job has read and not appended yet; no stream can have this name."""


def _do_nothing() -> None:
    """The start or stop of a part that needs none."""


SLOW_SECONDS = 0.2
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class PipelinePart:
    """A part of the pipeline: how it starts, and how it stops."""

    name: str
    start: Callable[[], object] = _do_nothing
    stop: Callable[[], object] = _do_nothing


def _start_parts(parts: Iterable[PipelinePart]) -> None:
    """Start the parts in order, and log which took long."""
    for part in parts:
        began = time.monotonic()
        part.start()
        if (seconds := time.monotonic() - began) >= SLOW_SECONDS:
            log.info("%s started in %.1f s", part.name, seconds)


class Pipeline:
    """Opens in the constructor (some seconds: Spark starts), runs until `close`."""

    def __init__(
        self, settings: Settings, home: Path, database: Database | None = None, java: StartingJava | None = None
    ):
        """`database` is the state store, if the caller has opened it and holds its lease; `java` a process for Spark
        that the caller has launched."""
        self._settings, self._home = settings, home
        self.database = database if database is not None else open_database(state_url(settings, home))
        claim_storage(settings, home, self.database)
        self.batches = BatchLog(self.database)
        self.core = core = self._open_core(settings, home, java)
        self.store, self.projects, self.audit = core.store, core.projects, core.store.audit
        self.deployer, self.reader, self.open_tables = Deployer(core), QueryReader(core), OpenTables(core)
        self.tokens = ApiTokens(self.database)
        self._open_ingestion(core, inbox_folder(settings, home))
        self._open_upkeep(core, inbox_folder(settings, home))
        self.monitor = PipelineMonitor(self._monitored_parts(), home)
        self._parts = self._list_parts()
        _start_parts(self._parts)

    def _open_ingestion(self, core: Core, folder: Path) -> None:
        """What brings rows in and takes rows out; `folder` is the inbox."""
        landed = partial(landed_batch, core.warehouse, core.board)
        self.inbox = Inbox(folder, self.batches, self._note_arrival, self._settings.inbox, landed)
        self.ingestion = EventIngestion(core.board, core.flows, self.inbox, self.batches)
        self.quarantines = Quarantines(core)
        self.replacement = RowReplacement(core, self.ingestion)
        self.deletion = RowDeletion(core, self.ingestion, self.replacement)
        self.copies, self.rebuilds = self._open_jobs(self._settings, folder / JOBS)
        self.sinks = self._open_sinks(folder / SINKS)
        self.copy_schedule = CopySchedule(core.store.jobs, self._scheduled_runs)
        parts = TopicParts(self.inbox, TopicPositions(self.database), core.store.topic_reads)
        self.topics = TopicIngestion(core.board, core.projects, parts, read_template_secrets())
        self.imports = self._open_imports(core, folder / IMPORTS)

    def _open_imports(self, core: Core, folder: Path) -> FileImports:
        least, most = self._settings.inbox.min_free_bytes, self._settings.copies.max_read_bytes
        files = ImportedFiles(self.database)
        parts = ImportParts(self.ingestion, files, self.batches.positions, folder, least, most)
        return FileImports(core.board, core.projects, parts, self._settings, read_template_secrets())

    def _open_upkeep(self, core: Core, folder: Path) -> None:
        """What watches, tidies and retires in the background; `folder` is the inbox."""
        settings, deployments = self._settings, core.store.deployments
        self.drift = DriftWatch(
            lambda: find_drift(core.warehouse.recorded, deployments.in_state(*NOT_OVER)), core.warehouse.recorded.save
        )
        self.materializer = ColumnMaterializer(
            core, SliceLimits(settings.flow.max_step_rows, settings.flow.max_step_bytes)
        )
        retire = record_own_action(self.audit, "retire", self.deployer.retire)
        self.rollback_window = RollbackWindow(core.store, settings.deploy.rollback_window_hours, retire)
        discard = record_own_action(self.audit, "discard", self.deployer.discard)
        self.deployment_cleanup = DeploymentCleanup(deployments, settings, discard, self.deployer.clean_up_ended)
        self.maintenance = Maintenance(core, self.batches, folder)
        self.candidate_budget = CandidateBudget(core, self.batches)

    def close(self) -> None:
        """Store what was posted, end the running steps, stop Spark."""
        for part in reversed(self._parts):
            part.stop()

    @property
    def ready(self) -> bool:
        return not self.core.flows.scheduler.stopping

    @property
    def jvm(self) -> int:
        """The process id of Spark's JVM."""
        return int(self.core.warehouse.lake.jvm)

    def back_up(self, destination: Path) -> BackupInfo:
        """Write a backup into a new folder of this machine. Raises InvalidRequest, Conflict, StorageFull, Failed."""
        return make_backup(BackupSource(self._settings, self._home, self.database, self.maintenance.held), destination)

    def row_traces(self, name: str) -> RowTraces:
        """What there is of the rows of a data source. Raises NotFound."""
        return find_row_traces(self.core, self.batches, name)

    def find_token(self, secret: str) -> ApiToken | None:
        """The token of a secret; a `declared` token has the grants of the TOKEN lines of the live version."""
        found = self.tokens.find(secret)
        return found.with_grants(self.grants) if found is not None else None

    @property
    def grants(self) -> TokenGrants:
        """What the TOKEN lines of the live version grant, by the name of the token."""
        return self.core.board.running.grants

    @property
    def files(self) -> FileIngestion:
        """Takes files of rows."""
        return FileIngestion(self.ingestion, self.replacement)

    @property
    def comparison(self) -> VersionComparison:
        """Compares two versions."""
        return VersionComparison(self.core, self.reader, self.deployer)

    @property
    def step_times(self) -> StepTimes:
        """How long the steps of flows took."""
        return self.core.flows.scheduler.times

    def status(self) -> dict[str, object]:
        """The status as it is now; `monitor` has one that waits for no store."""
        return pipeline_status(self.core, self.batches, self.drift.found, self.maintenance.counts)

    def _monitored_parts(self) -> MonitoredParts:
        return MonitoredParts(
            self.core,
            self.database,
            self.batches,
            self.inbox,
            lambda: self.drift.found,
            self.maintenance.counts,
            self.topics.statuses,
            self.imports.statuses,
        )

    def spark_ended(self) -> None:
        """After Spark's process has ended: count a crash for each flow whose step ran then, and for each query."""
        flows = self.core.flows
        flows.cautious.count_crashes(flows.scheduler.running_when_spark_ended)
        self.core.suspects.record_crash()

    def _list_parts(self) -> tuple[PipelinePart, ...]:
        """The parts in the order in which they start; they stop in reverse order."""
        core = self.core
        self.call_log_writer = CallLogWriter(core.store.calls)
        self.memory_watch = MemoryWatch(SparkHeap(core.warehouse.lake))
        self.reader_memory = ReaderMemory(core.warehouse.lake)
        return (
            PipelinePart("state store", stop=self.database.close),
            PipelinePart("operations log", core.store.operations.flush, core.store.operations.flush),
            PipelinePart("call log", self.call_log_writer.start, self.call_log_writer.stop),
            PipelinePart("Spark", stop=core.warehouse.lake.close),
            PipelinePart("memory watch", self.memory_watch.start, self.memory_watch.stop),
            PipelinePart("memory of readers", self.reader_memory.start, self.reader_memory.stop),
            PipelinePart("handlers", stop=self.reader.close),
            PipelinePart("deployments under way", stop=self.deployer.close),  # they end once the scheduler has stopped
            PipelinePart("deployment board", core.board.refresh),
            PipelinePart("drift watch", self.drift.start, self.drift.stop),
            PipelinePart("clones that a crash left", partial(drop_leftover_clones, core)),
            PipelinePart("flows that ended Spark before", partial(move_crashing_flows, core)),
            PipelinePart("scheduler", core.flows.scheduler.start, core.flows.scheduler.stop),
            PipelinePart("trial process", stop=core.flows.trials.close),
            PipelinePart("worker process", core.flows.worker.start, core.flows.worker.stop),
            PipelinePart("unfinished deployments", self.deployer.resume_unfinished),
            PipelinePart("column materializer", self.materializer.start, self.materializer.stop),
            PipelinePart("rollback window", self.rollback_window.start, self.rollback_window.stop),
            PipelinePart("deployment cleanup", self.deployment_cleanup.start, self.deployment_cleanup.stop),
            PipelinePart("candidate budget", self.candidate_budget.start, self.candidate_budget.stop),
            PipelinePart("maintenance", self.maintenance.start, self.maintenance.stop),
            PipelinePart("inbox", stop=self.inbox.close),
            PipelinePart("topics", self.topics.start, self.topics.stop),
            PipelinePart("files", self.imports.start, self.imports.stop),
            PipelinePart("monitor", self.monitor.start, self.monitor.stop),
            PipelinePart("copies", self.copies.start, self.copies.stop),
            PipelinePart("sinks", self.sinks.start, self.sinks.stop),
            PipelinePart("rebuilds", self.rebuilds.start, self.rebuilds.stop),
            PipelinePart("copy schedule", self.copy_schedule.start, self.copy_schedule.stop),
        )

    def _open_jobs(self, settings: Settings, folder: Path) -> tuple[CopyJobs, RowRebuilds]:
        store = self.core.store
        copies = CopyContext(
            store.jobs,
            store.operations,
            self.reader,
            self.ingestion,
            folder,
            settings.inbox.min_free_bytes,
            self.jvm,
            QuarantineReplay(self.core),
        )
        rebuilds = RebuildContext(store.jobs, store.deployments, self.deletion, self.ingestion, self.deployer)
        return CopyJobs(copies), RowRebuilds(rebuilds)

    def _open_sinks(self, folder: Path) -> SinkJobs:
        store, records = self.core.store, StorageRecords(self.database)

        def server() -> str:
            known = records.find("inbox")
            return known.uuid if known is not None else ""

        return SinkJobs(
            SinkContext(
                store.jobs,
                self.reader,
                lambda deployment: self.projects.load(deployment).connections,
                read_template_secrets(),
                self._settings,
                folder,
                server,
                self.jvm,
            )
        )

    def _scheduled_runs(self) -> dict[str, RunSchedule]:
        """The copies and sinks of live."""
        running = self.core.board.running
        runs = {name: RunSchedule("copy", each.datasource, each.schedule) for name, each in running.copies.items()}
        try:
            pipes = self.projects.load(running.live).project.pipes if running.live is not None else ()
        except PenstockError:
            return runs
        sinks = {pipe.name: pipe.exported.kind for pipe in pipes if pipe.exported is not None}
        return runs | {
            name: RunSchedule(SINK, kind.place, kind.schedule)
            for name, kind in sinks.items()
            if isinstance(kind, Exported) and kind.target is not None
        }

    def _open_core(self, settings: Settings, home: Path, java: StartingJava | None) -> Core:
        began = time.monotonic()
        lake, operations = open_lake(settings, home, java), OperationsLog(self.database)
        log.info("Spark started in %.1f s", time.monotonic() - began)
        recorded = RecordedTables(partial(physical_tables.load_table, lake), MadeTables(self.database))
        warehouse = Warehouse(lake, recorded, TableRegistry(lake))
        store = StateStore(
            Deployments(self.database),
            LivePointer(self.database),
            Journal(self.database),
            operations,
            CrashCounts(self.database),
            Jobs(self.database),
            AuditLog(self.database),
            CallLog(self.database, settings.maintenance.call_rows),
            TopicReads(self.database),
        )
        flows = self._open_flows(settings, home, warehouse, store)
        projects = ProjectCache()
        leases = ReaderLeaseRecord(ReaderLeases(self.database), float(settings.maintenance.reader_seconds))
        readers = ActiveReaders(self._clean_up_unread, leases)
        board, suspects = DeploymentBoard(store, flows, projects, readers), SuspectQueries(QueryCrashes(self.database))
        return Core(settings, warehouse, store, flows, board, projects, suspects)

    def _open_flows(self, settings: Settings, home: Path, warehouse: Warehouse, store: StateStore) -> RunningFlows:
        arrivals, registry = Arrivals(self.batches.heads()), warehouse.registry
        stepper = Stepper(
            warehouse.lake,
            registry,
            self.batches,
            inbox_folder(settings, home),
            step_limits(settings),
            store.operations,
            arrivals,
            BackfillThrottle(backfill_rate(settings), self._live_lag),
            warehouse.recorded,
            CondemnedRows(self.database),
        )
        callbacks = SchedulerCallbacks(
            split_required=self._split_deployments,
            outgrown=lambda work: move_slow_flow(self.core, work),
        )
        trials = TrialProcess(TrialOrder(home, settings, self.database.token))
        cautious = CautiousStepper(stepper, store.crash_counts, trials)
        scheduler = Scheduler(cautious, explain_error, callbacks, scheduler_limits(settings))
        registry.on_change = scheduler.table_changed
        worker = WorkerSupervisor(
            SupervisorContext(
                home,
                settings,
                self.database.token,
                scheduler,
                registry,
                store.crash_counts,
                self._live_lag,
                callbacks.split_required,
            )
        )
        return RunningFlows(registry, arrivals, stepper, cautious, scheduler, worker, trials)

    def _live_lag(self) -> float:
        """Seconds that the oldest row has waited which is not in live's tables yet; 0 before the first promotion."""
        live = self.core.board.live()
        return self.core.flows.lag(live.manifest) if live is not None else 0.0

    def _split_deployments(self, split: SplitRequired) -> None:
        self.deployer.on_split_required(split)

    def _clean_up_unread(self, deployment: int) -> None:
        self.deployer.clean_up_unread(deployment)

    def _note_arrival(self, batch: Batch) -> None:
        count = 1 if batch.replaces is None else batch.number - batch.replaces + 1
        self.core.flows.arrivals.add(batch.stream, batch.number, count)
        self.core.flows.scheduler.batch_arrived(batch.stream)
