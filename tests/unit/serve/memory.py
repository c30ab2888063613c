"""A pipeline in memory with the parts of `deploy.pipeline.Pipeline`: rows are kept in lists and queries
run on SQLite, so the HTTP side is tested without a JVM."""

from __future__ import annotations

import json
import re
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

from penstock.deploy.backup.layout import BackupInfo
from penstock.deploy.figures import PipelineFigures
from penstock.deploy.ingest.imports.file_import import ImportStatus
from penstock.deploy.ingest.imports.file_imports import ImportReport
from penstock.deploy.ingest.quarantine import QuarantineReport, Reason
from penstock.deploy.ingest.row_files.csv_rows import CsvForm
from penstock.deploy.ingest.row_rebuilds import RebuildContext, RowRebuilds
from penstock.deploy.ingest.row_traces import CopiedRows, DerivedRows, RowTraces
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.lifecycle.repeated_deployment import RepeatedCall, find_repeated
from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.deploy.queries.caller_rights import CallerRights
from penstock.deploy.queries.open_namespaces import OpenNamespaces
from penstock.deploy.runtime.background_reading import Reading
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.errors import (
    Conflict,
    InvalidProject,
    InvalidQuery,
    InvalidRequest,
    NotFound,
    Problem,
    Timeout,
    did_you_mean,
)
from penstock.lake.open_tables.version_metadata import VersionMetadata
from penstock.model.cursor import PostTerms, SourceSpan
from penstock.model.deployment import CANDIDATES, Deployment, DeploymentState
from penstock.model.manifest import Binding, BoundColumn, Manifest
from penstock.model.types import Float, Int, Nullable, String, Type
from penstock.parse.project_loader import load_files
from penstock.plan.parity.report import ParityReport, TablePairReport
from penstock.serve.http.request_parameters import parameter_texts
from penstock.state.jobs import Job, Jobs
from penstock.state.logs.audit_log import AuditLog
from penstock.state.logs.call_log import CallLog
from penstock.state.positions.imported_files import ImportedFile
from penstock.state.positions.stream_positions import StoredPosition
from penstock.state.tokens import ApiToken, ApiTokens
from penstock.template.render_frame import Parameter
from unit.serve.sample_figures import sample_figures, sample_health, sample_step_times
from unit.serve.sample_parity import PAIR

TYPES: Mapping[type, Type] = {int: Int(64), float: Float(64), str: String(), type(None): Nullable(String())}


@dataclass(frozen=True)
class Receipt:
    stream: str
    batch: int
    successful_rows: int
    quarantined_rows: int


@dataclass(frozen=True)
class Result:
    columns: tuple[tuple[str, Type], ...]
    rows: list[tuple[object, ...]]
    elapsed: float = 0.01
    rows_read: int = 3
    bytes_read: int = 42
    totals: tuple[object, ...] | None = None
    size: int = 0
    is_cut: bool = False
    age: float | None = None
    deployment: int | None = 4


@dataclass(frozen=True)
class Event:
    kind: str
    at: float
    data: dict[str, object]


class MemoryComparison:
    """A comparison whose report a test gives, and which keeps what it was asked."""

    def __init__(self, pipeline: MemoryPipeline):
        self.asked: list[tuple[str, str, ComparisonScope]] = []
        self.report: ParityReport | None = None
        self._pipeline = pipeline

    def compare(self, left: str, right: str, scope: ComparisonScope) -> ParityReport:
        self.asked.append((left, right, scope))
        if self.report is None:
            raise Conflict("the versions were not compared: they did not reach the same batches")
        return self.report

    def compare_tables(self, ref: str, left: str, right: str, scope: ComparisonScope) -> TablePairReport:
        self.asked.append((left, right, scope))
        return PAIR if ref == "live" else replace(PAIR, deployment=replace(PAIR.deployment, state=ref))

    def promote(self, ref: str, scope: ComparisonScope) -> Deployment:
        if differences := self.compare("live", ref, scope).differences:
            raise Conflict(f"deployment {ref} was not made live: there is a difference", differences)
        return self._pipeline.promote(ref)


