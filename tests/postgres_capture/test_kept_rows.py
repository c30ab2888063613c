"""Rows go on where their store lacks a column: each value is kept once, and a replay makes the store whole."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.crash_points import KEEPING_POINTS, Crashed, arm, disarm
from penstock.errors import Failed
from penstock.postgres.capture.kept_replay import replay_rows
from penstock.postgres.capture.kept_rows import KeptRows
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.delivery.destination import Delivered, StoreLacksColumns
from penstock.postgres.delivery.keeping_destination import ForgettingDestination, KeepingDestination
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package import Package, PackageColumn, PackageRow, PackageSchema, RowPackage
from postgres_capture.conftest import Source
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SCHEMA = PackageSchema(QualifiedName("public", "one"), (PackageColumn("id", "integer", is_key=True),))
ROW = RowPackage("s", "one", SCHEMA, (1, 0), (PackageRow((1, 0), 1, "insert", ("9",)),))


def expected(source: Source) -> dict[tuple[object, ...], dict[str, object]]:
    return {(id,): {"id": id, "a": a, "label": label} for id, a, label in source.rows("SELECT * FROM {s}.one")}


@pytest.mark.parametrize("point", KEEPING_POINTS)
def test_values_of_a_lacking_column_are_kept_and_replayed(source: Source, landing: Landing, point: str) -> None:
    pipeline, url, token = landing
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, a text); INSERT INTO {s}.one VALUES (1, 'a1'), (2, 'a2')")
    source.set_up("one")
    pipeline.columns["one"] = frozenset({"id", "a"})
    kept, store = KeptRows(source.dsn, source.name), PenstockLanding(url, token)
    crashed = threading.Event()
    with producing(source.dsn, source.name, KeepingDestination(store, kept)) as running:
        source.wait_until_stored()
        arm(point, 1, crashed.set)
        source.run("ALTER TABLE {s}.one ADD COLUMN label text")
        source.run("INSERT INTO {s}.one VALUES (3, 'a3', 'l3'), (4, 'a4', 'l4'), (5, 'a5', NULL)")
        source.run("UPDATE {s}.one SET label = 'l1', a = 'a1*' WHERE id = 1; DELETE FROM {s}.one WHERE id = 4")
        if point == "cdc.kept":
            wait_until(lambda: running.has_ended, 30)
            assert disarm()
        else:
            source.wait_until_stored()
    with producing(source.dsn, source.name, KeepingDestination(PenstockLanding(url, token), kept)):
        source.wait_until_stored()
        assert {id for (id,) in pipeline.final("one", ("id",))} == {1, 2, 3, 5}, "rows go on"
        (status,) = read_status(source.connection, source.name).tables
        assert (status.state, status.rows_kept) == ("streaming", 4), "a deletion has only its key"
        assert any(
            "are in penstock without label" in each for each in read_status(source.connection, source.name).alarms
        )
        with pytest.raises(StoreLacksColumns):
            replay_rows(kept, store, "one")
        pipeline.columns["one"] = frozenset({"id", "a", "label"})
        source.run("UPDATE {s}.one SET label = 'l3*' WHERE id = 3; INSERT INTO {s}.one VALUES (6, 'a6', 'l6')")
        source.wait_until_stored()
        if point == "cdc.replayed":
            with pytest.raises(Crashed):
                replay_rows(kept, store, "one")
            assert disarm()
        before = len(pipeline.landed("one"))
        assert replay_rows(kept, store, "one") == 4
        assert len(pipeline.landed("one")) == before + (4 if point != "cdc.replayed" else 0), "each is sent once"
        assert replay_rows(kept, store, "one") == 0
        found = pipeline.final("one", ("id",))
    assert {key: {"label": None, **row} for key, row in found.items()} == expected(source)
    assert read_status(source.connection, source.name).tables[0].rows_kept == 0


def test_rows_that_are_read_are_kept_too_and_a_key_never_goes(source: Source, landing: Landing) -> None:
    pipeline, url, token = landing
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, a text, label text)")
    source.run("CREATE TABLE {s}.two (id int PRIMARY KEY)")
    source.run("INSERT INTO {s}.one VALUES (1, 'a', 'l'), (2, 'b', NULL); INSERT INTO {s}.two VALUES (1)")
    source.set_up("one", "two")
    pipeline.columns |= {"one": frozenset({"id"}), "two": frozenset({"other"})}
    kept, store = KeptRows(source.dsn, source.name), PenstockLanding(url, token)
    with producing(source.dsn, source.name, KeepingDestination(store, kept)):
        wait_until(lambda: read_status(source.connection, source.name).tables[1].state == "waiting", 30)
        wait_until(lambda: read_status(source.connection, source.name).tables[0].rows_kept == 2, 30)
        pipeline.columns |= {"one": frozenset({"id", "a", "label"}), "two": frozenset({"id"})}
        source.wait_until_stored()
        assert kept.stores("penstock") == ["one"]
        replay_rows(kept, store, "one")
    assert pipeline.final("one", ("id",)) == expected(source)
    assert pipeline.landed("two")[0]["id"] == 1


def test_what_a_replay_would_bring_back_is_not_kept(source: Source, landing: Landing) -> None:
    """Rows from before a TRUNCATE; and of a table without a key each row would be there twice."""
    pipeline, url, token = landing
    source.run(
        "CREATE TABLE {s}.one (id int PRIMARY KEY, a text, label text); CREATE TABLE {s}.events (id int, label text)"
    )
    source.set_up("one", "events", insert_only=("events",))
    pipeline.columns |= {"one": frozenset({"id", "a"}), "events": frozenset({"id"})}
    kept, store = KeptRows(source.dsn, source.name), PenstockLanding(url, token)
    with producing(source.dsn, source.name, KeepingDestination(store, kept)):
        source.run("INSERT INTO {s}.one VALUES (1, 'a', 'l')")
        wait_until(lambda: kept.stores("penstock") == ["one"], 30)
        source.run("INSERT INTO {s}.events VALUES (1, 'l')")
        wait_until(lambda: read_status(source.connection, source.name).tables[0].state == "waiting", 30)
        source.run("TRUNCATE {s}.one")
        wait_until(lambda: kept.stores("penstock") == [], 30)
        source.run("INSERT INTO {s}.one VALUES (2, 'b', 'm')")
        wait_until(lambda: kept.stores("penstock") == ["one"], 30)
        pipeline.columns |= {"one": frozenset({"id", "a", "label"}), "events": frozenset({"id", "label"})}
        source.wait_until_stored()
        replay_rows(kept, store, "one")
        kept.keep("penstock", ROW, ["label"])
        source.remove("one")
        source.set_up("one")
        assert kept.stores("penstock") == [], "all is read again"
        source.wait_until_stored()
    assert pipeline.final("one", ("id",)) == expected(source)
    assert [(row["id"], row["label"]) for row in pipeline.landed("events")] == [(1, "l")]


class PausedStore:
    """A store that says when it is asked for rows of a replay, and waits."""

    def __init__(self, store: PenstockLanding):
        self._store, self.name = store, store.name
        self.asked, self.may_go_on = threading.Event(), threading.Event()

    def deliver(self, package: Package) -> Delivered:
        self.asked.set()
        assert self.may_go_on.wait(30)
        return self._store.deliver(package)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.mark.parametrize("keeps_still", [True, False])
def test_a_truncate_while_rows_are_replayed(source: Source, landing: Landing, keeps_still: bool) -> None:
    """What is sent again is gone with the TRUNCATE, also where the setting was taken back meanwhile."""
    pipeline, url, token = landing
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, a text, label text)")
    source.set_up("one")
    pipeline.columns["one"] = frozenset({"id", "a"})
    kept = KeptRows(source.dsn, source.name)
    with producing(source.dsn, source.name, KeepingDestination(PenstockLanding(url, token), kept)):
        source.run("INSERT INTO {s}.one VALUES (1, 'a', 'l')")
        source.wait_until_stored()
    pipeline.columns["one"] = frozenset({"id", "a", "label"})
    other, store = KeptRows(source.dsn, source.name), PausedStore(PenstockLanding(url, token))
    replaying = threading.Thread(target=lambda: replay_rows(other, store, "one"), daemon=True)
    replaying.start()
    assert store.asked.wait(30)
    kind = KeepingDestination if keeps_still else ForgettingDestination
    with producing(source.dsn, source.name, kind(PenstockLanding(url, token), kept)):
        source.run("TRUNCATE {s}.one; INSERT INTO {s}.one VALUES (2, 'b', 'm')")
        wait_until(lambda: source.rows("SELECT count(*) FROM pg_locks WHERE NOT granted")[0][0] == 1, 30)
        store.may_go_on.set()
        replaying.join(30)
        source.wait_until_stored()
    assert pipeline.final("one", ("id",)) == expected(source)
    assert kept.stores("penstock") == []


def test_a_capture_that_was_set_up_before_rows_could_be_kept(source: Source) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    source.run("ALTER TABLE penstock.kept_rows RENAME TO other_rows")
    try:
        with pytest.raises(Failed) as refused:
            KeptRows(source.dsn, source.name).keep("penstock", ROW, ["label"])
        assert refused.value.hint == "`penstock cdc setup` once more makes it"
        assert read_status(source.connection, source.name).tables[0].rows_kept == 0
    finally:
        source.run("ALTER TABLE penstock.other_rows RENAME TO kept_rows")
