"""Every operation in ClickHouse with two views on top, one of them summing: killed at every statement, with inserts in
between; every query is answered at each step, and in the end the targets are right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone

import pytest

from clickhouse_session import ClickHouseSession
from memory_journal import MemoryJournal
from penstock.errors import Conflict, Failed
from penstock.model.settings import StoreSettings
from penstock.postgres.application.phase_runner import PhaseRunner
from penstock.postgres.catalog.replicated_table import (
    EnumLabel,
    QualifiedName,
    ReplicatedColumn,
    ReplicatedTable,
    ReplicatedType,
)
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropColumn,
    DropNotNull,
    OldRowsRead,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.stores.clickhouse_rehearsal import ClickHouseRehearsal
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.stores.store_rehearsal import RehearsedPhase, StoreRehearsal
from penstock.postgres.translation.clickhouse.draft import ViewChoices
from penstock.postgres.translation.clickhouse.schema import text_literal
from penstock.postgres.translation.refusal import CannotTranslate

HASH = "sha256:" + "0" * 64
SCHEMA = """
CREATE TABLE {d}.issues (id Int64, project Int32, title String, weight Int32, big Int64, note Nullable(String),
  state Enum8('open' = 1, 'closed' = 2)) ENGINE = ReplacingMergeTree ORDER BY id;
CREATE TABLE {d}.titles (id Int64, title String, weight Int32, state Enum8('open' = 1, 'closed' = 2),
  note Nullable(String)) ENGINE = ReplacingMergeTree ORDER BY id;
CREATE TABLE {d}.totals (project Int32, n UInt64, total Int64) ENGINE = SummingMergeTree ORDER BY project;
CREATE TABLE {d}.again (id Int64, title String, weight Int32) ENGINE = ReplacingMergeTree ORDER BY id;
CREATE MATERIALIZED VIEW {d}.to_titles TO {d}.titles AS SELECT id, title, weight, state, note FROM {d}.issues;
CREATE MATERIALIZED VIEW {d}.to_totals TO {d}.totals AS
  SELECT project, count() AS n, sum(weight) AS total FROM {d}.issues WHERE length(title) > 0 GROUP BY project;
