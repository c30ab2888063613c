"""Targets that begin as clones of live tables of other names: nothing is lost or doubled, and files stay."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle import executor
from penstock.deploy.maintenance.orphan_cleanup import find_orphans
from penstock.deploy.runtime.core import Core
from penstock.lake.maintenance.orphan_files import delete_files
from penstock.lake.tables.physical_tables import list_tables
from penstock.plan.steps import Activate
from waiting import wait_until


def source(columns: str, engine: str = "MergeTree", key: str = "id") -> str:
    return f"SCHEMA >\n    {columns}\n\nENGINE {engine}\nENGINE_SORTING_KEY {key}\n"


def view(sql: str, target: str) -> str:
    return f"NODE rows\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE {target}\n"


LANDED = source("`id` UInt32 `json:$.id`, `kind` String `json:$.kind`")
ROW = "`id` UInt32, `kind` String"


def files(prefix: str, **texts: str) -> dict[str, str | None]:
    kinds = {name: "pipes" if "NODE" in text else "datasources" for name, text in texts.items()}
    return {
        f"{kinds[name]}/{prefix}{name}.{kinds[name].rstrip('s')}": text.replace("@", prefix)
        for name, text in texts.items()
    }


def ids(running: Running, name: str, version: str = "live") -> list[int]:
    return sorted(int(str(row[0])) for row in running.ask(f"SELECT id FROM {name}", version))


EVENTS = {
    "ev": LANDED,
    "some": source(ROW),
    "some_mv": view("SELECT id, kind FROM @ev WHERE kind != 'none'", "@some"),
}
"""A landing, and the rows of it that one view keeps."""
SECOND = {
    "more": source(ROW, key="kind, id"),
    "more_mv": view("SELECT id, kind FROM @ev WHERE 'none' != kind", "@more"),
    "passed": source(ROW),
    "passed_mv": view("SELECT * FROM @ev", "@passed"),
}
"""The same rows in a second table, and all rows as they are."""


def event(number: int) -> Mapping[str, object]:
    return {"id": number, "kind": ("a", "none", "b")[number % 3]}


def checked(running: Running, prefix: str, version: str, names: tuple[str, ...]) -> None:
    """Each table has each row once, as many as there are."""
    every = ids(running, f"{prefix}ev", version)
    assert every == list(range(len(every)))
    for name in names:
        wanted = every if name == "passed" else [each for each in every if each % 3 != 1]
        assert (name, ids(running, f"{prefix}{name}", version)) == (name, wanted)


def test_rows_that_arrive_meanwhile_are_in_each_table_once(running: Running) -> None:
    """Through a deployment, a promotion, a rollback, and the end of the table of which another one is a clone."""
    running.deploy(files("once_", **EVENTS))
    with running.posting("once_ev", event):
        wait_until(lambda: len(ids(running, "once_ev")) > 20)
        staged = running.deploy(files("once_", **SECOND), promote=False)
        strategies = running.strategies(staged)
        assert [strategies[f"once_{name}"] for name in ("more", "passed")] == ["create", "create"]
        assert staged.plan["rows_moved"] == 0
        running.promote()
        running.rollback()
        running.promote()
    running.catch_up()
    checked(running, "once_", "live", ("some", "more", "passed"))
    checked(running, "once_", "previous", ("some",))
    gone = dict.fromkeys(files("once_", some="", some_mv="NODE"))
    running.deploy(gone, destructive=True)
    running.pipeline.deployer.retire(None)
    _delete_files_of_nobody(running)
    checked(running, "once_", "live", ("more", "passed"))
    running.post("once_ev", [event(len(ids(running, "once_ev")))])
    checked(running, "once_", "live", ("more", "passed"))


def test_a_clone_that_goes_first(running: Running) -> None:
    """The other way round: the clone is dropped, and what it is a clone of keeps its files."""
    running.deploy(files("first_", **EVENTS))
    running.post("first_ev", [event(number) for number in range(12)])
    staged = running.deploy(files("first_", **SECOND), promote=False)
    running.pipeline.deployer.discard(str(staged.id))
    _delete_files_of_nobody(running)
    checked(running, "first_", "live", ("some",))
    running.post("first_ev", [event(12)])
    checked(running, "first_", "live", ("some",))


def _delete_files_of_nobody(running: Running) -> None:
    """What maintenance deletes in the end, without its waits."""
    core = running.pipeline.core
    found = [file for file in find_orphans(core) if file.path.endswith(".parquet")]
    delete_files(core.warehouse.lake, list_tables(core.warehouse.lake)[0], found)


def test_two_targets_change_places(running: Running) -> None:
    def halves(small: str, large: str) -> dict[str, str | None]:
        return files(
            "two_",
            ev=LANDED,
            small=source(ROW),
            large=source(ROW),
            one_mv=view("SELECT id, kind FROM @ev WHERE id < 5", f"@{small}"),
            other_mv=view("SELECT id, kind FROM @ev WHERE id >= 5", f"@{large}"),
        )

    running.deploy(halves("small", "large"))
    running.post("two_ev", [event(number) for number in range(10)])
    staged = running.deploy(halves("large", "small"), promote=False, destructive=True)
    assert staged.plan["rows_moved"] == 0
    running.post("two_ev", [event(number) for number in (2, 7)])
    low, high = [0, 1, 2, 2, 3, 4], [5, 6, 7, 7, 8, 9]
    for version, names in (("live", ("small", "large")), ("staging", ("large", "small"))):
        assert [ids(running, f"two_{name}", version) for name in names] == [low, high]
    running.promote()
    running.pipeline.deployer.retire(None)
    running.post("two_ev", [event(number) for number in (3, 8)])
    assert [ids(running, f"two_{name}") for name in ("large", "small")] == [sorted([*low, 3]), sorted([*high, 8])]


def test_a_row_that_is_posted_after_the_plan(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """To the table that is to be cloned: no view into the new one would give it."""
    running.deploy(files("late_", **EVENTS))
    running.post("late_ev", [event(number) for number in range(6)])
    activate = executor.activate_deployment

    def post_first(core: Core, id: int, step: Activate) -> None:
        running.pipeline.ingestion.append("late_some", b'{"id": 99, "kind": "a"}', None)
        wait_until(lambda: 99 in ids(running, "late_some"))
        activate(core, id, step)

    with monkeypatch.context() as patch:
        patch.setattr(executor, "activate_deployment", post_first)
        failed = running.attempt(files("late_", **SECOND), promote=False)
    assert failed.state == "failed"
    assert "other rows than its views give" in str(failed.error)
    again = running.deploy(files("late_", **SECOND), promote=False)
    assert again.plan["rows_moved"] != 0
    assert 99 not in ids(running, "late_more", "staging")
    running.pipeline.deployer.discard(str(again.id))


def test_a_crash_after_the_clones_were_made(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the deployment was recorded as activated: the step is run again, while rows went on to arrive."""
    running.deploy(files("crash_", **EVENTS))
    running.post("crash_ev", [event(number) for number in range(9)])
    activate, record = executor.activate_deployment, running.pipeline.store.deployments.activate

    def crash_once(core: Core, id: int, step: Activate) -> None:
        def crash(*_: object) -> None:
            raise ConnectionError("the store is gone")

        with monkeypatch.context() as patch:
            patch.setattr(core.store.deployments, "activate", crash)
            with pytest.raises(ConnectionError):
                activate(core, id, step)
        assert core.store.deployments.activate == record
        running.pipeline.ingestion.append("crash_ev", b'{"id": 9, "kind": "a"}', None)
        wait_until(lambda: 9 in ids(running, "crash_some"))
        activate(core, id, step)

    with monkeypatch.context() as patch:
        patch.setattr(executor, "activate_deployment", crash_once)
        running.deploy(files("crash_", **SECOND), promote=False)
    running.post("crash_ev", [event(number) for number in range(10, 14)])
    checked(running, "crash_", "staging", ("some", "more", "passed"))


