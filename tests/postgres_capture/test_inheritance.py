"""Tables that others inherit from: a row is in the store of its own table, once, and nobody's UPDATE fails."""

from __future__ import annotations

from penstock.postgres.capture.setup import add_table, set_up, table_choice
from penstock.postgres.capture.status import read_status
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import producing

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=7, bytes=2_000, seconds=0.02)
PUBLISHED = "SELECT tablename FROM pg_publication_tables WHERE schemaname = '{s}' ORDER BY 1"


def make_heirs(source: Source, landing: Landing) -> None:
    """A parent with rows of its own; a child without a key, and one with a key, whose keys are the parent's, too."""
    source.run("CREATE TABLE {s}.parent (id int PRIMARY KEY, note text, large text)")
    source.run("CREATE TABLE {s}.bare () INHERITS ({s}.parent); CREATE TABLE {s}.grandchild () INHERITS ({s}.bare)")
    source.run("CREATE TABLE {s}.child (PRIMARY KEY (id), more int) INHERITS ({s}.parent)")
    source.run("ALTER TABLE {s}.parent ALTER large SET STORAGE EXTERNAL")
    for name in ("parent", "bare", "grandchild", "child"):
        source.run(
            f"INSERT INTO {{s}}.{name} SELECT n, '{name}', repeat('{name[0]}', 3000) FROM generate_series(1, 9) n"
        )
    landing[0].columns |= {each: frozenset({"id", "note", "large", "more"}) for each in ("parent", "child")}


def check(source: Source, landing: Landing, *names: str) -> None:
    for name in names:
        rows = source.rows(f"SELECT id, note, large FROM ONLY {{s}}.{name}")
        expected = {(id,): (note, large) for id, note, large in rows}
        shown = landing[0].final(name, ("id",))
        assert {key: (row["note"], row["large"]) for key, row in shown.items()} == expected, name


def test_the_rows_of_a_parent_are_its_own(source: Source, landing: Landing) -> None:
    make_heirs(source, landing)
    source.set_up("parent")
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:]), SMALL):
        source.wait_until_stored()
        check(source, landing, "parent")
        source.run("UPDATE {s}.parent SET note = note || '*'; DELETE FROM {s}.bare WHERE id = 1")
        source.wait_until_stored()
        assert len(landing[0].landed("parent")) == 18, "each once"
        source.run("ALTER TABLE {s}.parent ALTER note TYPE varchar(99) USING note || '!'")  # all are read again
        source.run("UPDATE ONLY {s}.parent SET id = 10 WHERE id = 1")
        source.wait_until_stored()
    check(source, landing, "parent")
    assert source.rows(PUBLISHED) == [("parent",)]


def test_a_parent_and_its_child_are_captured_beside_each_other(source: Source, landing: Landing) -> None:
    make_heirs(source, landing)
    source.set_up("parent")
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:]), SMALL):
        source.wait_until_stored()
        add_table(source.connection, source.name, table_choice(f"{source.schema}.child", ()))
        source.run("UPDATE {s}.parent SET note = note || '*'; INSERT INTO {s}.child (id, note) VALUES (77, 'new')")
        source.wait_until_stored()
        check(source, landing, "parent", "child")
        source.remove("parent")
        source.run("UPDATE {s}.parent SET note = 'last'")
        source.wait_until_stored()
        check(source, landing, "child")
    assert source.rows(PUBLISHED) == [("child",)]


def test_setup_withdraws_the_heirs_that_it_published_before(source: Source, landing: Landing) -> None:
    """Without a key of its own an heir that is published refuses the application's UPDATE."""
    make_heirs(source, landing)
    source.set_up("parent")
    source.run(
        "ALTER PUBLICATION penstock_{s} DROP TABLE ONLY {s}.parent; ALTER PUBLICATION penstock_{s} ADD TABLE {s}.parent"
    )
    assert len(source.rows(PUBLISHED)) == 4
    set_up(source.connection, source.name, [])
    assert source.rows(PUBLISHED) == [("parent",)]
    assert read_status(source.connection, source.name).unread == ()
    source.run("UPDATE {s}.parent SET note = 'changed'")
