"""Columns are written into the files of a table while somebody else works on it: no reader of any version sees anything
but its own values, each row once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from deploy.conftest import Running
from deploy.test_early_materialization import NOTHING, delete, new, old, row, rows_of, settled, shown
from penstock.deploy.lifecycle import copy_on_write
from penstock.deploy.lifecycle.copy_on_write import split_tables
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.maintenance.maintained_tables import maintained_tables
from penstock.deploy.maintenance.retention import RetainedData
from penstock.deploy.maintenance.snapshot_cleanup import SnapshotExpiry
from penstock.deploy.runtime import early_materialization
from penstock.deploy.runtime.bridged_columns import bridged_columns, materialize_slice
from penstock.deploy.runtime.file_layouts import file_layout
from penstock.lake.maintenance.data_files import list_data_files
from penstock.lake.maintenance.rewrite import compact_files
from penstock.lake.read.history_slices import SliceLimits
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables import physical_tables
from penstock.model.deployment import Deployment
from waiting import wait_until

pytestmark = pytest.mark.slow

SMALL = SliceLimits(1, 1)
"""One file a slice."""


def staged(running: Running, files: dict[str, str | None]) -> Deployment:
    """Begin a deployment that is not promoted, without waiting for it."""
    wanted = {path: text for path, text in {**running.files, **files}.items() if text is not None}
    return running.pipeline.deployer.deploy(wanted, DeployOptions(promote=False))


def is_ready(running: Running, made: Deployment) -> bool:
    now = running.pipeline.store.deployments.get(made.id)
    assert now.state in ("planned", "preparing", "backfilling", "ready"), now.error
    return now.state == "ready"


def table_of(running: Running, name: str, made: Deployment) -> str:
    bound = running.pipeline.store.deployments.get(made.id).manifest.binding(name)
    assert bound is not None
    return bound.table


def compact_and_expire(running: Running, table: str) -> None:
    """Rewrite all files of a table as one, and expire the snapshots of before."""
    core = running.pipeline.core
    current = core.warehouse.registry.refresh(table).current
    assert current is not None
    files = list_data_files(core.warehouse.lake, table, current.id)
    (on,) = (each for each in maintained_tables(core.store, core.warehouse) if each.table.id == table)
    compact_files(core.warehouse.lake, table, current.id, files, file_layout(on.table.sort, on.bindings))
    core.warehouse.registry.refresh(table)
    SnapshotExpiry(core).run(on, RetainedData())


@contextmanager
def small_slices(monkeypatch: pytest.MonkeyPatch, after: Callable[[int], None]) -> Iterator[None]:
    """Slices of one file each; `after` is called with the number of each that was written."""
    done = 0

    def one_file(*given: object) -> None:
        nonlocal done
        materialize_slice(*given[:3], SMALL)  # type: ignore[arg-type]
        done += 1
        after(done)

    with monkeypatch.context() as patch:
        patch.setattr(early_materialization, "materialize_slice", one_file)
        yield


def test_rows_and_maintenance_between_slices_and_a_discard(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new version also has another sorting and partition key, by a column that is written meanwhile."""
    running.deploy(old("torn"))
    for first in range(0, 12, 3):
        running.post("torn", [row(number) for number in range(first, first + 3)])
    text = str(new("torn")["datasources/torn.datasource"])
    keys = "ENGINE_PARTITION_KEY path\nENGINE_SORTING_KEY code, id"
    wanted: dict[str, str | None] = {"datasources/torn.datasource": text.replace("ENGINE_SORTING_KEY id", keys)}
    count = 12

    def disturb(slices: int) -> None:
        nonlocal count
        running.post("torn", [row(count)])
        count += 1
        table = table_of(running, "torn", made)
        if slices % 2:
            compact_and_expire(running, table)
        assert running.ask("SELECT id, code FROM torn ORDER BY id") == [(n, str(n % 900)) for n in range(count)]

    for ending in ("discard", "promote"):
        with small_slices(monkeypatch, disturb):
            made = staged(running, wanted)
            wait_until(lambda made=made: is_ready(running, made), 240)  # type: ignore[misc]
        assert settled(running, "torn", "ready") == 1.0
        assert rows_of(running, "torn", "staging") == [shown(n) for n in range(count)]
        if ending == "discard":
            running.pipeline.deployer.discard("staging")
            running.post("torn", [row(count)])
            count += 1
            assert running.ask("SELECT id, code FROM torn ORDER BY id") == [(n, str(n % 900)) for n in range(count)]
    running.promote()
    compact_and_expire(running, table_of(running, "torn", made))
    assert rows_of(running, "torn") == [shown(n) for n in range(count)]
    running.rollback()
    assert running.ask("SELECT id, code FROM torn ORDER BY id") == [(n, str(n % 900)) for n in range(count)]
    running.pipeline.deployer.discard("staging")