def test_rows_that_another_version_accepted(running: Running) -> None:
    """They are in the table of a landing, and live does not see them: a clone would show them."""
    running.deploy(files("bad_", **EVENTS))
    wide = LANDED.replace("UInt32", "UInt64")
    staged = running.deploy(files("bad_", ev=wide), promote=False)
    assert running.strategies(staged)["bad_ev"] == "in_place"
    running.post("bad_ev", [{"id": 1, "kind": "a"}, {"id": 2**40, "kind": "a"}])
    assert (ids(running, "bad_ev"), ids(running, "bad_ev", "staging")) == ([1], [1, 2**40])
    running.pipeline.deployer.discard(str(staged.id))
    failed = running.attempt(files("bad_", passed=source(ROW), passed_mv=view("SELECT * FROM @ev", "@passed")))
    assert (failed.state, ids(running, "bad_ev")) == ("failed", [1])
    assert "another version did" in str(failed.error)


def test_rows_that_a_former_version_did_not_accept(running: Running) -> None:
    """What live sees is in the clone, whatever a version of before has said of it."""
    running.deploy(files("old_", ev=LANDED.replace("UInt32", "UInt8")))
    running.deploy(files("old_", ev=LANDED), promote=False)
    running.post("old_ev", [{"id": 1, "kind": "a"}, {"id": 300, "kind": "a"}])
    assert (ids(running, "old_ev"), ids(running, "old_ev", "staging")) == ([1], [1, 300])
    running.promote()
    made = running.deploy(files("old_", passed=source(ROW), passed_mv=view("SELECT * FROM @ev", "@passed")))
    assert made.plan["rows_moved"] == 0
    assert ids(running, "old_passed") == ids(running, "old_ev") == [1, 300]


