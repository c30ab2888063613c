"""Operations at the same time: two deployments, a promotion under load, maintenance during a backfill, a retirement
during a query. After each, every table is compared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from chaos import server_life
from chaos.expected_rows import Kind
from chaos.laboratory import Laboratory
from chaos.project_versions import KEYED, V3
from chaos.version_walk import Walk, check
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.maintenance.snapshot_cleanup import SnapshotExpiry
from penstock.errors import Conflict
from penstock.lake.spark.names import CATALOG, NAMESPACE
from penstock.lake.tables import physical_tables
from penstock.model.settings import MaintenanceSettings

COMPACT = "CALL {catalog}.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"
EXPIRE = (
    "CALL {catalog}.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '2100-01-01', retain_last => 1)"
)
REFUSALS = ("GC is disabled", "CommitFailedException", "ValidationException", "Cannot commit", "conflict")
"""Why maintenance from outside may be refused: a clone shares the files, or a flow was faster."""


@contextmanager
def meanwhile(action: Callable[[], None], pause: float = 0.05) -> Iterator[list[BaseException]]:
    """Do something again and again, in a thread, until the block ends. Gives what went wrong."""
    over, failures = threading.Event(), []

    def run() -> None:
        while not over.wait(pause):
            try:
                action()
            except BaseException as failure:
                failures.append(failure)
                return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield failures
    finally:
        over.set()
        thread.join(60)


def test_two_deployments_at_once(laboratory: Laboratory) -> None:
    """Both become right; when one is live, the other is refused: live moved since it was planned."""
    with laboratory.alive("bridged") as walk:
        pipeline = walk.pipeline
        makers = [
            threading.Thread(target=pipeline.deployer.deploy, args=(files, DeployOptions(promote=False)))
            for files in (V3, KEYED)
        ]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        made = {each.id for each in pipeline.store.deployments.list()} - {1}
        assert made == {2, 3}
        walk.wait(lambda: {pipeline.store.find(str(id)).state for id in made} == {"ready"}, "both are ready")
        check(walk)
        pipeline.deployer.promote("2")
        with pytest.raises(Conflict):
            pipeline.deployer.promote("3")
        walk.post(placed=None)
        pipeline.deployer.discard("3")
        walk.post(placed=None)
        check(walk)


@pytest.mark.slow
def test_promote_and_rollback_while_rows_arrive(laboratory: Laboratory) -> None:
    with laboratory.alive("copied") as walk:
        walk.deploy()
        with meanwhile(walk.post) as failures:
            walk.until("ready")
            for _ in range(2):
                walk.pipeline.deployer.promote("2")
                more_bodies(walk, failures)
                walk.pipeline.deployer.rollback()
                more_bodies(walk, failures)
            walk.pipeline.deployer.promote("2")
        assert not failures
        check(walk)
        assert len(walk.client.kept) > 10


def more_bodies(walk: Walk, failures: list[BaseException]) -> None:
    """Wait until three more bodies are acknowledged."""
    kept = len(walk.client.kept)
    walk.wait(lambda: len(walk.client.kept) >= kept + 3 or bool(failures), "bodies are acknowledged")


def test_live_is_read_while_its_tables_change_in_place(laboratory: Laboratory) -> None:
    """A column more and another key for staging, and back: no reader of live gets an error."""
    with laboratory.alive("keyed") as walk:
        walk.complete()
        expected = walk.pipeline.reader.sql("SELECT count(), sum(id) FROM events", "live").rows

        def read() -> None:
            assert walk.pipeline.reader.sql("SELECT count(), sum(id) FROM events", "live").rows == expected

        with meanwhile(read, 0.0) as failures:
            for number in range(2, 5):
                walk.deploy()
                walk.wait(partial(is_ready, walk, number), "it is ready")
                walk.pipeline.deployer.discard(str(number))
        assert not failures
        check(walk)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [pytest.param("copied", marks=pytest.mark.full), "bridged"])
def test_compaction_during_a_whole_walk(laboratory: Laboratory, kind: Kind) -> None:
    """Somebody runs Iceberg's own procedure on live's tables, from outside, all the while."""
    with laboratory.alive(kind) as walk:
        walk_under(walk, COMPACT)


SETTLED = "a table whose last snapshot but those expired is of settled columns has lost its flows' progress: it stops"


@pytest.mark.full
@pytest.mark.parametrize("kind", ["copied", pytest.param("bridged", marks=pytest.mark.xfail(reason=SETTLED))])
def test_expiry_during_a_whole_walk(laboratory: Laboratory, kind: Kind) -> None:
    """The same with the procedure that forgets all snapshots but the newest, and those that are held."""
    with laboratory.alive(kind) as walk:
        walk_under(walk, EXPIRE)


TIDY = replace(
    server_life.SETTINGS,
    maintenance=MaintenanceSettings(interval_seconds=86_400, compact_files=2, snapshot_seconds=0, inbox_seconds=0),
)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bridged", pytest.param("copied", marks=pytest.mark.full)])
def test_penstocks_maintenance_during_a_whole_walk(
    laboratory: Laboratory, kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All that the server does in the background, all the while, as sharp as it goes beside queries of a second."""
    monkeypatch.setattr(SnapshotExpiry, "safe", 5.0)
    monkeypatch.setattr(server_life, "SETTINGS", TIDY)
    with laboratory.alive(kind) as walk:
        kinds: set[str] = set()
        with meanwhile(lambda: tidy_up(walk, kinds)) as failures:
            walk.whole()
        assert not failures, [str(each)[:2000] for each in failures]
        check(walk)
        assert {"compaction", "trim"} <= kinds


