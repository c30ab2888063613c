"""Tables that another program changed under a running pipeline: each change is reported, none is undone, and only the
flows stop whose results would be wrong.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from deploy.conftest import Running
from penstock.deploy.lifecycle.drift_watch import Drift, drift_problems, find_drift
from penstock.deploy.lifecycle.states import NOT_OVER
from penstock.errors import InvalidProject, PenstockError
from penstock.lake.drift import recorded_tables
from penstock.lake.drift.recorded_tables import DriftedTable
from penstock.lake.maintenance.rewrite import ColumnValues, FileLayout, materialize_columns
from penstock.lake.maintenance.snapshot_expiry import expire_snapshots
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables import physical_tables
from penstock.plan.plan import Plan
from waiting import wait_until

LANDING = """SCHEMA >
    `id` UInt16 `json:$.id`,
    `code` String `json:$.code`

ENGINE MergeTree
ENGINE_SORTING_KEY id
"""
VIEW = """NODE rows
SQL >
    SELECT id, code FROM {name}
TYPE materialized
DATASOURCE {name}_seen
"""
FLAT = (
    "drift_columns",
    "drift_added",
    "drift_widened",
    "drift_rows",
    "drift_back",
    "drift_settled",
    "drift_quiet",
    "drift_files",
)
VIEWED = ("drift_dropped", "drift_remade")


def project() -> dict[str, str | None]:
    landings = {f"datasources/{name}.datasource": LANDING for name in (*FLAT, *VIEWED)}
    targets = {f"datasources/{name}_seen.datasource": LANDING for name in VIEWED}
    return landings | targets | {f"pipes/{name}_view.pipe": VIEW.format(name=name) for name in VIEWED}


class World:
    """The pipeline, its records, and a Spark session of somebody else's."""

    def __init__(self, running: Running):
        self.running = running
        self.core = running.pipeline.core
        self.recorded = self.core.warehouse.recorded
        self.outside: SparkSession = self.core.warehouse.lake.spark.newSession()
        assert self.found("drift_quiet") == [], "all are recorded, and nothing is wrong"

    def table(self, name: str) -> str:
        live = self.core.board.live()
        bound = live.manifest.binding(name) if live is not None else None
        assert bound is not None
        return bound.table

    def sql(self, statement: str, name: str) -> None:
        """Run a statement from outside, with the table of a data source in the place of {}."""
        self.outside.sql(statement.format(qualified_table(self.table(name))))

    def drifts(self, name: str) -> list[Drift]:
        found = find_drift(self.recorded, self.core.store.deployments.in_state(*NOT_OVER))
        return [each for each in found if each.name == name]

    def found(self, name: str) -> list[str]:
        return [each.difference.kind for each in self.drifts(name)]

    def stopped(self, name: str) -> bool:
        """Whether its flows are kept from going on; an earlier look at the table does not count."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(recorded_tables, "CHECK_VALID_SECONDS", 0.0)
            try:
                self.recorded.verify([self.table(name)])
            except DriftedTable:
                return True
            return False

    def post(self, name: str, id: int) -> None:
        """Post a row and wait until it is landed, whatever becomes of it below."""
        self.running.pipeline.ingestion.append(name, b'{"id": %d, "code": "b"}' % id, None)
        self.until(lambda: self.running.ask(f"SELECT count() FROM {name} WHERE id = {id}") == [(1,)])

    def failure(self, name: str) -> str:
        """What `status` says of the flows into a table, once it does."""
        told: list[str] = []

        def says() -> bool:
            failures: list[dict[str, str]] = self.running.pipeline.status()["failures"]  # type: ignore[assignment]
            told.extend(each["message"] for each in failures if each["table"] == self.table(name))
            return bool(told)

        self.until(says)
        return told[-1]

    def attempts(self, name: str) -> int:
        """How often in a row a flow into a table has failed."""
        failures = self.core.flows.scheduler.failures.items()
        return max((failure.attempts for (table, _), failure in failures if table == self.table(name)), default=0)

    def until(self, done: Callable[[], bool]) -> None:
        wait_until(done, explain=self.running.pipeline.status)

    def snapshots(self, name: str) -> list[int]:
        loaded = physical_tables.load_table(self.core.warehouse.lake, self.table(name))
        return [each.snapshot_id for each in loaded.metadata.snapshots] if loaded is not None else []


@pytest.fixture(scope="module")
def world(running: Running) -> Iterator[World]:
    made = running.deploy(project())
    assert made.state == "live", made.error
    for name in (*FLAT, *VIEWED):
        running.post(name, [{"id": each, "code": "a"} for each in range(3)])
    yield World(running)
    # The others of this session go on without these tables.
    running.deploy(dict.fromkeys(project()), destructive=True)
    running.pipeline.deployer.retire(None)


@pytest.mark.parametrize(
    ("name", "statement", "kind", "told", "stops"),
    [
        ("drift_columns", "ALTER TABLE {} DROP COLUMN code", "columns", "`code` was dropped", True),
        ("drift_added", "ALTER TABLE {} ADD COLUMN more STRING", "columns", "`more` was added", False),
        ("drift_widened", "ALTER TABLE {} ALTER COLUMN id TYPE BIGINT", "columns", "`id` was int and is long", False),
        ("drift_rows", "INSERT INTO {} (id, code) VALUES (7, 'x')", "rows", "1 appended", False),
        ("drift_rows", "DELETE FROM {} WHERE id = 1", "rows", "3 replaced by 2", False),
        ("drift_rows", "UPDATE {} SET code = 'z' WHERE id = 7", "rows", "1 replaced by 1", False),
        ("drift_rows", "DELETE FROM {}", "rows", "deleted", False),
    ],
)
def test_changes_of_a_table(world: World, name: str, statement: str, kind: str, told: str, stops: bool) -> None:
    world.sql(statement, name)
    (drift,) = world.drifts(name)
    assert (drift.difference.kind, drift.difference.stops) == (kind, stops)
    assert told in drift.problem.message
    assert world.stopped(name) == stops


@pytest.mark.slow
def test_a_rollback_of_a_table_is_reported_until_it_is_undone(world: World) -> None:
    world.running.post("drift_back", [{"id": 9, "code": "late"}])
    first, last = world.snapshots("drift_back")[0], world.snapshots("drift_back")[-1]
    table = world.table("drift_back")
    world.outside.sql(f"CALL lake.system.rollback_to_snapshot('penstock.{table}', {first})")
    (drift,) = world.drifts("drift_back")
    assert drift.difference.kind == "rolled_back"
    assert world.stopped("drift_back")
    world.running.pipeline.ingestion.append("drift_back", b'{"id": 10, "code": "later"}', None)
    assert "rolled back" in world.failure("drift_back")
    assert world.running.ask("SELECT count() FROM drift_back WHERE code != 'a'") == [(0,)]
    undo = str(drift.problem.hint).split("`")[1]
    assert str(last) in undo
    world.outside.sql(undo)
    assert world.found("drift_back") == []
    world.until(lambda: world.running.ask("SELECT count() FROM drift_back") == [(5,)])


def test_materialized_columns_are_no_drift(world: World) -> None:
    values = ColumnValues({"code": "upper(code)"}, -1, 2**50)
    materialize_columns(world.core.warehouse.lake, world.table("drift_settled"), values, FileLayout(("_seq",)))
    world.core.warehouse.registry.forget(world.table("drift_settled"))
    assert world.running.ask("SELECT DISTINCT code FROM drift_settled") == [("A",)]
    assert world.found("drift_settled") == []


def _drop(world: World) -> None:
    world.sql("DROP TABLE {}", "drift_dropped_seen")


def _make_again(world: World) -> None:
    world.sql("DROP TABLE {}", "drift_remade_seen")
    world.sql("CREATE TABLE {} (id INT, code STRING, _seq BIGINT, _rejects STRING) USING iceberg", "drift_remade_seen")


@pytest.mark.parametrize(
    ("name", "attack", "kind"),
    [("drift_dropped_seen", _drop, "dropped"), ("drift_remade_seen", _make_again, "replaced")],
)
def test_a_table_that_is_gone(world: World, name: str, attack: Callable[[World], None], kind: str) -> None:
    attack(world)
    (drift,) = world.drifts(name)
    assert drift.difference.kind == kind
    assert world.stopped(name)
    live = world.core.board.live()
    assert live is not None
    assert drift.deployments == (live.id,)
    (problem,) = drift_problems([drift], Plan(manifest=live.manifest))
    assert (problem.level, problem.code) == ("error", f"{kind}-table")
    assert world.table(name) in problem.message


@pytest.mark.parametrize("name", VIEWED)
def test_the_flow_into_a_lost_table_does_not_start_again(world: World, name: str) -> None:
    world.post(name, 50)
    assert world.table(f"{name}_seen") in world.failure(f"{name}_seen")
    attempts = world.attempts(f"{name}_seen")
    world.until(lambda: world.attempts(f"{name}_seen") > attempts)
    assert world.snapshots(f"{name}_seen") == []


def test_the_status_lists_all_drift(world: World) -> None:
    world.running.pipeline.drift.run_once()
    found: list[dict[str, object]] = world.running.pipeline.status()["drift"]  # type: ignore[assignment]
    assert {"drift_dropped_seen": "dropped", "drift_remade_seen": "replaced", "drift_rows": "rows"}.items() <= {
        str(each["name"]): each["kind"] for each in found
    }.items()


def test_no_version_is_deployed_over_drifted_tables(world: World) -> None:
    more = {"datasources/drift_more.datasource": LANDING}
    with pytest.raises(InvalidProject) as refused:
        world.running.deploy(more)
    levels = {(each.level, each.code) for each in refused.value.problems}
    assert {("error", "dropped-table"), ("error", "replaced-table"), ("warning", "foreign-rows")} <= levels
    assert len({each for each in levels if each[0] == "error"}) == 3


def test_other_tables_go_on_and_nothing_is_repaired(world: World) -> None:
    """Runs last: with all that the tests before it did."""
    receipt = world.running.pipeline.ingestion.append("drift_quiet", b'{"id": 4, "code": "b"}', None)
    world.running.pipeline.ingestion.wait(receipt, 60)
    assert world.running.ask("SELECT count() FROM drift_quiet") == [(4,)]
    assert world.found("drift_quiet") == []
    assert physical_tables.load_table(world.core.warehouse.lake, world.table("drift_dropped_seen")) is None
    assert world.snapshots("drift_remade_seen") == []
    assert world.found("drift_columns") == ["columns"]
    assert world.found("drift_rows") == ["rows"]


def test_a_damaged_file_is_one_table_s_and_can_be_put_back(world: World) -> None:
    """Nothing is deleted meanwhile, and other tables are read and maintained."""
    asked = "SELECT count(code) FROM drift_files WHERE code >= ''"
    path = files_of(world)["manifest list"]
    content, (before,) = path.read_bytes(), world.running.ask(asked)
    _remove(path)
    with pytest.raises(PenstockError) as raised:
        world.running.ask(asked)
    assert raised.value.code == "damaged-table"
    assert path.name in raised.value.message
    world.post("drift_quiet", 100)
    there = set(path.parent.parent.rglob("*"))
    maintenance = world.running.pipeline.maintenance
    maintenance.run_round()
    history = world.core.warehouse.lake.catalog.load_table(("penstock", world.table("drift_files"))).snapshots()
    with pytest.raises(Py4JJavaError):
        expire_snapshots(world.core.warehouse.lake, world.table("drift_files"), [history[0].snapshot_id])
    assert there <= set(path.parent.parent.rglob("*"))
    path.write_bytes(content)
    assert world.running.ask(asked) == [before]


NEW_IDS = itertools.count(1_000)


def _remove(path: Path) -> None:
    path.unlink()
    _checksum(path).unlink(missing_ok=True)


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    _checksum(path).unlink(missing_ok=True)


def _flip(path: Path) -> None:
    """One byte changes on the disk, which the checksum beside the file tells."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