def test_the_other_table_goes_in_the_same_deployment(running: Running) -> None:
    """What it had is in the clone, through a rollback and the end of the version that had it."""
    running.deploy(files("gone_", **EVENTS))
    running.post("gone_ev", [event(number) for number in range(9)])
    removed = dict.fromkeys(files("gone_", some="", some_mv="NODE"))
    staged = running.deploy({**removed, **files("gone_", **SECOND)}, promote=False, destructive=True)
    assert staged.plan["rows_moved"] == 0
    running.post("gone_ev", [event(number) for number in range(9, 12)])
    running.promote()
    running.rollback()
    running.post("gone_ev", [event(12)])
    checked(running, "gone_", "live", ("some",))
    running.promote()
    running.pipeline.deployer.retire(None)
    _delete_files_of_nobody(running)
    running.post("gone_ev", [event(13)])
    checked(running, "gone_", "live", ("more", "passed"))


def test_a_column_that_was_left_out_does_not_come_back(running: Running) -> None:
    """Not even if the rows were stored by it, and the clone gets a column of its name."""
    wide = {
        "ev": LANDED,
        "dated": source(f"{ROW}, `day` String", key="day\nENGINE_PARTITION_KEY day"),
        "dated_mv": view("SELECT id, kind, 'first' AS day FROM @ev", "@dated"),
    }
    running.deploy(files("left_", **wide))
    running.post("left_ev", [event(number) for number in range(4)])
    thin = {"thin": source(ROW), "thin_mv": view("SELECT id, kind FROM @ev", "@thin")}
    removed = dict.fromkeys(files("left_", dated="", dated_mv="NODE"))
    made = running.deploy({**removed, **files("left_", **thin)}, destructive=True)
    assert made.plan["rows_moved"] == 0
    running.pipeline.deployer.retire(None)
    running.post("left_ev", [event(4)])
    again = {
        "thin": source(f"{ROW}, `day` String"),
        "thin_mv": view("SELECT id, kind, 'second' AS day FROM @ev", "@thin"),
    }
    made = running.deploy(files("left_", **again))
    assert (running.strategies(made)["left_thin"], made.plan["rows_moved"]) == ("reuse", 0)
    running.post("left_ev", [event(5)])
    assert sorted(running.ask("SELECT id, day FROM left_thin")) == [(number, "second") for number in range(6)]


def test_the_rows_of_the_other_table_were_removed(running: Running) -> None:
    """The clone would lack what the new view gives."""
    running.deploy(files("cut_", **EVENTS))
    running.post("cut_ev", [event(number) for number in range(6)])
    receipt = running.pipeline.replacement.truncate("cut_some", "all of them")
    running.pipeline.ingestion.wait(receipt, 60)
    wait_until(lambda: ids(running, "cut_some") == [])
    made = running.deploy(files("cut_", **SECOND))
    assert made.plan["rows_moved"] != 0
    checked(running, "cut_", "live", ("more", "passed"))


def test_a_second_candidate_takes_the_clone_of_the_first(running: Running) -> None:
    running.deploy(files("pair_", **EVENTS))
    running.post("pair_ev", [event(number) for number in range(6)])
    first = running.deploy(files("pair_", **SECOND), promote=False)
    third = {"third": source(ROW), "third_mv": view("SELECT id, kind FROM @ev WHERE kind != 'none'", "@third")}
    second = running.deploy(files("pair_", **SECOND, **third), promote=False)
    strategies = running.strategies(second)
    assert [strategies[f"pair_{name}"] for name in ("more", "passed", "third")] == ["reuse", "reuse", "create"]
    assert second.plan["rows_moved"] == 0
    running.post("pair_ev", [event(number) for number in range(6, 9)])
    running.promote(str(second.id))
    running.pipeline.deployer.discard(str(first.id))
    running.post("pair_ev", [event(9)])
    checked(running, "pair_", "live", ("some", "more", "passed", "third"))