def test_two_versions_write_columns_of_one_table_at_once(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.deploy(old("twin"))
    for first in range(0, 8, 2):
        running.post("twin", [row(first), row(first + 1)])
    text = str(new("twin")["datasources/twin.datasource"])
    other = text.replace("toUInt16(code)", "toUInt16(code) + 1")
    with small_slices(monkeypatch, lambda _: None):
        one = staged(running, {"datasources/twin.datasource": text})
        two = staged(running, {"datasources/twin.datasource": other})
        wait_until(lambda: is_ready(running, one) and is_ready(running, two), 240)
    running.post("twin", [row(8)])
    assert rows_of(running, "twin", str(one.id)) == [shown(n) for n in range(9)]
    later = [(id, code + 1 if id < 8 else code, path) for id, code, path in (shown(n) for n in range(9))]  # type: ignore[operator]
    assert rows_of(running, "twin", str(two.id)) == later
    running.pipeline.deployer.discard(str(one.id))
    assert rows_of(running, "twin", str(two.id)) == later
    running.promote(str(two.id))
    assert rows_of(running, "twin") == later


def test_a_version_above_one_whose_columns_are_still_computed(running: Running) -> None:
    running.deploy(old("stack"))
    running.post("stack", [row(number) for number in range(4)])
    running.deploy({**new("stack"), "penstock.toml": NOTHING})
    running.post("stack", [row(number) for number in range(4, 6)])
    text = str(new("stack")["datasources/stack.datasource"])
    third = text.replace("`code` UInt16", "`code` UInt32").replace("toUInt16(code)", "toUInt32(code) * 10")
    third = third.replace("JSONExtractString(payload, 'path')", "concat(path, '!')")
    made = running.deploy({"datasources/stack.datasource": third, "penstock.toml": None}, promote=False)
    assert settled(running, "stack", "ready") == 1.0
    running.post("stack", [row(6)])
    expected = [(n, n * 10, f"/{n % 3}!") for n in range(6)] + [(6, 6, "/0")]
    assert rows_of(running, "stack", "staging") == expected
    assert rows_of(running, "stack") == [shown(n) for n in range(7)]
    running.promote(str(made.id))
    assert rows_of(running, "stack") == expected
    delete(running, "stack", "id = 1", "stack: one")
    del expected[1]
    assert rows_of(running, "stack") == expected
    running.rollback()
    assert rows_of(running, "stack") == [shown(n) for n in range(7) if n != 1]
    del running.files["penstock.toml"]


def test_what_live_has_as_a_default_stays_in_the_files(running: Running) -> None:
    """Other Iceberg readers of live would lose a column that a rewritten file has with NULL in place of its default."""
    first = str(old("kept")["datasources/kept.datasource"])
    running.deploy({"datasources/kept.datasource": first})
    running.post("kept", [row(number) for number in range(3)])
    more = "`payload` String `json:$.payload`"
    second = first.replace(more, f"{more},\n    `kind` String `json:$.kind` DEFAULT 'none'")
    live = running.deploy({"datasources/kept.datasource": second})
    running.deploy(new("kept"), promote=False, destructive=True)
    assert settled(running, "kept", "ready") == 1.0
    table = qualified_table(table_of(running, "kept", live))
    stored = running.pipeline.core.warehouse.lake.spark.sql(f"SELECT kind FROM {table}").collect()
    assert [kind for (kind,) in stored] == ["none"] * 3
    running.pipeline.deployer.discard("staging")


def test_a_version_that_gets_tables_of_its_own_meanwhile(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns are written into the original after it was cloned, and before the version has the clone: the clone has
    them not."""
    running.deploy(old("split"))
    running.post("split", [row(number) for number in range(5)])
    made = running.deploy({**new("split"), "penstock.toml": NOTHING}, promote=False)
    core, table = running.pipeline.core, table_of(running, "split", made)
    clone_table = physical_tables.clone_table

    def clone_and_write(lake: object, original: str, clone: str) -> None:
        clone_table(lake, original, clone)  # type: ignore[arg-type]
        manifest = core.store.deployments.get(made.id).manifest
        for found in [each for each in bridged_columns(manifest) if each.table == table]:
            materialize_slice(core, manifest, found, SliceLimits(100, 10**9))

    with monkeypatch.context() as patch:
        patch.setattr(copy_on_write.physical_tables, "clone_table", clone_and_write)
        split_tables(core, made.id, table)
    assert table_of(running, "split", made) != table
    running.post("split", [row(5)])
    assert rows_of(running, "split", "staging") == [shown(n) for n in range(6)]
    running.pipeline.deployer.discard("staging")


def test_a_pause_holds_the_writing(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.deploy(old("held"))
    for number in range(3):
        running.post("held", [row(number)])
    reached, paused = threading.Event(), threading.Event()

    def hold(slices: int) -> None:
        if slices == 1:
            reached.set()
            paused.wait(60)

    with small_slices(monkeypatch, hold):
        made = staged(running, new("held"))
        assert reached.wait(120)
        running.pipeline.deployer.pause(str(made.id))
        paused.set()
        done = settled(running, "held", "backfilling")
        running.post("held", [row(3)])
        assert 0 < settled(running, "held", "backfilling") == done < 1
        running.pipeline.deployer.resume(str(made.id))
        wait_until(lambda: is_ready(running, made), 120)
    assert settled(running, "held", "ready") == 1.0
    running.catch_up()
    assert rows_of(running, "held", "staging") == [shown(n) for n in range(4)]
    running.pipeline.deployer.discard("staging")


def test_merged_rows_stay_merged(running: Running) -> None:
    """The older row of a key has a later version in another file; the column of the version is written itself."""
    plain, engine = "ENGINE MergeTree\n", "ENGINE ReplacingMergeTree\nENGINE_VER code\n"
    before = str(old("latest")["datasources/latest.datasource"]).replace("String `json:$.code`", "UInt8 `json:$.code`")
    before = before.replace(plain, engine)
    after = str(new("latest")["datasources/latest.datasource"]).replace(plain, engine)
    after = after.replace("toUInt16(code)", "100 - code")
    running.deploy({"datasources/latest.datasource": before})
    for code in (1, 3, 2):
        running.post("latest", [{**row(n), "code": code} for n in range(3)])
    newest = "SELECT id, code FROM latest FINAL ORDER BY id"
    assert running.ask(newest) == [(n, 3) for n in range(3)]
    made = running.deploy({"datasources/latest.datasource": after}, promote=False)
    assert settled(running, "latest", "ready") == 1.0
    compact_and_expire(running, table_of(running, "latest", made))
    assert running.ask(newest) == [(n, 3) for n in range(3)]
    assert running.ask(newest, "staging") == [(n, 99) for n in range(3)]
    running.promote()
    assert running.ask(newest) == [(n, 99) for n in range(3)]
    running.rollback()
    assert running.ask(newest) == [(n, 3) for n in range(3)]
    running.pipeline.deployer.discard("staging")