def tidy_up(walk: Walk, kinds: set[str]) -> None:
    maintenance = walk.pipeline.maintenance
    maintenance._due.clear()
    maintenance.run_round()
    kinds.update(maintenance.counts.done)


def is_ready(walk: Walk, id: int) -> bool:
    return walk.pipeline.store.find(str(id)).state == "ready"


def walk_under(walk: Walk, procedure: str) -> None:
    """A whole walk with maintenance all the while, which was done at least once."""
    done: list[str] = []
    with meanwhile(lambda: maintain(walk, procedure, done)) as failures:
        walk.whole()
    assert not failures, [str(each)[:2000] for each in failures]
    check(walk)
    assert done


def maintain(walk: Walk, procedure: str, done: list[str]) -> None:
    """Run a procedure on each table that the first version has, in a session of its own."""
    lake = walk.pipeline.core.warehouse.lake
    session = lake.spark.newSession()
    for table in ("events__d1", "per_user__d1", "total__d1"):
        call = procedure.format(catalog=CATALOG, table=f"{NAMESPACE}.{table}")
        try:
            session.sql(call).collect()
            done.append(call)
        except Exception as refusal:
            refused = any(each in str(refusal) for each in REFUSALS)
            if not refused and table in physical_tables.list_tables(lake):  # one that is retired meanwhile is gone
                raise


def test_a_version_is_retired_while_it_is_read(laboratory: Laboratory) -> None:
    """The query that began before ends with its answer; the tables go when it has."""
    with laboratory.alive("copied") as walk:
        walk.deploy()
        walk.until("ready")
        walk.complete()
        walk.pipeline.deployer.promote("2")
        answers: list[object] = []
        reading = threading.Thread(target=lambda: answers.append(long_query(walk)))
        reading.start()
        walk.wait(lambda: bool(walk.pipeline.core.board.readers.read), "the query runs")
        retired = walk.pipeline.deployer.retire("previous")
        assert reading.is_alive(), "the query was too short to prove anything"
        assert retired.state == "retired"
        reading.join(60)
        rows = sum(1 for body in walk.client.kept for row in body.rows if int(str(row["id"])) >= 0)
        assert answers == [[(rows**LEGS,)]]
        walk.news()
        check(walk)


LEGS = 5


def long_query(walk: Walk) -> list[tuple[object, ...]]:
    """Some seconds: every row with every row, several times."""
    joined = " CROSS JOIN ".join(f"events AS e{number}" for number in range(LEGS))
    ids = " + ".join(f"e{number}.id" for number in range(LEGS))
    sql = f"SELECT count() FROM {joined} WHERE {ids} >= 0"
    return [tuple(row) for row in walk.pipeline.reader.sql(sql, "previous").rows]
