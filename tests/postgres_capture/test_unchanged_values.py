"""Large values that an UPDATE left as they were, while the table changed before the capture read it: never the value of
another column, and none that is missing without a word."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from penstock.crash_points import arm, disarm
from penstock.postgres.capture.status import read_status
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.landing_server import OWN, InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
LARGE = 2_500
SMALL = PackageLimits(rows=3, bytes=9_000, seconds=0.01)


def capture(source: Source, landing: Landing) -> None:
    """Let the producer read all that is written, and end."""
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:]), SMALL):
        source.wait_until_stored()


def alarms(source: Source) -> list[str]:
    found = read_status(source.connection, source.name).alarms
    return [each for each in found if "values" in each or "waits" in each]


def make_notes(source: Source, landing: Landing, more: str = "") -> None:
    """A table with two large values, which is captured up to here."""
    source.run(f"CREATE TABLE {{s}}.notes (id int PRIMARY KEY, n int, body text, draft text{more})")
    source.run("ALTER TABLE {s}.notes ALTER body SET STORAGE EXTERNAL, ALTER draft SET STORAGE EXTERNAL")
    source.run("INSERT INTO {s}.notes VALUES (1, 0, repeat('b', 3000), repeat('d', 3000))")
    source.set_up("notes")
    landing[0].columns["notes"] = frozenset({"id", "key", "n", "body", "draft", "text", "other", *OWN})
    capture(source, landing)


def update_of(landing: Landing, n: int) -> dict[str, Any]:
    """The row of the stream that set `n`."""
    return next(row for row in landing[0].landed("notes") if row.get("n") == n and is_streamed(row))


def is_streamed(row: dict[str, Any]) -> bool:
    return bool(row["cdc_version"] != row["cdc_commit_lsn"])


def test_two_columns_that_exchanged_their_names(source: Source, landing: Landing) -> None:
    make_notes(source, landing)
    source.run("UPDATE {s}.notes SET n = 1")
    source.run("ALTER TABLE {s}.notes RENAME body TO other; ALTER TABLE {s}.notes RENAME draft TO body")
    source.run("ALTER TABLE {s}.notes RENAME other TO draft")
    source.run("UPDATE {s}.notes SET n = 2")
    capture(source, landing)
    first, second = update_of(landing, 1), update_of(landing, 2)
    assert (first["body"], first["draft"]) == ("b" * 3000, "d" * 3000)
    assert (second["body"], second["draft"]) == ("d" * 3000, "b" * 3000)
    assert alarms(source) == []


def test_a_column_that_took_the_name_of_a_dropped_one(source: Source, landing: Landing) -> None:
    make_notes(source, landing)
    source.run("UPDATE {s}.notes SET n = 1")
    source.run("ALTER TABLE {s}.notes DROP draft; ALTER TABLE {s}.notes ADD draft text DEFAULT repeat('x', 9)")
    source.run("UPDATE {s}.notes SET n = 2")
    capture(source, landing)
    first = update_of(landing, 1)
    assert (first["body"], first["draft"]) == ("b" * 3000, None)
    assert update_of(landing, 2)["draft"] == "x" * 9
    assert len(alarms(source)) == 1
    assert "1 rows of" in alarms(source)[0]
    assert "`draft`" in alarms(source)[0]
    assert "nobody has these values any more" in alarms(source)[0]


def test_table_key_and_schema_that_were_renamed(source: Source, landing: Landing) -> None:
    make_notes(source, landing)
    source.run("UPDATE {s}.notes SET n = 1")
    source.run("ALTER TABLE {s}.notes RENAME id TO key; ALTER TABLE {s}.notes RENAME body TO id")
    source.run("ALTER TABLE {s}.notes RENAME TO texts; CREATE TABLE {s}.notes (id int PRIMARY KEY, body text)")
    source.run("INSERT INTO {s}.notes VALUES (1, 'of another table')")
    source.run(f"CREATE SCHEMA {source.schema}_new; ALTER TABLE {{s}}.texts SET SCHEMA {source.schema}_new")
    capture(source, landing)
    assert update_of(landing, 1)["body"] == "b" * 3000
    assert alarms(source) == []


def test_types_that_changed(source: Source, landing: Landing) -> None:
    """Texts stay what they are; a value of another form is not taken, and comes with the next reading."""
    make_notes(source, landing)
    source.run("ALTER TABLE {s}.notes ALTER draft SET NOT NULL")
    source.run("UPDATE {s}.notes SET n = 1")
    source.run("ALTER TABLE {s}.notes ALTER body TYPE varchar(4000), ALTER draft TYPE bytea USING draft::bytea")
    capture(source, landing)
    first = update_of(landing, 1)
    assert (first["body"], first["draft"]) == ("b" * 3000, "")
    assert landing[0].final("notes", ("id",))[(1,)]["draft"] == "\\x" + "64" * 3000
    assert "the table is read again" in alarms(source)[0]


def test_a_table_that_is_gone_and_rows_that_are(source: Source, landing: Landing) -> None:
    make_notes(source, landing)
    source.run("INSERT INTO {s}.notes SELECT g, 0, repeat('b', 3000), 'd' FROM generate_series(2, 3) g")
    source.run("UPDATE {s}.notes SET n = 1 WHERE id = 2; DELETE FROM {s}.notes WHERE id = 2")
    source.run("UPDATE {s}.notes SET n = 1 WHERE id = 3; UPDATE {s}.notes SET id = 4 WHERE id = 3")
    capture(source, landing)
    assert {key: len(row["body"]) for key, row in landing[0].final("notes", ("id",)).items()} == {
        (1,): 3000,
        (4,): 3000,
    }
    source.run("UPDATE {s}.notes SET n = 5; DROP TABLE {s}.notes")
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:]), SMALL):
        wait_until(lambda: len([row for row in landing[0].landed("notes") if row.get("n") == 5]) == 2, 30)
    assert any("without a large value of `body`" in each for each in alarms(source))
    source.remove("notes")
    assert alarms(source) == []


def test_rows_whose_key_is_none_any_more(source: Source, landing: Landing) -> None:
    """Two rows have the key that told them apart: neither value is taken for sure. Behind that the table waits."""
    make_notes(source, landing)
    source.run("INSERT INTO {s}.notes VALUES (2, 0, repeat('c', 3000), 'd')")
    source.run("UPDATE {s}.notes SET n = 1 WHERE id = 1; ALTER TABLE {s}.notes DROP CONSTRAINT notes_pkey")
    source.run(
        "ALTER TABLE {s}.notes ADD key int GENERATED ALWAYS AS IDENTITY PRIMARY KEY; UPDATE {s}.notes SET id = 1"
    )
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        wait_until(lambda: any("waits" in each for each in alarms(source)), 30)
    assert update_of(landing, 1)["body"] is None
    assert any("`body`" in each for each in alarms(source))


def test_a_row_that_is_sent_again_is_counted_once(source: Source, landing: Landing) -> None:
    """The producer ends when the row is stored and not confirmed; a later row is without nothing."""
    make_notes(source, landing)
    source.run("UPDATE {s}.notes SET n = 1; ALTER TABLE {s}.notes DROP draft")
    crashed = threading.Event()
    arm("cdc.delivered", 1, crashed.set)
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        assert crashed.wait(30)
    disarm()
    source.run("INSERT INTO {s}.notes VALUES (2, 2)")
    capture(source, landing)
    assert source.rows("SELECT column_name, rows FROM penstock.lost_values WHERE capture = '{s}'") == [("draft", 1)]


def test_a_large_key(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.files (path text PRIMARY KEY, n int, body text)")
    source.run("ALTER TABLE {s}.files ALTER path SET STORAGE EXTERNAL, ALTER body SET STORAGE EXTERNAL")
    source.run("INSERT INTO {s}.files VALUES (repeat('p', 2400), 0, repeat('b', 3000))")
    source.set_up("files")
    landing[0].columns["files"] = frozenset({"path", "n", "body", *OWN})
    source.run("UPDATE {s}.files SET n = 1")
    capture(source, landing)
    assert landing[0].final("files", ("path",)) == {("p" * 2400,): {"path": "p" * 2400, "n": 1, "body": "b" * 3000}}
    assert [row["cdc_is_deleted"] for row in landing[0].landed("files")] == [0, 0]


def test_a_column_that_went_with_its_type(source: Source, landing: Landing) -> None:
    """DROP TYPE … CASCADE is a change of the table as well: the event trigger tells it."""
    source.run("CREATE DOMAIN {s}.long_text AS text")
    make_notes(source, landing, ", text {s}.long_text")
    source.run("ALTER TABLE {s}.notes ALTER text SET STORAGE EXTERNAL; UPDATE {s}.notes SET text = repeat('t', 3000)")
    source.run("UPDATE {s}.notes SET n = 1; DROP DOMAIN {s}.long_text CASCADE")
    source.run("ALTER TABLE {s}.notes ADD text text; UPDATE {s}.notes SET text = repeat('u', 3000)")
    source.run("UPDATE {s}.notes SET n = 2")
    capture(source, landing)
    assert update_of(landing, 1)["text"] is None
    assert update_of(landing, 2)["text"] == "u" * 3000


@dataclass
class Column:
    """A column as the test knows it, by a tag that its values begin with."""

    tag: str
    name: str
    type: str = "text"
    forms: list[str] = field(default_factory=list)
    is_there: bool = True


CHANGE = st.one_of(
    st.tuples(st.just("touch"), st.integers(1, 3), st.just(0)),
    st.tuples(st.just("touch"), st.integers(1, 3), st.just(0)),
    st.tuples(st.just("write"), st.integers(1, 3), st.integers(0, 9)),
    st.tuples(st.just("move"), st.integers(1, 3), st.integers(1, 6)),
    st.tuples(
        st.sampled_from(["add", "drop", "rename", "swap", "again", "table", "varchar", "json"]),
        st.integers(0, 9),
        st.integers(0, 9),
    ),
    st.tuples(st.just("capture"), st.just(0), st.just(0)),
)


class World:
    """A table of which a producer sometimes reads what was done."""

    def __init__(self, source: Source, landing: Landing, *, has_trigger: bool):
        self.source, self.landing = source, landing
        self.store = self.name = f"t_{len(landing[0].columns)}"
        self.columns = [Column("A", "a"), Column("B", "b")]
        self.all = list(self.columns)
        self.made = self.step = 0
        self.history: dict[int, dict[str, tuple[Column, str]]] = {}
        self.is_unsure = False
        """Whether places do not tell all columns any more."""
        self.has_trigger = has_trigger
        source.run(f"CREATE TABLE {{s}}.{self.name} (id int PRIMARY KEY, step int, a text, b text)")
        source.run(f"ALTER TABLE {{s}}.{self.name} ALTER a SET STORAGE EXTERNAL, ALTER b SET STORAGE EXTERNAL")
        for id in (1, 2, 3):
            source.run(f"INSERT INTO {{s}}.{self.name} VALUES ({id}, 0, {self.value(0)}, {self.value(1)})")
        source.set_up(self.name)
        state = "ENABLE" if has_trigger else "DISABLE"
        for each in ("penstock_tables", "penstock_drops"):
            source.run(f"ALTER EVENT TRIGGER {each} {state}")
        names = {f"{letter}{number}" for letter in "abn" for number in range(40)}
        landing[0].columns[self.name] = frozenset({"id", "step", "a", "b", *names, *OWN})
        self.note()
        capture(source, landing)

    def value(self, at: int) -> str:
        self.made += 1
        column = self.columns[at]
        text = f"'{column.tag}{self.made} ' || repeat('-', {LARGE})"
        return f"to_jsonb({text})" if column.type == "jsonb" else text

    def note(self) -> None:
        self.history[self.step] = {each.name: (each, each.type) for each in self.columns}

    def run(self, statement: str) -> None:
        self.source.run(statement.replace("{t}", f"{{s}}.{self.name}"))

    def do(self, kind: str, one: int, other: int) -> None:
        self.step += 1
        columns = self.columns
        at, to = (one % len(columns), other % len(columns)) if columns else (0, 0)
        match kind:
            case "touch":
                self.run(f"UPDATE {{t}} SET step = {self.step} WHERE id % 3 = {one % 3}")
            case "write" if columns:
                at = other % len(columns)
                self.run(f"UPDATE {{t}} SET step = {self.step}, {columns[at].name} = {self.value(at)} WHERE id = {one}")
            case "move":
                free = f"NOT EXISTS (SELECT FROM {{t}} WHERE id = {other})"
                self.run(f"UPDATE {{t}} SET id = {other}, step = {self.step} WHERE id = {one} AND {free}")
            case "table":
                self.run(f"ALTER TABLE {{t}} RENAME TO {self.store}_{self.step}")
                self.name = f"{self.store}_{self.step}"
            case "capture":
                capture(self.source, self.landing)
            case "add":
                self.add(f"n{self.step}")
            case "drop" | "again" if columns:
                self.run(f"ALTER TABLE {{t}} DROP {columns[at].name}")
                self.is_unsure, columns[at].is_there = True, False
                gone = columns.pop(at)
                if kind == "again":
                    self.add(gone.name)
            case "rename" if columns:
                self.run(f"ALTER TABLE {{t}} RENAME {columns[at].name} TO a{self.step}")
                columns[at].name = f"a{self.step}"
            case "swap" if columns and at != to:
                names = columns[at].name, columns[to].name
                for was, now in ((names[0], "b39"), (names[1], names[0]), ("b39", names[1])):
                    self.run(f"ALTER TABLE {{t}} RENAME {was} TO {now}")
                columns[at].name, columns[to].name = names[1], names[0]
            case "varchar" if columns and columns[at].type == "text":
                self.run(f"ALTER TABLE {{t}} ALTER {columns[at].name} TYPE varchar(9000)")
            case "json" if columns and columns[at].type == "text":
                self.run(f"ALTER TABLE {{t}} ALTER {columns[at].name} TYPE jsonb USING to_jsonb({columns[at].name})")
                columns[at].type = "jsonb"
        self.note()

    def add(self, name: str) -> None:
        made = Column(f"C{self.step}x", name)
        self.is_unsure = True
        self.columns.append(made)
        self.all.append(made)
        self.run(f"ALTER TABLE {{t}} ADD {name} text; ALTER TABLE {{t}} ALTER {name} SET STORAGE EXTERNAL")
        self.note()
        self.run(f"UPDATE {{t}} SET step = {self.step}, {name} = {self.value(len(self.columns) - 1)}")

    def check(self) -> None:
        """Each row of the stream has values of its own columns; at the end all is as in Postgres."""
        self.step += 1
        self.run(f"UPDATE {{t}} SET step = {self.step}")
        self.note()
        capture(self.source, self.landing)
        for row in self.landing[0].landed(self.store):
            if is_streamed(row) and not row["cdc_is_deleted"]:
                self.check_row(row)
        names = ["id", "step", *(each.name for each in self.columns)]
        shown = [f"{each}::text" if each not in ("id", "step") else each for each in names]
        there = self.source.rows(f"SELECT {', '.join(shown)} FROM {{s}}.{self.name}")
        expected = {(row[0],): dict(zip(names, row, strict=True)) for row in there}
        assert self.landing[0].final(self.store, ("id",)) == expected

    def check_row(self, row: dict[str, Any]) -> None:
        for name, (column, type_name) in self.history[row["step"]].items():
            value = row[name]
            if value in (None, ""):
                is_lost = not column.is_there or column.type != type_name
                assert is_lost or (self.is_unsure and not self.has_trigger), (row["step"], name)
                assert any(f"`{name}`" in each for each in alarms(self.source)), (row["step"], name)
            else:
                assert value.lstrip('"').startswith(column.tag), (row["step"], name, value[:9])
                assert (type_name == "jsonb") == value.startswith('"'), (row["step"], name, value[:9])


RELAXED = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@pytest.mark.parametrize("has_trigger", [True, False])
@RELAXED
@given(changes=st.lists(CHANGE, min_size=4, max_size=16))
def test_random_changes_while_nobody_reads(
    source: Source, landing: Landing, has_trigger: bool, changes: list[tuple[str, int, int]]
) -> None:
    world = World(source, landing, has_trigger=has_trigger)
    try:
        for each in changes:
            note(str(each))
            world.do(*each)
        world.check()
    finally:
        source.remove(world.store)
