"""Manifests of many commits become one, beside flows that go on; no file and no progress is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from maintenance.conftest import Tidy
from maintenance.test_maintenance import _table, answers, landing, rows
from penstock import crash_points
from penstock.deploy.maintenance.maintained_tables import MaintenanceCounts
from penstock.lake.maintenance.manifest_merge import FEWEST, merge_manifests
from penstock.lake.tables import java_table
from penstock.lake.tables.java_table import RewriteConflict

COMMITS = FEWEST + 2


def _manifests(tidy: Tidy, table: str) -> list[str]:
    found = _table(tidy, table)
    return [each.manifest_path for each in found.current_snapshot().manifests(found.io)]


def _data_files(tidy: Tidy, table: str) -> list[tuple[object, ...]]:
    """Each file of the table with what queries and steps know of it."""
    listed = tidy.core.warehouse.lake.spark.sql(
        f"SELECT data_file.file_path, snapshot_id, sequence_number, data_file.record_count, data_file.lower_bounds"
        f" FROM lake.penstock.`{table}`.entries WHERE status < 2 ORDER BY 1"
    )
    return [tuple(row) for row in listed.collect()]


def _deploy_with_rows(tidy: Tidy, name: str) -> str:
    tidy.deploy(landing(name))
    tidy.stream(name, [rows(number * 10, 10) for number in range(COMMITS)])
    return tidy.table(name)


def test_manifests_become_one_and_flows_go_on(tidy: Tidy) -> None:
    table = _deploy_with_rows(tidy, "merged")
    lake, before, files = tidy.core.warehouse.lake, answers(tidy, "merged"), _data_files(tidy, table)
    assert len(_manifests(tidy, table)) == COMMITS
    assert merge_manifests(lake, table)
    assert len(_manifests(tidy, table)) == 1
    assert _data_files(tidy, table) == files
    assert answers(tidy, "merged") == before
    assert not merge_manifests(lake, table), "there is nothing to do any more"
    tidy.core.warehouse.registry.refresh(table)
    tidy.post("merged", rows(COMMITS * 10, 10))
    total = (COMMITS + 1) * 10
    assert answers(tidy, "merged")[0] == [(total, sum(range(total)), total)]
    assert sum(row[1] for row in answers(tidy, "merged")[1]) == total  # type: ignore[index]
    assert tidy.core.warehouse.recorded.differences(table) == ()
    assert tidy.pipeline.status()["drift"] == []


def test_a_view_that_stands_still_reads_what_was_merged_once(tidy: Tidy) -> None:
    """Also after the snapshots before the merge have expired, and a restart: the merge carries the cursors along."""
    tidy.deploy(landing("merged_late"))
    tidy.stream("merged_late", [rows(0, 10)])
    table, target = tidy.table("merged_late"), tidy.table("merged_late_per_user")
    registry = tidy.core.warehouse.registry
    with tidy.core.flows.exclusive([target]):
        for number in range(1, COMMITS):
            tidy.keep("merged_late", rows(number * 10, 10))
            tidy.core.flows.scheduler.wait(lambda number=number: registry.snapshots(table).rows > number * 10, 30)
        assert merge_manifests(tidy.core.warehouse.lake, table)
        registry.refresh(table)
        tidy.tidy()
        tidy.tidy()
    tidy.catch_up()
    tidy.tidy()
    tidy.restart()
    tidy.post("merged_late", rows(COMMITS * 10, 10))
    total = (COMMITS + 1) * 10
    assert answers(tidy, "merged_late")[0] == [(total, sum(range(total)), total)]
    assert sum(row[1] for row in answers(tidy, "merged_late")[1]) == total  # type: ignore[index]


def test_a_round_of_maintenance_merges_and_looks_again_after_the_next_commits(
    tidy: Tidy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.deploy.maintenance.maintenance_runner.compact_table", lambda *_: False)
    table = _deploy_with_rows(tidy, "merged_round")
    before = answers(tidy, "merged_round")
    tidy.tidy()
    assert len(_manifests(tidy, table)) == 1
    tidy.stream("merged_round", [rows((COMMITS + number) * 10, 10) for number in range(COMMITS)])
    tidy.tidy()
    assert len(_manifests(tidy, table)) < FEWEST
    assert answers(tidy, "merged_round") != before
    total = COMMITS * 20
    assert answers(tidy, "merged_round")[0] == [(total, sum(range(total)), total)]


def test_a_merge_that_came_second_is_made_again_with_the_later_commit(
    tidy: Tidy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A flow commits between the merge and its commit: its rows, its cursor and no stray manifest are there."""
    table = _deploy_with_rows(tidy, "merged_raced")
    folder = Path(_table(tidy, table).location().removeprefix("file://")) / "metadata"
    before, original, tries = set(folder.glob("*.avro")), java_table._try_commit, list[bool]()

    def try_commit(*given: object) -> bool:
        if not tries:
            tidy.post("merged_raced", rows(COMMITS * 10, 10))
        tries.append(original(*given))
        return tries[-1]

    monkeypatch.setattr(java_table, "_try_commit", try_commit)
    assert merge_manifests(tidy.core.warehouse.lake, table)
    assert tries == [False, True]
    monkeypatch.undo()
    tidy.core.warehouse.registry.refresh(table)
    found = _table(tidy, table)
    kept = [each for each in found.metadata.snapshots if each.manifest_list]
    named = {each.manifest_list for each in kept} | {
        each.manifest_path for snapshot in kept for each in snapshot.manifests(found.io)
    }
    assert {path.name for path in set(folder.glob("*.avro")) - before} <= {Path(place).name for place in named}
    tidy.post("merged_raced", rows((COMMITS + 1) * 10, 10))
    total = (COMMITS + 2) * 10
    assert answers(tidy, "merged_raced")[0] == [(total, sum(range(total)), total)]
    assert sum(row[1] for row in answers(tidy, "merged_raced")[1]) == total  # type: ignore[index]