class MemoryPipeline:
    """One object that stands for every part of a pipeline."""

    def __init__(self, tokens: ApiTokens):
        self.deployer = self.reader = self.ingestion = self.copies = self.sinks = self.store = self
        self.quarantines = self.replacement = self.deletion = self
        self.files = SimpleNamespace(append=self.append_file, replace=self.append_file)
        self.files_sent: list[tuple[bytes, CsvForm]] = []
        self.projects = ProjectCache()
        self.open_tables = SimpleNamespace(namespaces=OpenNamespaces(self), load=self.load_table)  # type: ignore[arg-type]
        self.deployments = SimpleNamespace(list=self.list_deployments, get=lambda id: self.find(str(id)))
        self.pointer = SimpleNamespace(
            read=lambda: SimpleNamespace(live=self._live[-1] if self._live else None, previous=None)
        )
        self.comparison = MemoryComparison(self)
        self.jobs = SimpleNamespace(recent=self.recent_jobs, get=self.get_job, ranges_of=self.ranges_of)
        deployments, rebuild = SimpleNamespace(in_state=self.in_state), SimpleNamespace(rebuild_once=self.rebuild_once)
        self._rebuild_jobs = Jobs(tokens._database)
        context = RebuildContext(self._rebuild_jobs, deployments, self, self, rebuild)  # type: ignore[arg-type]
        self.rebuilds = RowRebuilds(context)
        self.tokens = tokens
        self.monitor = self
        self.health = sample_health()
        self._looks = 3
        self.imports = SimpleNamespace(
            files=self.imported_files, look_now=self.look_for_files, try_again=lambda name: 0
        )
        self.topics = SimpleNamespace(statuses=lambda: sample_figures().topics, skip_missing=self.skip_missing)
        self.step_times = sample_step_times()
        self.audit = AuditLog(tokens._database)
        self.calls = CallLog(tokens._database, 1_000)
        self.grants: dict[str, tuple[str, ...]] = {}
        self.ready = True
        self.read = {"org", "paid"}
        """The parameters that the endpoint reads."""
        self.rows: dict[str, list[bytes]] = {"flights": []}
        self.keys: dict[str, Receipt] = {}
        self.terms: list[PostTerms] = []
        self.patience = True
        self.unchanged = False
        """Whether a project that is sent equals what is live."""
        self.asked: list[tuple[str, str]] = []
        self.left: dict[str, int] = {}
        """The batches that are accepted and not landed."""
        self._deployments: list[Deployment] = []
        self._live: list[int] = []
        self._jobs: list[Job] = []

    def back_up(self, destination: Path) -> BackupInfo:
        if not destination.is_absolute():
            raise InvalidRequest("the folder of a backup is an absolute path")
        return BackupInfo(1, "0", datetime.now(timezone.utc), "/w", 1, 2, 3, 4)

    def find_token(self, secret: str) -> ApiToken | None:
        found = self.tokens.find(secret)
        return found.with_grants(self.grants) if found is not None else None

    def append(self, name: str, body: bytes, key: str | None) -> Receipt:
        if name not in self.rows:
            raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, self.rows))
        if key is not None and key in self.keys:
            return self.keys[key]
        lines = [line for line in body.split(b"\n") if line.strip()]
        good = [line for line in lines if self._is_row(line)]
        if not lines or (not good and not any(line.lstrip()[:1] in (b"{", b"[") for line in lines)):
            raise InvalidRequest("the body holds no JSON")
        self.rows[name] += lines
        receipt = Receipt(name, len(self.rows[name]), len(good), len(lines) - len(good))
        if key is not None:
            self.keys[key] = receipt
        return receipt

    def append_on_terms(self, name: str, body: bytes, terms: PostTerms) -> Receipt:
        self.terms.append(terms)
        return self.append(name, body, terms.key)

    def positions(self, name: str) -> list[StoredPosition]:
        self.count(name, "")
        return [
            StoredPosition(each.span.source, each.span.upto, number)
            for number, each in enumerate(self.terms, 1)
            if each.span is not None
        ]

    def unlanded(self, deployment: Deployment) -> dict[str, int]:
        return self.left

    def append_file(self, name: str, content: bytes, form: CsvForm, key: str) -> Receipt:
        self.files_sent.append((content, form))
        return Receipt(name, len(self.files_sent), 1, 0)

    def _is_row(self, line: bytes) -> bool:
        try:
            return isinstance(json.loads(line), dict)
        except (ValueError, RecursionError):
            return False

    def replace(self, name: str, body: bytes, key: str) -> Receipt:
        before = self.rows.get(name, [])
        if name in self.rows and key not in self.keys:
            self.rows[name] = []
        try:
            return self.append(name, body, key)
        except InvalidRequest:
            self.rows[name] = before
            raise

    def truncate(self, name: str, key: str, span: SourceSpan | None = None) -> Receipt:
        self.rows[name] = []
        self.terms.append(PostTerms(None, span))
        return Receipt(name, 1, 0, 0)

    def count(self, name: str, where: str) -> int:
        if name not in self.rows:
            raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, self.rows))
        return sum(where.encode() in line for line in self.rows[name])

    def delete(self, name: str, where: str, key: str) -> Receipt:
        self.rows[name] = [line for line in self.rows[name] if where.encode() not in line]
        return Receipt(name, 1, 0, 0)

    def row_traces(self, name: str) -> RowTraces:
        if name not in self.rows:
            raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, self.rows))
        rows = len(self.rows[name])
        derived, copied = (DerivedRows("daily", 2),), (CopiedRows("shots", "snap", "append"),)
        return RowTraces(rows, derived, copied, 1, rows, datetime.now(timezone.utc), 600, (1,))

    def rebuild(self, name: str, options: DeployOptions) -> Deployment | None:
        if name == "alone":
            return None
        if b"kept" in self.rows[name] and not options.allow_destructive:
            problem = Problem("rebuild-differs", "`daily` would lose rows")
            raise InvalidProject(f"`daily` cannot be rebuilt from `{name}` as it is", [problem])
        found = self.deploy({}, options)
        resources = [{"name": "daily", "strategy": "recompute"}, {"name": name, "strategy": "none"}]
        made = replace(found, plan={**found.plan, "resources": resources})
        self._deployments = [made if each.id == made.id else each for each in self._deployments]
        return made

    def rebuild_once(self, name: str, since: datetime, *, promote: bool) -> Deployment | None:
        return self.rebuild(name, DeployOptions(promote=promote, allow_destructive=True))

    def in_state(self, *states: str) -> tuple[Deployment, ...]:
        return tuple(each for each in self._deployments if each.state in states)

    def check(self, name: str, where: str) -> None:
        """A deletion can be carried out."""

    def describe(self, name: str, ref: str, rows: int) -> QuarantineReport:
        if name not in self.rows:
            raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, self.rows))
        bad = [line for line in self.rows[name] if not self._is_row(line)]
        newest = tuple((datetime.now(timezone.utc), line.decode(), ["not JSON"]) for line in bad[:rows])
        return QuarantineReport(len(bad), (Reason(None, "not JSON", len(bad)),) if bad else (), newest)

    def clear(self, name: str) -> int:
        bad = self.describe(name, "live", 0).rows
        self.rows[name] = [line for line in self.rows[name] if self._is_row(line)]
        return bad

    def imported_files(self, name: str, limit: int) -> ImportReport:
        if name != "visits":
            raise NotFound(f"`{name}` takes no files")
        status = ImportStatus(name, "s3://b/*.csv", "@auto", "idle", looks=self._looks, served=self._looks)
        now = datetime.now(timezone.utc)
        file = ImportedFile(1, "s3://b/x.csv", "m", "failed", None, 7, 2, "it cannot be unpacked", now, now)
        return ImportReport(status, {"failed": 1, "done": 3}, (file,))

    def look_for_files(self, name: str) -> int:
        self.imported_files(name, 0)
        self._looks += 1
        return self._looks

    def skip_missing(self, name: str) -> Mapping[int, tuple[int, int]]:
        if name != "visits":
            raise NotFound(f"`{name}` reads no topic")
        return {0: (3, 7)}

    def replay(self, name: str) -> Job:
        self.describe(name, "live", 0)
        now, number = datetime.now(timezone.utc), len(self._jobs) + 1
        self._jobs.append(Job(number, "replay", f"{name}_quarantine", name, "waiting", {}, None, now, now))
        return self._jobs[-1]

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        if not self.patience:
            raise Timeout("the rows are kept but not queryable yet")
        return receipt

    def sql(
        self,
        text: str,
        deployment: str,
        rights: CallerRights,
        given: Mapping[str, object],
        row_limit: int | None = None,
    ) -> Result:
        self.asked.append((text, deployment))
        for name in re.findall(r"FROM (\w+)", text):
            rights.check_name(name)
        try:
            cursor = sqlite3.connect(":memory:").execute(text)
        except (sqlite3.Error, ValueError, sqlite3.Warning) as error:
            raise InvalidQuery(str(error)) from error
        rows = cursor.fetchall()
        is_cut = row_limit is not None and len(rows) > row_limit
        rows = rows[:row_limit]
        names = [each[0] for each in cursor.description or ()]
        types = [TYPES.get(type(value), String()) for value in (rows[0] if rows else [""] * len(names))]
        return Result(tuple(zip(names, types, strict=True)), rows, is_cut=is_cut)

    def endpoint(self, name: str, parameters: Mapping[str, Parameter], deployment: str, rights: CallerRights) -> Result:
        if name != "top":
            raise NotFound(f"there is no endpoint `{name}`", hint=did_you_mean(name, ["top"]))
        rights.check_fixed(name, self.read)
        if "old" in parameters:
            return replace(self.sql("SELECT 1 AS a", deployment, rights, {}), age=2.9)
        columns = (("deployment", String()), ("parameters", String()))
        given = {**parameters, **rights.fixed}
        return Result(columns, [(deployment, json.dumps(parameter_texts(given)))])

    def has_parameter(self, name: str, parameter: str, deployment: str) -> bool:
        return parameter in self.read

    def explain_endpoint(
        self, name: str, parameters: Mapping[str, Parameter], deployment: str, rights: CallerRights
    ) -> Result:
        rights.check_name("hits")
        return Result((("explain", String()),), [("Spark SQL:",)])

    def run(self, name: str, parameters: Mapping[str, Parameter], ref: str = "live", token: str = "") -> Job:
        """Done when it is asked for once more, unless its parameters say otherwise."""
        if name != "take":
            raise NotFound(f"there is no copy `{name}`", hint=did_you_mean(name, ["take"]))
        now, number = datetime.now(timezone.utc), len(self._jobs) + 1
        made = Job(number, "copy", name, "flights", "waiting", parameter_texts(parameters), None, now, now)
        self._jobs.append(made)
        return made

    def run_range(self, name: str, parameters: Mapping[str, Parameter]) -> Job:
        given = parameter_texts(parameters)
        same = (job for job in reversed(self._jobs) if (job.kind, job.pipe, job.parameters) == ("range", name, given))
        found = next(same, None)
        if found is not None and found.state in ("waiting", "done"):
            return found
        self._jobs.append(replace(self.run(name, parameters), kind="range"))
        del self._jobs[-2]
        return self._jobs[-1]

    def ranges_of(self, name: str) -> tuple[Job, ...]:
        return tuple(job for job in self._jobs if (job.kind, job.pipe) == ("range", name))

    def recent_jobs(self, most: int) -> tuple[Job, ...]:
        return tuple(reversed(self._jobs))

    def get_job(self, id: int) -> Job:
        if not self._jobs:
            return self._rebuild_jobs.get(id)
        if not 0 < id <= len(self._jobs):
            raise NotFound(f"there is no job {id}")
        found = self._jobs[id - 1]
        if found.state == "waiting" and "fails" in found.parameters:
            found = replace(found, state="failed", error=InvalidQuery("no such row").as_json())
        elif found.state == "waiting":
            found = replace(found, state="done", rows=3, deployment=1)
        self._jobs[id - 1] = found
        return found

    def cancel(self, id: int) -> Job:
        if not 0 < id <= len(self._jobs) or self._jobs[id - 1].state != "waiting":
            raise Conflict(f"job {id} cannot be cancelled")
        cancelled = self._jobs[id - 1] = replace(self._jobs[id - 1], state="cancelled")
        return cancelled

    def deploy(self, files: Mapping[str, str], options: DeployOptions) -> Deployment:
        loaded = load_files(files)
        if loaded.errors:
            raise InvalidProject("the project has problems", loaded.problems)
        bindings = tuple(
            Binding(each.name, each.name, tuple(BoundColumn(one.name, one.type, one.name) for one in each.columns))
            for each in loaded.project.datasources
        )
        now = datetime.now(timezone.utc)
        plan: dict[str, object] = {"changes": [], "resources": [], "rows_moved": 0, "bytes_moved": 0, "problems": []}
        plan |= {"allowed": options.allow_destructive, **options.asked}
        base = self._live[-1] if self._live else None
        unsaved = options.check or self.unchanged
        number = 0 if unsaved else len(self._deployments) + 1
        made = Deployment(
            number, options.name or "", "ready", base, now, now, dict(files), plan, Manifest(bindings=bindings)
        )
        if not unsaved:
            self._deployments.append(made)
            if options.promote:
                return self.promote(str(number))
        return made

    def find_repeated(self, files: Mapping[str, str], options: DeployOptions) -> Deployment | None:
        live = self._live[-1] if self._live else None
        candidates = [each for each in self._deployments if each.state in CANDIDATES]
        return find_repeated(candidates, RepeatedCall(files, options.name, live, options.asked))

    def list_deployments(self) -> tuple[Deployment, ...]:
        return tuple(reversed(self._deployments))

    def find(self, ref: str) -> Deployment:
        wanted = str(self._live[-1]) if ref == "live" and self._live else ref
        for each in self._deployments:
            if wanted in (str(each.id), each.name) or (ref == "staging" and each.state == "ready"):
                return each
        raise NotFound(f"there is no deployment `{ref}`")

    def readable(self, ref: str) -> Deployment:
        found = self.find(ref)
        if found.state not in ("ready", "live", "previous"):
            raise Conflict(f"deployment {found.id} is {found.state}: it cannot be read")
        return found

    @property
    def running(self) -> SimpleNamespace:
        return SimpleNamespace(deployments=tuple(self._deployments))

    def load_table(self, namespace: str, name: str, misread: Collection[str]) -> VersionMetadata:
        """Metadata as that of a table with one column."""
        found = self.open_tables.namespaces.table(namespace, name)
        schema = {"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": found.name, "type": "int"}]}
        return VersionMetadata("file:///w/metadata/version-1.metadata.json", {"schemas": [schema]})

    def promote(self, ref: str | None) -> Deployment:
        return self._move(ref or "staging", "live", of="ready")

    def discard(self, ref: str | None) -> Deployment:
        return self._move(ref or "staging", "discarded", of="ready")

    def retire(self, ref: str | None) -> Deployment:
        return self._move(ref or "previous", "retired", of="previous")

    def pause(self, ref: str | None) -> Deployment:
        return self._paused(ref, True)

    def resume(self, ref: str | None) -> Deployment:
        return self._paused(ref, False)

    def _paused(self, ref: str | None, paused: bool) -> Deployment:
        found = self.find(ref or "staging")
        if found.state != "ready":
            raise Conflict(f"deployment {found.id} is {found.state}; only one that is ready can be paused or resumed")
        changed = self._deployments[found.id - 1] = replace(found, paused=paused)
        return changed

    def rollback(self) -> Deployment:
        if len(self._live) < 2:
            raise Conflict("there is no previous deployment to go back to")
        self._live.pop()
        return self.find("live")

    def events(self, number: int) -> Iterator[Event]:
        found = self.find(str(number))
        progress: dict[str, object] = {"table": "flights__d1", "name": "flights", "flow": "copy.flights__d1", "rows": 5}
        progress |= {"of": 10, "bytes": 100, "rate": 2.5, "eta": 2.0, "waits": None, "done": False}
        return iter([Event("progress", time.time(), progress), Event("state", time.time(), {"state": found.state})])

    def status(self) -> dict[str, object]:
        tables = {name: {"table": name, "rows": len(rows)} for name, rows in self.rows.items()}
        late = [{"table": "flights", "flow": "landing.flights", "stream": "flights", "batches": 2}]
        late[0] |= {"name": "flights", "seconds": 12.3}
        running = [
            {"id": each.id, "name": each.name, "state": each.state, "paused": each.paused, "tables": tables}
            | {"stale": False}
            | {"behind": late, "filling": [], "waits": None}
            for each in self._deployments
        ]
        wrong: dict[str, object] = {"failures": [], "damaged": [], "drift": []}
        wrong["maintenance"] = {"done": {"compaction": 2}, "failed": {}, "failing": []}
        return {"streams": {"flights": len(self.rows["flights"])}, "deployments": running, **wrong}

    def figures(self) -> Reading[PipelineFigures]:
        return Reading(replace(sample_figures(), streams={"flights": len(self.rows["flights"])}), 0.0, None)

    def close(self) -> None:
        self.ready = False

    def _move(self, ref: str, to: DeploymentState, *, of: DeploymentState) -> Deployment:
        found = self.find(ref)
        if found.state != of:
            raise Conflict(f"deployment {found.id} is {found.state}")
        moved = replace(found, state=to)
        self._deployments[found.id - 1] = moved
        if to == "live":
            self._live.append(found.id)
        return moved
