"""Each kind of maintenance on real tables, beside flows that go on; every answer stays the same."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from maintenance.conftest import Tidy
from penstock.deploy.lifecycle.copy_on_write import drop_leftover_clones
from penstock.deploy.maintenance import orphan_cleanup
from penstock.lake.maintenance.data_files import list_data_files
from penstock.lake.maintenance.rewrite import FileLayout, compact_files
from penstock.lake.maintenance.snapshot_expiry import SnapshotInfo, list_snapshots
from penstock.lake.maintenance.squashed_snapshots import SquashLimits
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables import java_table, physical_tables
from penstock.state.batches import BatchesTrimmed
from waiting import wait_until


def landing(name: str, *more: str, key: str = "user") -> dict[str, str]:
    """A data source and a view over it."""
    columns = "\n".join(
        f"    `{column}` {of} `json:$.{column}`," for column, of in (("id", "UInt32"), ("user", "String"))
    )
    engine = "\n".join((f'ENGINE_SORTING_KEY "{key}"', *more))
    return {
        f"datasources/{name}.datasource": (
            f'SCHEMA >\n{columns}\n    `at` DateTime `json:$.at`\nENGINE "MergeTree"\n{engine}\n'
        ),
        f"datasources/{name}_per_user.datasource": (
            "SCHEMA >\n    `user` String,\n    `n` AggregateFunction(count)\n"
            'ENGINE "AggregatingMergeTree"\nENGINE_SORTING_KEY "user"\n'
        ),
        f"materializations/{name}_view.pipe": (
            f"NODE n\nSQL >\n    SELECT user, countState() AS n FROM {name} GROUP BY user\n"
            f"TYPE materialized\nDATASOURCE {name}_per_user\n"
        ),
    }


def rows(first: int, count: int, at: str = "2100-01-01 00:00:00") -> list[dict[str, object]]:
    return [{"id": each, "user": f"u{(each * 7) % 5}", "at": at} for each in range(first, first + count)]


def answers(tidy: Tidy, name: str, deployment: str = "live") -> list[object]:
    return [
        tidy.ask(f"SELECT count(), sum(id), uniqExact(id) FROM {name}", deployment),
        tidy.ask(f"SELECT user, countMerge(n) FROM {name}_per_user GROUP BY user ORDER BY user", deployment),
    ]


def test_metadata_files_are_packed_also_those_of_former_releases(tidy: Tidy) -> None:
    """The list of snapshots is written anew with each commit."""
    tidy.deploy(landing("packed"))
    table = tidy.table("packed")
    tidy.core.warehouse.lake.spark.sql(
        f"ALTER TABLE {qualified_table(table)} UNSET TBLPROPERTIES ('write.metadata.compression-codec')"
    )
    tidy.stream("packed", [rows(number * 10, 10) for number in range(12)])
    plain = tidy.metadata_bytes(table)
    tidy.tidy()
    tidy.stream("packed", [rows(120, 10)])
    found = physical_tables.load_table(tidy.core.warehouse.lake, table)
    assert found is not None
    assert found.metadata_location.endswith(".gz.metadata.json")
    assert tidy.metadata_bytes(table) * 4 < plain
    assert tidy.ask("SELECT count(), uniqExact(id) FROM packed", "live") == [(130, 130)]
    damaged = Path(found.metadata_location.removeprefix("file:"))
    content = damaged.read_bytes()
    for left in (b"", content[:1], content[: len(content) // 2], b"x" + content[1:]):
        damaged.write_bytes(left)
        with pytest.raises(physical_tables.DamagedTable):
            physical_tables.load_table(tidy.core.warehouse.lake, table)
    damaged.write_bytes(content)


def test_small_files_become_few_and_sorted(tidy: Tidy) -> None:
    tidy.deploy(landing("clicks"))
    tidy.stream("clicks", [rows(number * 10, 10) for number in range(9)])
    table, before = tidy.table("clicks"), answers(tidy, "clicks")
    assert tidy.files_of(table) >= 9
    tidy.tidy()
    assert tidy.files_of(table) == 1
    assert tidy.files_of(tidy.table("clicks_per_user")) == 1
    assert answers(tidy, "clicks") == before
    spark = tidy.core.warehouse.lake.spark
    users = [row[0] for row in spark.sql(f"SELECT user FROM {qualified_table(table)}").collect()]
    assert users == sorted(users)
    (done,) = [each for each in tidy.operations("compaction") if each.datasource_name == table]  # type: ignore[attr-defined]
    assert (done.read_rows, done.written_rows, done.rows, done.result) == (90, 90, 0, "ok")  # type: ignore[attr-defined]
    tidy.post("clicks", rows(90, 10))
    assert answers(tidy, "clicks")[0] == [(100, sum(range(100)), 100)]
    assert tidy.core.warehouse.recorded.differences(table) == ()
    assert tidy.pipeline.status()["drift"] == []


@pytest.mark.slow
def test_snapshots_go_and_their_files_with_them_but_none_that_a_flow_needs(tidy: Tidy) -> None:
    tidy.deploy(landing("hits"))
    tidy.stream("hits", [rows(number * 10, 10) for number in range(12)])
    table = tidy.table("hits")
    folder = Path(_table(tidy, table).location().removeprefix("file://")) / "data"
    tidy.tidy()
    tidy.tidy()
    assert tidy.snapshots_of(table) <= 4
    tidy.post("hits", rows(120, 10))
    tidy.tidy()
    assert len(list(folder.rglob("*.parquet"))) == 2, "the one of all before, and the last"
    tidy.restart()
    tidy.post("hits", rows(130, 10))
    assert answers(tidy, "hits")[0] == [(140, sum(range(140)), 140)]
    assert sum(row[1] for row in answers(tidy, "hits")[1]) == 140  # type: ignore[index]
    assert tidy.operations("expiry")


@pytest.mark.slow
def test_a_view_that_stands_still_keeps_what_it_has_not_read(tidy: Tidy) -> None:
    tidy.deploy(landing("slow"))
    tidy.stream("slow", [rows(0, 10)])
    table, target = tidy.table("slow"), tidy.table("slow_per_user")
    registry = tidy.core.warehouse.registry
    with tidy.core.flows.exclusive([target]):
        for number in range(1, 9):
            tidy.keep("slow", rows(number * 10, 10))
            tidy.core.flows.scheduler.wait(lambda number=number: registry.snapshots(table).rows > number * 10, 30)
        tidy.tidy()
        tidy.tidy()
        assert tidy.snapshots_of(table) >= 9
        assert tidy.files_of(table) == 1
    tidy.post("slow", rows(90, 10))
    assert sum(row[1] for row in answers(tidy, "slow")[1]) == 100  # type: ignore[index]


@pytest.mark.slow
def test_rows_that_expired_for_every_version_are_deleted(tidy: Tidy) -> None:
    short, long = 'ENGINE_TTL "at + INTERVAL 1 DAY"', 'ENGINE_TTL "at + INTERVAL 40 YEAR"'
    tidy.deploy(landing("aged", long))
    old = [rows(number * 10, 10, "2001-01-01 00:00:00") for number in range(3)]
    tidy.stream("aged", [*old, rows(30, 10)])
    table = tidy.table("aged")
    tidy.deploy(landing("aged", short), destructive=True)
    assert tidy.ask("SELECT count() FROM aged") == [(10,)]
    tidy.tidy()
    assert tidy.stored(table) == 40, "the version before shows them still"
    tidy.pipeline.deployer.retire("previous")
    tidy.tidy()
    assert tidy.stored(table) == 10
    assert tidy.ask("SELECT count() FROM aged") == [(10,)]
    assert tidy.ask("SELECT countMerge(n) FROM aged_per_user") == [(40,)]
    (done,) = tidy.operations("ttl")
    assert done.rows == 30  # type: ignore[attr-defined]
    tidy.post("aged", [*rows(40, 1), *rows(41, 9, "2001-01-01 00:00:00")])
    tidy.tidy()
    assert tidy.stored(table) == 11
    assert tidy.ask("SELECT countMerge(n) FROM aged_per_user") == [(50,)]


def test_raw_rows_go_when_every_table_has_them(tidy: Tidy) -> None:
    tidy.deploy(landing("raws"))
    tidy.keep("raws", rows(0, 10), "first")
    tidy.stream("raws", [rows(number * 10, 10) for number in range(1, 5)])
    folder = tidy.home / "inbox" / "raws"
    assert len(list(folder.glob("*/*"))) == 5
    tidy.tidy()
    assert len(list(folder.glob("*/*"))) == 1, "the last step's: a restart looks at it again"
    assert tidy.keep("raws", rows(0, 10), "first") == 1, "the key is known for a day"
    with pytest.raises(BatchesTrimmed):
        tidy.pipeline.batches.read_after("raws", 0, 10, 10**9)
    tidy.restart()
    tidy.post("raws", rows(50, 10))
    assert answers(tidy, "raws")[0] == [(60, sum(range(60)), 60)]


@pytest.mark.slow
def test_only_files_that_no_table_refers_to_are_deleted(tidy: Tidy, monkeypatch: pytest.MonkeyPatch) -> None:
    tidy.deploy(landing("stray"))
    tidy.stream("stray", [rows(0, 10), rows(10, 10)])
    table = tidy.table("stray")
    physical_tables.clone_table(tidy.core.warehouse.lake, table, f"{table}_beside")
    tidy.core.warehouse.recorded.record_created(f"{table}_beside")
    location = Path(_table(tidy, table).location().removeprefix("file://"))
    strays = [location / "data" / "left.parquet", location / "metadata" / "left.avro"]
    young = location / "data" / "young.parquet"
    for stray in (*strays, young):
        stray.parent.mkdir(exist_ok=True)
        stray.write_bytes(b"x")
    for file in location.rglob("*"):
        if file != young:
            os.utime(file, (1, 1))
    with monkeypatch.context() as patch:
        patch.setattr(orphan_cleanup, "SEEN_SECONDS", 3_600.0)
        tidy.tidy()
    assert all(stray.exists() for stray in strays), "a clock that jumped makes nothing old"
    tidy.tidy()
    assert [stray.exists() for stray in (*strays, young)] == [False, False, True]
    assert answers(tidy, "stray")[0] == [(20, sum(range(20)), 20)]
    assert tidy.stored(f"{table}_beside") == 20
    physical_tables.drop_table(tidy.core.warehouse.lake, f"{table}_beside")
    tidy.core.warehouse.recorded.record_dropped(f"{table}_beside")
    tidy.tidy()
    said = _table(tidy, table).properties
    assert (said["gc.enabled"], said["write.metadata.delete-after-commit.enabled"]) == ("true", "true")
    assert answers(tidy, "stray")[0] == [(20, sum(range(20)), 20)]


@pytest.mark.slow
def test_a_clone_and_its_original_lose_no_file_to_each_other(tidy: Tidy) -> None:
    tidy.deploy(landing("twin"))
    tidy.stream("twin", [rows(number * 10, 10) for number in range(8)])
    table = tidy.table("twin")
    with tidy.core.flows.exclusive([table]):
        physical_tables.clone_table(tidy.core.warehouse.lake, table, f"{table}_beside")
        tidy.core.warehouse.recorded.record_created(f"{table}_beside")
    tidy.tidy()
    tidy.tidy()
    assert tidy.files_of(table) == 1
    assert tidy.snapshots_of(table) <= 4
    assert tidy.stored(f"{table}_beside") == 80
    physical_tables.drop_table(tidy.core.warehouse.lake, f"{table}_beside")
    tidy.core.warehouse.recorded.record_dropped(f"{table}_beside")


@pytest.mark.slow
def test_a_stream_of_many_commits_stays_small(tidy: Tidy) -> None:
    tidy.deploy(landing("many"))
    most: dict[str, int] = {"files": 0, "snapshots": 0, "metadata": 0}
    commits = int(os.environ.get("PENSTOCK_COMMITS", "40"))
    table = tidy.table("many")
    for number in range(commits):
        tidy.post("many", rows(number * 10, 10))
        if number % 10 == 9:
            tidy.tidy()
            now = (tidy.files_of(table), tidy.snapshots_of(table), tidy.metadata_bytes(table))
            most = dict(zip(most, map(max, most.values(), now), strict=True))
    assert answers(tidy, "many")[0] == [(commits * 10, sum(range(commits * 10)), commits * 10)]
    assert sum(row[1] for row in answers(tidy, "many")[1]) == commits * 10  # type: ignore[index]
    print(json.dumps({"commits": commits, **most}))
    assert most["files"] <= 12
    assert most["snapshots"] <= 25
    assert most["metadata"] <= 60_000


def _table(tidy: Tidy, table: str):  # type: ignore[no-untyped-def]
    found = physical_tables.load_table(tidy.core.warehouse.lake, table)
    assert found is not None
    return found


@pytest.mark.slow
def test_rows_are_merged_as_their_engine_says(tidy: Tidy) -> None:
    """And FINAL, sums and merged states are what they were."""
    columns = "SCHEMA >\n    `k` String `json:$.k`,\n    `v` Int64 `json:$.v`,\n    `gone` UInt8 `json:$.gone`\n"
    files = {
        "datasources/latest.datasource": f'{columns}ENGINE "ReplacingMergeTree"\nENGINE_SORTING_KEY "k"\n'
        'ENGINE_VER "v"\nENGINE_IS_DELETED "gone"\n',
        "datasources/summed.datasource": columns.replace(",\n    `gone` UInt8 `json:$.gone`", "")
        + 'ENGINE "SummingMergeTree"\nENGINE_SORTING_KEY "k"\n',
        **landing("counted"),
    }
    tidy.deploy(files)
    for number in range(6):
        some = [{"k": f"k{each % 4}", "v": (number * 7 + each) % 11, "gone": int(each == number)} for each in range(9)]
        tidy.post("latest", some)
        tidy.post("summed", some)
        tidy.post("counted", rows(number * 10, 10))
    asked = (
        "SELECT k, v, gone FROM latest FINAL ORDER BY k",
        "SELECT k, v FROM summed FINAL ORDER BY k",
        "SELECT k, sum(v) FROM summed GROUP BY k ORDER BY k",
        "SELECT user, countMerge(n) FROM counted_per_user GROUP BY user ORDER BY user",
    )
    before = [tidy.ask(each) for each in asked]
    stored = {name: tidy.stored(tidy.table(name)) for name in ("latest", "summed", "counted_per_user", "counted")}
    tidy.tidy()
    assert [tidy.ask(each) for each in asked] == before
    now = {name: tidy.stored(tidy.table(name)) for name in stored}
    assert now == {"latest": 4, "summed": 4, "counted_per_user": 5, "counted": stored["counted"]}
    assert stored["latest"] == 54
    tidy.post("latest", [{"k": "k1", "v": 10_000, "gone": 0}, {"k": "k2", "v": -1, "gone": 0}])
    tidy.post("summed", [{"k": "k1", "v": 1}])
    assert dict(tidy.ask(asked[2]))["k1"] == dict(before[2])["k1"] + 1  # type: ignore[arg-type]
    assert ("k1", 10_000, 0) in tidy.ask(asked[0])


def test_a_view_far_behind_reads_squashed_snapshots(tidy: Tidy, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands still while its source is compacted, its snapshots go, and their files with them; then it reads each
    row once. Meanwhile the metadata stays small, and nothing looks like a change from outside."""
    monkeypatch.setattr(tidy.pipeline.maintenance._expiry, "squash_limits", SquashLimits(4, 2, rows=50))
    tidy.deploy(landing("stuck"))
    tidy.stream("stuck", [rows(0, 10)])
    table, target = tidy.table("stuck"), tidy.table("stuck_per_user")
    registry = tidy.core.warehouse.registry
    with tidy.core.flows.exclusive([target]):
        for number in range(1, 13):
            tidy.keep("stuck", rows(number * 10, 10))
            wait_until(lambda number=number: registry.snapshots(table).rows == number * 10 + 10, 60)
            if number % 4 == 0:
                tidy.tidy()
        tidy.tidy()
        squashed = [each for each in list_snapshots(tidy.core.warehouse.lake, table).detached if each.squashes]
        assert len(squashed) >= 2
        assert tidy.snapshots_of(table) <= 12
        assert tidy.files_of(table) <= 8, "compacted all the same"
        assert tidy.core.warehouse.recorded.differences(table) == ()
        assert _files_by_rows(tidy, table, squashed)[40] == 1, "four posts were four files"
    tidy.restart()
    tidy.catch_up()
    assert answers(tidy, "stuck")[0] == [(130, sum(range(130)), 130)]
    assert sum(row[1] for row in answers(tidy, "stuck")[1]) == 130  # type: ignore[index]
    tidy.post("stuck", rows(130, 10))
    tidy.tidy()
    tidy.tidy()
    assert not list_snapshots(tidy.core.warehouse.lake, table).branches
    assert tidy.snapshots_of(table) <= 4
    assert sum(row[1] for row in answers(tidy, "stuck")[1]) == 140  # type: ignore[index]