def test_what_failed_for_a_table_that_is_gone_fails_no_more(tidy: Tidy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table may be dropped under the task that works on it."""
    tidy.deploy(landing("merged_gone"))
    tidy.stream("merged_gone", [rows(0, 10)])
    table, maintenance = tidy.table("merged_gone"), tidy.pipeline.maintenance

    def run(*_: object) -> bool:
        raise RewriteConflict(f"{table} is gone")

    monkeypatch.setattr(maintenance._manifests, "run", run)
    maintenance._due.clear()
    maintenance.run_round()
    assert ("manifests", table) in maintenance.counts.failing
    monkeypatch.undo()
    remaining = tuple(each for each in maintenance._tables if each.table.id != table)
    monkeypatch.setattr("penstock.deploy.maintenance.maintenance_runner.maintained_tables", lambda *_: remaining)
    maintenance.run_round()
    assert ("manifests", table) not in maintenance.counts.failing
    assert all(each["table"] != table for each in tidy.pipeline.status()["maintenance"]["failing"])  # type: ignore
    maintenance.counts = MaintenanceCounts()


@pytest.mark.parametrize("point", ["lake.before", "lake.after"])
def test_a_crash_within_a_merge_loses_nothing(tidy: Tidy, point: str) -> None:
    """Another reader sees the same rows after it, and the merge is made, or made again, after a restart."""
    name = f"merged_{point.replace('.', '_')}"
    table = _deploy_with_rows(tidy, name)
    before, files = answers(tidy, name), _data_files(tidy, table)
    crash_points.arm(point, 1, lambda: None)
    try:
        with pytest.raises(crash_points.Crashed):
            merge_manifests(tidy.core.warehouse.lake, table)
    finally:
        crash_points.disarm()
    tidy.restart()
    assert len(_manifests(tidy, table)) == (COMMITS if point == "lake.before" else 1)
    assert merge_manifests(tidy.core.warehouse.lake, table) is (point == "lake.before")
    assert _data_files(tidy, table) == files
    assert answers(tidy, name) == before
    assert sorted(_table(tidy, table).scan().to_arrow().column("id").to_pylist()) == list(range(COMMITS * 10))
    tidy.core.warehouse.registry.refresh(table)
    tidy.post(name, rows(COMMITS * 10, 10))
    total = (COMMITS + 1) * 10
    assert answers(tidy, name)[0] == [(total, sum(range(total)), total)]
    assert sum(row[1] for row in answers(tidy, name)[1]) == total  # type: ignore[index]