@pytest.mark.parametrize("damage", [_remove, _cut, _flip])
@pytest.mark.parametrize("kind", ["manifest list", "manifest", "data file"])
def test_who_reads_a_damaged_file_is_told_which_one(world: World, kind: str, damage: Callable[[Path], None]) -> None:
    """Never another answer, and the same one once the file is back."""
    asked = "SELECT count(), max(id), max(code) FROM drift_files WHERE code >= ''"
    path, before = files_of(world)[kind], world.running.ask(asked)
    kept = [(each, each.read_bytes()) for each in (path, _checksum(path)) if each.exists()]
    damage(path)
    with pytest.raises(PenstockError) as raised:
        world.running.ask(asked)
    assert (raised.value.code, path.name in raised.value.message) == ("damaged-table", True), raised.value
    for each, content in kept:
        each.write_bytes(content)
    assert world.running.ask(asked) == before


def files_of(world: World) -> dict[str, Path]:
    """A file of each kind that the table drift_files cannot be read without; it has rows."""
    world.post("drift_files", next(NEW_IDS))
    table = world.core.warehouse.lake.catalog.load_table(("penstock", world.table("drift_files")))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    data = next(iter(table.scan().plan_files())).file.file_path
    manifest = snapshot.manifests(table.io)[0].manifest_path
    named = {"manifest list": snapshot.manifest_list, "manifest": manifest, "data file": data}
    return {kind: Path(place.removeprefix("file://").removeprefix("file:")) for kind, place in named.items()}


def _checksum(path: Path) -> Path:
    return path.with_name(f".{path.name}.crc")