def _files_by_rows(tidy: Tidy, table: str, snapshots: Sequence[SnapshotInfo]) -> dict[int, int]:
    """By the rows that a snapshot added, its files."""
    found = {each.snapshot_id: each.summary for each in _table(tidy, table).snapshots()}
    return {each.added: int(found[each.id]["added-data-files"]) for each in snapshots}


def test_a_clone_that_a_crashed_split_left_is_dropped(tidy: Tidy) -> None:
    tidy.deploy(landing("forked"))
    tidy.stream("forked", [rows(0, 10)])
    table, lake = tidy.table("forked"), tidy.core.warehouse.lake
    left, foreign = "forked__d1f1", "forked__d1f1x"
    physical_tables.clone_table(lake, table, left)
    physical_tables.clone_table(lake, table, foreign)
    drop_leftover_clones(tidy.core)
    there = physical_tables.list_tables(lake)
    assert (left in there, foreign in there, table in there) == (False, True, True)
    physical_tables.drop_table(lake, foreign)
    assert answers(tidy, "forked")[0] == [(10, 45, 10)]


def test_files_stay_for_a_copy_that_takes_long(tidy: Tidy) -> None:
    """It began before they were replaced, and still reads them."""
    tidy.deploy(landing("long"))
    tidy.stream("long", [rows(number * 10, 10) for number in range(6)])
    table = tidy.table("long")
    folder = Path(_table(tidy, table).location().removeprefix("file://")) / "data"
    live = tidy.core.board.live()
    assert live is not None
    with tidy.core.board.readers.reading(live.id):
        tidy.tidy()
        tidy.tidy()
        assert tidy.files_of(table) == 1
        assert tidy.snapshots_of(table) <= 4
        assert len(list(folder.rglob("*.parquet"))) >= 7
    tidy.tidy()
    assert len(list(folder.rglob("*.parquet"))) == 1