CREATE MATERIALIZED VIEW {d}.to_again TO {d}.again AS SELECT id, title, weight FROM {d}.titles
"""
ROW: Mapping[str, object] = {
    "id": 0,
    "project": 1,
    "title": "t",
    "weight": 2,
    "big": 3,
    "note": "n",
    "state": "open",
}


class Killed(Exception):
    """The process ends here."""


@dataclass
class Application:
    """The rows of Postgres: a new one is inserted with the columns that ClickHouse has for it, as a consumer does."""

    session: ClickHouseSession
    table: str = "issues"
    rows: list[dict[str, object]] = field(default_factory=list)
    row: Callable[[], Mapping[str, object]] = lambda: ROW

    def insert(self) -> None:
        made = {**self.row(), "id": len(self.rows) + 1}
        self.rows.append(made)
        columns = [
            str(each[0])
            for each in self.session.rows(
                f"SELECT name FROM system.columns WHERE database = '{self.session.database}' AND table = '{self.table}'"
                " AND default_kind != 'ALIAS'"
            )
        ]
        missing = [each for each in made if each not in columns]
        assert not missing, f"no value is dropped: {missing}"
        values = ", ".join(
            "NULL" if each is None else text_literal(each) if isinstance(each, str) else str(each)
            for each in made.values()
        )
        self.session.run(f"INSERT INTO {self.session.database}.{self.table} ({', '.join(made)}) VALUES ({values})")


class Killing:
    """A connection that dies before or after its n-th change."""

    def __init__(self, session: ClickHouseSession, at: int, *, before: bool, then: Callable[[], None]):
        self._session, self._at, self._before, self._then = session, at, before, then
        self.changes = 0

    def run(self, statement: str) -> None:
        self.changes += 1
        if self.changes == self._at and self._before:
            raise Killed
        self._session.run(statement)
        self._then()
        if self.changes == self._at:
            raise Killed

    def rows(self, query: str) -> list[object]:
        return self._session.rows(query)  # type: ignore[return-value]


NOW = datetime(2026, 11, 22, tzinfo=timezone.utc)


def migrate(
    session: ClickHouseSession,
    operation: Operation,
    choices: ViewChoices,
    between: Callable[[], None],
    journal: MemoryJournal | None = None,
) -> int:
    """Carry an operation out, killed before and after each statement. Returns how many statements there were."""
    journal = journal or MemoryJournal()
    migration = Migration("m1", QualifiedName("public", "issues"), HASH, HASH, False, (operation,))
    settings = StoreSettings("clickhouse", database=session.database)
    clock = NOW
    kills = 0
    while True:
        connection = Killing(session, kills // 2 % 2 + 1, before=kills % 2 == 0, then=between)
        store = ClickHouseStore("warehouse", settings, connection, lambda _: choices)  # type: ignore[arg-type]
        runner = PhaseRunner(store, journal, timedelta(hours=24), lambda: clock)  # noqa: B023
        try:
            record = runner.run(migration, operation.phase)
        except Killed:
            kills += 1
            assert kills < 200, "it comes to an end"
            between()
            continue
        if record.is_finished:
            return len(record.steps)
        assert record.is_confirmed
        clock += timedelta(hours=25)


@pytest.fixture
def session() -> Iterator[ClickHouseSession]:
    made = ClickHouseSession()
    for statement in SCHEMA.format(d=made.database).split(";"):
        made.run(statement)
    yield made
    made.run(f"DROP DATABASE {made.database}")


@pytest.fixture
def application(session: ClickHouseSession) -> Application:
    made = Application(session)
    for _ in range(3):
        made.insert()
    return made


def ask(session: ClickHouseSession, query: str) -> list[list[object]]:
    return [list(each) for each in session.rows(query.format(d=session.database))]


def check_targets(application: Application, title: str = "title") -> None:
    session, rows = application.session, application.rows
    assert ask(session, f"SELECT count() FROM {{d}}.{application.table} FINAL") == [[len(rows)]]
    assert ask(session, "SELECT id, title, weight FROM {d}.again FINAL ORDER BY id") == [
        [each["id"], each[title], each["weight"]] for each in rows
    ]
    assert ask(session, "SELECT id, title, weight FROM {d}.titles FINAL ORDER BY id") == [
        [each["id"], each[title], each["weight"]] for each in rows
    ]
    totals = ask(session, "SELECT project, sum(n), sum(total) FROM {d}.totals GROUP BY project")
    assert totals == [[1, len(rows), sum(int(str(each["weight"])) for each in rows)]]


def column_types(session: ClickHouseSession, table: str) -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in ask(session, f"DESCRIBE {{d}}.{table}")}


INTEGER, BIGINT, TEXT = (ReplicatedType(each) for each in ("integer", "bigint", "text"))


def test_a_new_column_with_the_value_of_old_rows(session: ClickHouseSession, application: Application) -> None:
    add = AddColumn("severity", INTEGER, False, "5", OldRowsValue("5"))
    choices = ViewChoices(frozenset({"to_titles", "to_again"}))
    migrate(session, add, choices, application.insert)
    check_targets(application)
    application.row = lambda: {**ROW, "severity": 9}
    application.insert()
    old = len(application.rows) - 1
    for table in ("issues", "titles", "again"):
        assert ask(session, f"SELECT severity, count() FROM {{d}}.{table} FINAL GROUP BY severity ORDER BY 1") == [
            [5, old],
            [9, 1],
        ]
    check_targets(application)


def test_a_new_column_whose_old_rows_are_read_again(session: ClickHouseSession, application: Application) -> None:
    migrate(
        session, AddColumn("at", ReplicatedType("date"), True, None, OldRowsRead()), ViewChoices(), application.insert
    )
    assert column_types(session, "issues")["at"] == "Nullable(Date32)"
    check_targets(application)


def test_dropping_hides_and_deletes_later(session: ClickHouseSession, application: Application) -> None:
    application.row = lambda: {name: value for name, value in ROW.items() if name != "note"}
    choices = ViewChoices(frozenset({"to_titles"}))
    migrate(session, DropColumn("note"), choices, application.insert)
    check_targets(application)
    for table in ("issues", "titles"):
        assert not [each for each in column_types(session, table) if "note" in each]


def test_a_rename_is_seamless_for_views(session: ClickHouseSession, application: Application) -> None:
    def insert() -> None:
        renamed = "headline" in column_types(session, "issues")
        rest = {name: value for name, value in ROW.items() if name != "title"}
        application.row = lambda: {**rest, "headline" if renamed else "title": "t"}
        application.insert()

    migrate(session, RenameColumn("title", "headline"), ViewChoices(), insert)
    for row in application.rows:
        row.setdefault("title", row.get("headline"))
    check_targets(application)
    assert "COLUMNS" not in str(ask(session, "SELECT as_select FROM system.tables WHERE database = '{d}'"))


def test_a_swap_shows_both_names_at_every_step(session: ClickHouseSession, application: Application) -> None:
    seen = set()

    def look() -> None:
        assert ask(session, "SELECT count() FROM {d}.totals") != []
        seen.add(str(ask(session, "SELECT DISTINCT weight, big FROM {d}.issues")))

    choices = ViewChoices(queries={"to_totals": _totals(session)})
    migrate(session, SwapColumns("weight", "big"), choices, look)
    assert seen == {"[[2, 3]]", "[[3, 2]]"}
    types = column_types(session, "issues")
    assert (types["weight"], types["big"]) == ("Int64", "Int32")
    assert column_types(session, "titles")["weight"] == column_types(session, "again")["weight"] == "Int64"
    application.row = lambda: {**ROW, "weight": 5_000_000_000, "big": 1}
    application.insert()
    check_targets(application)


def _totals(session: ClickHouseSession) -> str:
    ((query,),) = ask(session, "SELECT as_select FROM system.tables WHERE database = '{d}' AND name = 'to_totals'")
    return str(query)


def test_a_wider_type_begins_in_the_targets(session: ClickHouseSession, application: Application) -> None:
    widen = ChangeType("weight", BIGINT, narrowing=False, phase=Phase.pre)
    with pytest.raises(CannotTranslate, match="to_totals computes with the column `weight`"):
        migrate(session, widen, ViewChoices(), application.insert)
    migrate(session, widen, ViewChoices(queries={"to_totals": _totals(session)}), application.insert)
    application.row = lambda: {**ROW, "weight": 5_000_000_000}
    application.insert()
    check_targets(application)


def test_a_column_that_may_be_null(session: ClickHouseSession, application: Application) -> None:
    query = _totals(session).replace("sum(weight)", "ifNull(sum(weight), 0)")
    choices = ViewChoices(queries={"to_totals": query})
    migrate(session, DropNotNull("weight"), choices, application.insert)
    application.row = lambda: {**ROW, "weight": None}
    application.insert()
    assert ask(session, "SELECT weight FROM {d}.again FINAL ORDER BY id DESC LIMIT 1") == [[None]]
    migrate(session, SetNotNull("weight"), ViewChoices(), lambda: None)
    assert column_types(session, "issues")["weight"] == "Nullable(Int32)", "NULL never becomes 0"
    migrate(session, SetNotNull("note"), ViewChoices(), lambda: None)
    assert column_types(session, "issues")["note"] == "String"


@pytest.mark.parametrize("engine", ["ReplacingMergeTree(v, gone) ORDER BY id", "MergeTree ORDER BY id"])
def test_a_null_that_was_replaced_keeps_no_type(session: ClickHouseSession, engine: str) -> None:
    """Former versions stay until ClickHouse merges, which nobody knows when; so does what a deletion lacks."""
    columns = "id Int64, c Nullable(Int32), v Int8, gone UInt8"
    session.run(f"CREATE TABLE {session.database}.t ({columns}) ENGINE = {engine}")
    session.run(f"SYSTEM STOP MERGES {session.database}.t")
    for row in ("(1, NULL, 1, 0)", "(2, 5, 1, 0)", "(1, 7, 2, 0)", "(2, NULL, 2, 1)"):
        session.run(f"INSERT INTO {session.database}.t VALUES {row}")
    settings = StoreSettings("clickhouse", database=session.database)
    store = ClickHouseStore("w", settings, session, lambda _: ViewChoices())
    migration = Migration("m1", QualifiedName("public", "t"), HASH, HASH, False, (SetNotNull("c"),))
    (step,) = store.plan(migration, Phase.post)
    assert store.is_done(step) is engine.startswith("Merge"), "a NULL that is there keeps its type"


def test_labels(session: ClickHouseSession, application: Application) -> None:
    migrate(session, AddEnumValue("state", "it's", None), ViewChoices(), application.insert)
    application.row = lambda: {**ROW, "state": "it's"}
    application.insert()
    assert ask(session, "SELECT state FROM {d}.titles FINAL ORDER BY id DESC LIMIT 1") == [["it's"]]
    migrate(session, RenameEnumValue("state", "open", "opened"), ViewChoices(), lambda: None)
    assert ask(session, "SELECT DISTINCT state FROM {d}.titles ORDER BY state") == [["opened"], ["it's"]]
    check_targets(application)


def test_another_type_is_a_new_column(session: ClickHouseSession, application: Application) -> None:
    narrow = ChangeType("big", TEXT, narrowing=True, phase=Phase.at_lsn)
    migrate(session, narrow, ViewChoices(), lambda: None)
    assert column_types(session, "issues")["big"] == "Nullable(String)"
    with pytest.raises(CannotTranslate, match="to_titles reads `note`"):
        migrate(session, replace(narrow, name="note", type=INTEGER), ViewChoices(), lambda: None)


def test_a_renamed_table_keeps_its_views(session: ClickHouseSession, application: Application) -> None:
    migrate(session, RenameTable(QualifiedName("public", "tickets")), ViewChoices(), lambda: None)
    application.table = "tickets"
    application.insert()
    check_targets(application)


def test_a_chain_of_views_can_be_renamed_back(session: ClickHouseSession, application: Application) -> None:
    """Taking back gives the tables and views of before."""
    before = ask(session, "SELECT name, as_select FROM system.tables WHERE database = '{d}' ORDER BY name")
    types = column_types(session, "issues")
    journal = MemoryJournal()
    settings = StoreSettings("clickhouse", database=session.database)
    store = ClickHouseStore("w", settings, session, lambda _: ViewChoices(frozenset({"to_titles"})))
    runner = PhaseRunner(store, journal, timedelta(hours=24), lambda: NOW)
    drop = Migration("m", QualifiedName("public", "issues"), HASH, HASH, False, (DropColumn("note"),))
    runner.run(drop, Phase.post)
    assert "note" not in column_types(session, "issues")
    runner.take_back(drop)
    assert column_types(session, "issues") == types
    assert ask(session, "SELECT name, as_select FROM system.tables WHERE database = '{d}' ORDER BY name") == before
    assert journal.records() == []


KEYED = """
CREATE TABLE {d}.keyed (id Int32, id_new Int64, title String, twice Int64 MATERIALIZED id * 2)
  ENGINE = ReplacingMergeTree PARTITION BY id % 2 ORDER BY (id, title) COMMENT 'of the shop';
