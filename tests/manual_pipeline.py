"""A pipeline without threads, for tests that decide which flow takes its next step.

A restart throws away everything that is in memory, as the end of a server does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TypeAlias

from penstock.errors import Location
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.inbox.segments import Segments
from penstock.flow.lag import find_lags
from penstock.flow.landing.removal import Removal
from penstock.flow.stepper import StepLimits, Stepper
from penstock.flow.table_registry import TableRegistry
from penstock.flow.throttle import BackfillRate, BackfillThrottle
from penstock.flow.work_items import WorkItem, collect_work
from penstock.lake.drift.recorded_tables import RecordedTables
from penstock.lake.read.bindings import CurrentRows, binding_relation, merged_relation, rejected_relation
from penstock.lake.read.query_execution import QueryLimits, run_query
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.lake.tables.new_tables import create_table
from penstock.model.datasource import Text
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Binding, Manifest
from penstock.parse.project_loader import load_files
from penstock.plan.planner import PlanOptions, make_plan
from penstock.plan.steps import CreateTable
from penstock.sql.compile import compile_sql
from penstock.sql.spark_text import replace_placeholders
from penstock.state.batch_keys import BodyKey
from penstock.state.batches import BatchLog, RawFile
from penstock.state.condemned_rows import CondemnedRows
from penstock.state.database import open_database
from penstock.state.logs.operations import OperationsLog
from penstock.state.made_tables import MadeTables

LIMITS = StepLimits(rows=1_000_000, bytes=2**30, seconds_between=0.0)


def _bound(manifest: Manifest, name: str) -> Binding:
    binding = manifest.binding(name)
    assert binding is not None
    return binding


class ManualPipeline:
    """Deployments over one lake, advanced step by step. `prefix` keeps tests' tables apart."""

    def __init__(self, lake: Lake, folder: Path, prefix: str, files: Mapping[str, str]):
        self.lake = lake
        self.prefix = prefix
        self.inbox = folder / "inbox"
        self.segments = Segments(self.inbox)
        self.database = open_database(f"sqlite:///{folder / 'state.db'}")
        self.batches = BatchLog(self.database)
        self.deployments: list[Deployment] = []
        self.limits = LIMITS
        self.restart()
        self.first(files)

    def first(self, files: Mapping[str, str]) -> None:
        """Deploy a project to nothing; it is live at once."""
        loaded = load_files(files)
        assert not loaded.problems, [str(problem) for problem in loaded.problems]
        plan = make_plan(None, loaded.project, PlanOptions(self.prefix))
        assert not [problem for problem in plan.problems if problem.level == "error"], plan.problems
        for step in plan.steps:
            if isinstance(step, CreateTable):
                create_table(self.lake, step.table)
        self.add(plan.manifest, files, "live")

    def add(self, manifest: Manifest, files: Mapping[str, str], state: DeploymentState) -> None:
        now = datetime.now(timezone.utc)
        id = len(self.deployments) + 1
        self.deployments.append(Deployment(id, "", state, None, now, now, files, {}, manifest))

    def restart(self) -> None:
        """Forget all that is in memory."""
        self.registry = TableRegistry(self.lake)
        self.arrivals = Arrivals(self.batches.heads())
        recorded = RecordedTables(partial(physical_tables.load_table, self.lake), MadeTables(self.database))
        throttle = BackfillThrottle(BackfillRate(), lambda: 0.0)
        operations = OperationsLog(self.database)
        self.stepper = Stepper(
            self.lake,
            self.registry,
            self.batches,
            self.inbox,
            self.limits,
            operations,
            self.arrivals,
            throttle,
            recorded,
            CondemnedRows(self.database),
        )

    @property
    def live(self) -> Manifest:
        return next(each.manifest for each in self.deployments if each.state == "live")

    def post(self, stream: str, lines: Sequence[bytes]) -> None:
        """One batch."""
        made = self.segments.write(stream, lines)
        now = datetime.now(timezone.utc)
        batch = self.batches.append(stream, made.name, len(lines), made.bytes, now, (), made.digest)
        self.arrivals.add(stream, batch.number)

    def replace(self, stream: str, parts: Sequence[Sequence[bytes]]) -> None:
        """A replacement of one batch a part."""
        written = [self.segments.write(stream, lines) for lines in parts]
        files = [
            RawFile(each.name, len(lines), each.bytes, each.digest) for each, lines in zip(written, parts, strict=True)
        ]
        key = BodyKey(f"replacement {self.batches.head(stream)}")
        made = self.batches.append_replacement(stream, files, datetime.now(timezone.utc), key)
        self.arrivals.add(stream, made[-1].number, len(made))

    def remove(self, stream: str, removal: Removal) -> None:
        """A removal of rows that were posted before."""
        made = self.segments.write(stream, [removal.encode()])
        file, key = RawFile(made.name, 0, made.bytes, made.digest), BodyKey(f"removal {self.batches.head(stream)}")
        batch = self.batches.append_removal(stream, file, datetime.now(timezone.utc), key)
        self.arrivals.add(stream, batch.number)

    def runnable(self) -> list[WorkItem]:
        return [work for work in collect_work(self.deployments) if self.stepper.has_more(work)]

    def drain(self) -> None:
        """Step until nothing is left to do."""
        while works := self.runnable():
            for work in works:
                self.stepper.step(work)
        assert not find_lags(self.registry, self.live, self.batches.heads())

    def ask(self, text: str, deployment: int = 1) -> list[tuple[object, ...]]:
        """The answer to a query in ClickHouse's SQL, as a deployment gives it."""
        of = self.deployments[deployment - 1]
        query = compile_sql(load_files(of.files).project, Text(text, Location("query")), "clickhouse")
        relations = {}
        for read in query.reads:
            binding = _bound(of.manifest, read.datasource)
            relations[read.placeholder] = (
                merged_relation(binding) if read.final else binding_relation(binding, CurrentRows())
            )
        limits = QueryLimits(60.0, 10**6, 2**30)
        return list(run_query(self.lake.spark, replace_placeholders(query.sql, relations), query.columns, limits).rows)

    def read(self, name: str, columns: Iterable[str], deployment: int = 1) -> list[tuple[object, ...]]:
        """Rows of a data source (or quarantine) as a deployment sees them; `columns` are Spark SQL."""
        manifest = self.deployments[deployment - 1].manifest
        binding = manifest.binding(name)
        assert binding is not None
        source = (
            rejected_relation(binding, CurrentRows(), manifest.quarantined_table(binding))
            if binding in manifest.quarantines
            else binding_relation(binding, CurrentRows())
        )
        return [
            tuple(row) for row in self.lake.spark.sql(f"SELECT {', '.join(columns)} FROM {source} AS `t`").collect()
        ]


MakePipeline: TypeAlias = Callable[[Mapping[str, str]], ManualPipeline]
"""Makes a pipeline of a project, which is files by path."""