def test_a_commit_that_came_second_leaves_no_manifest(tidy: Tidy, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody would delete it before orphans are searched, and a busy table has some each minute."""
    tidy.deploy(landing("raced"))
    tidy.stream("raced", [rows(number * 10, 10) for number in range(6)])
    lake, table = tidy.core.warehouse.lake, tidy.table("raced")
    folder = Path(_table(tidy, table).location().removeprefix("file://")) / "metadata"
    before, failures, original = set(folder.glob("*.avro")), iter([True, True]), java_table._try_commit

    def try_commit(*given: object) -> bool:
        return False if next(failures, False) else original(*given)

    monkeypatch.setattr(java_table, "_try_commit", try_commit)
    snapshot = _table(tidy, table).current_snapshot().snapshot_id
    compact_files(lake, table, snapshot, list_data_files(lake, table, snapshot), FileLayout(("_seq",)))
    assert next(failures, False) is False, "both tries came second"
    found = _table(tidy, table)
    current = found.current_snapshot()
    named = {current.manifest_list, *(each.manifest_path for each in current.manifests(found.io))}
    assert {path.name for path in set(folder.glob("*.avro")) - before} <= {Path(place).name for place in named}
    assert answers(tidy, "raced")[0] == [(60, sum(range(60)), 60)]