CREATE TABLE {d}.ids (id Int32, n UInt64) ENGINE = SummingMergeTree ORDER BY id;
CREATE MATERIALIZED VIEW {d}.to_ids TO {d}.ids AS SELECT id, 1 AS n FROM {d}.keyed;
INSERT INTO {d}.keyed (id, id_new, title) VALUES (1, 101, 'a'), (2, 102, 'b')
"""


@pytest.mark.parametrize(
    ("operation", "rows", "insert", "ids"),
    [
        (SwapColumns("id", "id_new"), [[101, 1, "a"], [102, 2, "b"]], "id, id_new", [1, 2, 5_000_000_000]),
        (RenameColumn("id", "number"), [[1, 101, "a"], [2, 102, "b"]], "number, id_new", [1, 2, 7]),
        (
            ChangeType("id", BIGINT, narrowing=False, phase=Phase.at_lsn),
            [[1, 101, "a"], [2, 102, "b"]],
            "id, id_new",
            [1, 2, 5_000_000_000],
        ),
    ],
)
def test_keys_are_changed_while_the_consumer_is_stopped(
    session: ClickHouseSession, operation: Operation, rows: list[list[object]], insert: str, ids: list[int]
) -> None:
    for statement in KEYED.format(d=session.database).split(";"):
        session.run(statement)

    def look() -> None:
        assert ask(session, "SELECT count() FROM {d}.keyed") == [[2]]
        assert ask(session, "SELECT count() FROM {d}.ids FINAL") == [[2]]

    keyed = QualifiedName("public", "keyed")
    settings = StoreSettings("clickhouse", database=session.database)
    migration = Migration("m1", keyed, HASH, HASH, False, (operation,))
    journal, kills, clock = MemoryJournal(), 0, NOW
    while True:
        connection = Killing(session, kills // 2 % 2 + 1, before=kills % 2 == 0, then=look)
        store = ClickHouseStore("w", settings, connection, lambda _: ViewChoices())  # type: ignore[arg-type]
        try:
            record = PhaseRunner(store, journal, timedelta(hours=1), lambda: clock).run(migration, Phase.at_lsn)  # noqa: B023
        except Killed:
            kills += 1
            continue
        if record.is_finished:
            break
        clock += timedelta(hours=2)
    first, second = insert.split(", ")
    assert ask(session, f"SELECT {first}, {second}, title FROM {{d}}.keyed ORDER BY title") == rows
    session.run(f"INSERT INTO {session.database}.keyed ({insert}, title) VALUES ({ids[-1]}, 1, 'c')")
    assert ask(session, "SELECT id, sum(n) FROM {d}.ids GROUP BY id ORDER BY id") == [[each, 1] for each in ids]
    assert ask(session, f"SELECT twice FROM {{d}}.keyed WHERE {first} = {ids[-1]}") == [[ids[-1] * 2]]
    tables = ask(session, "SELECT name, comment FROM system.tables WHERE database = '{d}' AND name LIKE '%keyed%'")
    assert tables == [["keyed", "of the shop"]]
    keys = ask(
        session, "SELECT sorting_key, partition_key FROM system.tables WHERE database = '{d}' AND name = 'keyed'"
    )
    assert keys == [[f"{first}, title", f"{first} % 2"]]


def test_a_file_that_was_edited_after_its_phase_began_is_refused(session: ClickHouseSession) -> None:
    settings, journal = StoreSettings("clickhouse", database=session.database), MemoryJournal()
    runner = PhaseRunner(
        ClickHouseStore("w", settings, session, lambda _: ViewChoices()), journal, timedelta(0), lambda: NOW
    )
    add = AddColumn("severity", INTEGER, False, "5", OldRowsValue("5"))
    issues = QualifiedName("public", "issues")
    runner.run(Migration("m1", issues, HASH, HASH, False, (add,)), Phase.pre)
    later = Migration("m1", issues, HASH, HASH, False, (add, DropColumn("note")))
    assert runner.run(later, Phase.pre).is_finished, "a phase that has not begun may be edited"
    with pytest.raises(Conflict, match="was edited after pre was begun"):
        runner.run(Migration("m1", issues, HASH, HASH, False, (replace(add, name="other"),)), Phase.pre)


def test_names_that_need_quotes(session: ClickHouseSession) -> None:
    name = "q\"u'o`te"
    quoted = name.replace("`", "\\`")
    d = session.database
    session.run(f"CREATE TABLE {d}.`o dd` (id Int32, `{quoted}` String) ENGINE = MergeTree ORDER BY id")
    session.run(f'CREATE TABLE {d}.`t"o` (id Int32, `{quoted}` String) ENGINE = MergeTree ORDER BY id')
    session.run(f'CREATE MATERIALIZED VIEW {d}.`v w` TO {d}.`t"o` AS SELECT id, `{quoted}` FROM {d}.`o dd`')
    store = ClickHouseStore("w", StoreSettings("clickhouse", database=d), session, lambda _: ViewChoices())
    rename = Migration("m", QualifiedName("public", "o dd"), HASH, HASH, False, (RenameColumn(name, "plain"),))
    PhaseRunner(store, MemoryJournal(), timedelta(0), lambda: NOW).run(rename, Phase.at_lsn)
    session.run(f"INSERT INTO {d}.`o dd` (id, plain) VALUES (1, 'x')")
    assert ask(session, f'SELECT `{quoted}` FROM {{d}}.`t"o`') == [["x"]]


def test_a_database_that_is_not_there_is_named(session: ClickHouseSession) -> None:
    """It is not said to lack each table."""
    missing = f"{session.database}'s"
    store = ClickHouseStore("w", StoreSettings("clickhouse", database=missing), session, lambda _: ViewChoices())
    with pytest.raises(Failed, match=f"the store `w` has no database `{missing}`") as raised:
        store.differences(ReplicatedTable(1, QualifiedName("public", "issues"), ()))
    assert "CREATE DATABASE" in (raised.value.hint or "")
    session.run(f"CREATE DATABASE `{missing}`")
    assert store.read_schema().tables == ()


@pytest.mark.parametrize(
    ("operation", "told"),
    [
        (ChangeType("id", ReplicatedType("numeric"), narrowing=False, phase=Phase.pre), "in the key of"),
        (DropColumn("title"), "to_totals needs the column `title`"),
        (DropColumn("id"), "in the key"),
        (ChangeKey(("title",), "default", ("title",)), "the key of issues becomes title"),
        (ChangeKey(("id",), "index", ("project", "title")), "the key of issues becomes project, title"),
        (RenameColumn("nothing", "x"), "has no column `nothing`"),
        (RenameColumn("note", "a.b"), "the name `a.b` has a dot"),
        (AddColumn("title", INTEGER, True, None, OldRowsValue(None)), "of type String already"),
        (AddColumn("x", ReplicatedType("date"), True, None, OldRowsValue("infinity")), "has no value for"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is(
    session: ClickHouseSession, operation: Operation, told: str
) -> None:
    before = ask(session, "SELECT create_table_query FROM system.tables WHERE database = '{d}' ORDER BY name")
    with pytest.raises(CannotTranslate, match=told):
        migrate(session, operation, ViewChoices(), lambda: None)
    assert ask(session, "SELECT create_table_query FROM system.tables WHERE database = '{d}' ORDER BY name") == before


@pytest.mark.parametrize(
    "operation",
    [
        ChangeKey(("title",), "index", ("id",)),
        ChangeKey(("id",), "full", ("id", "title")),
    ],
)
def test_a_key_by_which_the_table_is_sorted_already(session: ClickHouseSession, operation: ChangeKey) -> None:
    """Rows are told apart by the index of the replica identity, else by the primary key."""
    store = ClickHouseStore(
        "w", StoreSettings("clickhouse", database=session.database), session, lambda _: ViewChoices()
    )
    migration = Migration("m", QualifiedName("public", "issues"), HASH, HASH, False, (operation,))
    assert store.plan(migration, Phase.at_lsn) == ()


def test_differences_from_postgres(session: ClickHouseSession) -> None:
    labels = tuple(EnumLabel(at, each) for at, each in enumerate(("open", "closed", "new")))
    columns = (
        ReplicatedColumn(1, "id", BIGINT, not_null=True),
        ReplicatedColumn(2, "project", BIGINT, not_null=True),
        ReplicatedColumn(3, "title", TEXT),
        ReplicatedColumn(4, "big", INTEGER, not_null=True),
        ReplicatedColumn(5, "state", ReplicatedType("public.state", labels=labels), not_null=True),
        ReplicatedColumn(6, "late", TEXT),
    )
    store = ClickHouseStore(
        "w", StoreSettings("clickhouse", database=session.database), session, lambda _: ViewChoices()
    )
    issues = ReplicatedTable(1, QualifiedName("public", "issues"), columns)
    assert [(each.column, each.loses_values) for each in store.differences(issues)] == [
        ("project", True),
        ("title", True),
        ("big", False),
        ("state", True),
        ("late", True),
    ]
    missing = replace(issues, name=QualifiedName("public", "nothing"))
    assert [each.column for each in store.differences(missing)] == [None]


def test_a_rehearsal_leaves_the_tables_as_they_are(session: ClickHouseSession, application: Application) -> None:
    settings = StoreSettings("clickhouse", database=session.database)
    choices = ViewChoices(frozenset({"to_titles"}))
    store = ClickHouseStore("w", settings, session, lambda _: choices)
    name = QualifiedName("public", "issues")
    add = AddColumn("severity", INTEGER, False, "5", OldRowsValue("5"))
    first = Migration("m1", name, HASH, HASH, True, (add, RenameColumn("title", "headline"), DropColumn("note")))
    second = Migration("m2", name, HASH, HASH, True, (DropColumn("id"),))
    before = ask(session, "SELECT create_table_query FROM system.tables WHERE database = '{d}' ORDER BY name")
    databases = ask(session, "SELECT name FROM system.databases ORDER BY name")
    made = store.rehearse([RehearsedPhase(first, phase) for phase in Phase])
    assert made.is_same
    assert [(each.table, each.rows_before, each.rows_after, each.not_compared) for each in made.tables] == [
        ("issues", 3, 3, ("note",)),
        ("titles", 3, 3, ("note",)),
        ("totals", 3, 3, ()),
        ("again", 3, 3, ()),
    ]
    assert all("penstock_rehearsal_" in each.text for each in made.steps)
    with pytest.raises(CannotTranslate):
        store.rehearse([RehearsedPhase(second, Phase.post)])
    assert ask(session, "SELECT name FROM system.databases ORDER BY name") == databases, "also after a refusal"
    assert ask(session, "SELECT create_table_query FROM system.tables WHERE database = '{d}' ORDER BY name") == before
    check_targets(application)


def test_a_rehearsal_finds_values_that_change(session: ClickHouseSession, application: Application) -> None:
    """A store whose statement does harm: the rehearsal says which column has other values."""

    class Harmful(ClickHouseStore):
        def rehearse(self, phases: Sequence[RehearsedPhase]) -> StoreRehearsal:
            rehearsal = ClickHouseRehearsal(session, self.read_schema(), settings)

            def opened(copy: StoreSettings) -> ClickHouseStore:
                change = (
                    f"ALTER TABLE {copy.database}.issues UPDATE weight = 7 WHERE id = 1 SETTINGS mutations_sync = 2"
                )
                session.run(change)
                return ClickHouseStore("w", copy, session, lambda _: ViewChoices())

            return rehearsal.run(["issues"], phases, opened)

    settings = StoreSettings("clickhouse", database=session.database)
    migration = Migration("m1", QualifiedName("public", "issues"), HASH, HASH, False, (SetNotNull("note"),))
    made = Harmful("w", settings, session, lambda _: ViewChoices()).rehearse([RehearsedPhase(migration, Phase.post)])
    assert [each.differing for each in made.tables if each.table == "issues"] == [("weight",)]
    assert not made.is_same
