"""Random DDL on a real Postgres: what is observed leads from the first schema to the last one, exactly."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidRequest
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.migration.migration import MigrationHistory
from penstock.postgres.migration.migration_reader import read_migration
from penstock.postgres.migration.migration_text import migration_json, migration_text
from penstock.postgres.migration.observed_migrations import (
    Observation,
    ObservationRules,
    ObservedForms,
    observed_migrations,
)
from penstock.postgres.migration.operation import AddColumn, OldRowsValue, OperationName, Phase
from penstock.postgres.migration.operation_effects import apply_operations
from penstock.postgres.migration.step_recorder import record_steps
from postgres_server import Postgres

AT = datetime(2026, 11, 22, 9, 30, tzinfo=timezone.utc)
TABLE = """
CREATE TYPE {schema}.severity AS ENUM ('low', 'high');
CREATE TABLE {schema}.issues (id int PRIMARY KEY, title varchar(20) NOT NULL, weight int DEFAULT 1, old_id int,
  severity {schema}.severity, cost numeric(8, 2), twice int GENERATED ALWAYS AS (id * 2) STORED, note text);
INSERT INTO {schema}.issues VALUES (1, 'one', 1, 10, 'low', 1.5, DEFAULT, 'n');
"""


class Observed:
    """A schema of its own, in which commands run and are observed."""

    def __init__(self, source: Postgres, connection: SourceConnection, script: str = TABLE):
        self.schema = source.schema()
        self.connection = connection
        self._run(script.format(schema=self.schema))
        self.before = self.read()

    def read(self) -> Catalog:
        return read_catalog(self.connection, [self.schema])

    def observe(
        self,
        *statements: str,
        one_by_one: bool = True,
        phases: dict[OperationName, Phase] | None = None,
        history: MigrationHistory | None = None,
    ) -> Observation:
        """What statements did, each a transaction, or all in one."""
        self.before = self.read()
        written = [each.format(schema=self.schema, t=f"{self.schema}.issues") for each in statements]
        with record_steps(self.connection) as recorder:
            for each in written if one_by_one else ["; ".join(written)]:
                self._run(each)
            steps = recorder.forms()
            after = self.read()
        return observed_migrations(
            ObservedForms(self.before, steps, after), ObservationRules(AT, phases or {}, history or MigrationHistory())
        )

    def _run(self, statement: str) -> None:
        self.connection.cursor().execute(statement)


@pytest.fixture
def observed(source: Postgres, connection: SourceConnection) -> Observed:
    return Observed(source, connection)


def operations(observation: Observation) -> list[dict[str, object]]:
    assert observation.unclear == ()
    return [each for found in observation.migrations for each in migration_json(found)["operations"]]  # type: ignore[attr-defined]


def check_exact(observed: Observed, observation: Observation) -> None:
    """Applied to the first catalog, the files give the last fingerprint, and are read as they were written."""
    tables = {each.name: each for each in observed.before.tables}
    for migration in observation.migrations:
        problems: list[object] = []
        read = read_migration(migration_text(migration), f"migrations/{migration.id}.json", problems)  # type: ignore[arg-type]
        assert problems == []
        assert read is not None
        assert migration_text(read) == migration_text(migration)
        table = tables.pop(read.table)
        assert fingerprint(table) == read.before
        made = apply_operations(table, read.operations)
        assert fingerprint(made) == read.after
        tables[made.name] = made
    last = {each.name: fingerprint(each) for each in observed.read().tables}
    assert {name: fingerprint(each) for name, each in tables.items()} == last


def test_a_new_column_has_the_value_that_old_rows_got(observed: Observed) -> None:
    found = observed.observe("ALTER TABLE {t} ADD COLUMN state int NOT NULL DEFAULT 5")
    (only,) = found.migrations
    assert (only.id, only.rewrites, only.destructive) == ("20261122093000_issues_state", False, False)
    assert operations(found) == [
        {
            "op": "add_column",
            "phase": "pre",
            "column": {
                "name": "state",
                "type": "integer",
                "nullable": False,
                "default": "5",
                "old_rows": {"value": "5"},
            },
        }
    ]
    check_exact(observed, found)


@pytest.mark.parametrize("default", ["now()", "random()::int", "(SELECT 1)::int + 1"][:2])
def test_what_another_database_computes_otherwise_is_read_there(observed: Observed, default: str) -> None:
    of = "timestamptz" if "now" in default else "int"
    found = observed.observe(f"ALTER TABLE {{t}} ADD COLUMN state {of} NOT NULL DEFAULT {default}")
    first, second = operations(found)
    assert (first["column"]["old_rows"], first["column"]["nullable"]) == ({"read": True}, True)  # type: ignore[index]
    assert (second["op"], second["phase"], found.migrations[0].rewrites) == ("set_not_null", "post", True)
    check_exact(observed, found)


ADD_STATE = "ALTER TABLE {t} ADD COLUMN state {schema}.severity NOT NULL DEFAULT 'low'"


@pytest.mark.parametrize(
    ("statements", "old_rows"),
    [
        ((ADD_STATE, "ALTER TYPE {schema}.severity ADD VALUE 'middle' AFTER 'low'"), {"value": "low"}),
        ((ADD_STATE, "ALTER TYPE {schema}.severity RENAME VALUE 'low' TO 'least'"), {"value": "least"}),
        (
            (ADD_STATE, "ALTER TABLE {t} ALTER state DROP DEFAULT", "ALTER TABLE {t} ALTER state TYPE text"),
            {"read": True},
        ),
        (
            ("ALTER TABLE {t} ADD state varchar(9) DEFAULT 'a'", "ALTER TABLE {t} ALTER state TYPE varchar(20)"),
            {"value": "a"},
        ),
        (
            ("ALTER TABLE {t} ADD state int DEFAULT 5", "ALTER TABLE {t} ALTER state TYPE bigint USING state * 2"),
            {"read": True},
        ),
    ],
    ids=["a label more", "a label renamed", "written anew", "longer", "written anew with other values"],
)
def test_a_new_column_whose_type_changes_in_the_same_command(
    observed: Observed, statements: tuple[str, ...], old_rows: dict[str, object]
) -> None:
    """Only where Postgres wrote its rows anew are they to be read again."""
    found = observed.observe(*statements, one_by_one=True)
    added = [each["column"] for each in operations(found) if each["op"] == "add_column"]
    assert [each["old_rows"] for each in added] == [old_rows]  # type: ignore[index]
    check_exact(observed, found)


@pytest.mark.parametrize("setting", ["TimeZone = 'Asia/Tokyo'", "DateStyle = 'SQL, DMY'", "quote_all_identifiers = on"])
def test_settings_of_the_command_and_of_the_database_change_no_text(
    source: Postgres, connection: SourceConnection, setting: str
) -> None:
    """A framework sets them for its session, and a server of production may have others than one of development."""
    observed = Observed(source, connection)
    other = f"{observed.schema}_other"
    source.run(f"CREATE DATABASE {other}")
    add = "ALTER TABLE {t} ADD due timestamptz DEFAULT '2026-06-01 12:00:00+02', ADD seen timestamptz"
    default = "ALTER TABLE {t} ALTER seen SET DEFAULT '2026-06-01 12:00:00+02'"
    (migration,) = observed.observe(f"BEGIN; SET LOCAL {setting}; {add}; {default}; COMMIT").migrations
    old_rows = [each.old_rows for each in migration.operations if isinstance(each, AddColumn)]
    assert old_rows == [OldRowsValue("2026-06-01 10:00:00+00"), OldRowsValue(None)]
    source.run(f"ALTER DATABASE {other} SET {setting}")
    production = open_source(source.url().replace("/postgres", f"/{other}"))
    script = f"CREATE SCHEMA {{schema}}; {TABLE}; {add}; {default}"
    production.cursor().execute(script.format(schema=observed.schema, t=f"{observed.schema}.issues"))
    (table,) = read_catalog(production, [observed.schema]).tables
    assert fingerprint(table) == migration.after
    production.close()


def test_a_rename_is_no_drop_and_add(observed: Observed) -> None:
    renamed = observed.observe("ALTER TABLE {t} RENAME note TO remark")
    assert operations(renamed) == [{"op": "rename_column", "phase": "at_lsn", "column": "note", "to": "remark"}]
    replaced = observed.observe("ALTER TABLE {t} DROP remark", "ALTER TABLE {t} ADD comment text")
    assert [(each["op"], each["phase"]) for each in operations(replaced)] == [
        ("add_column", "pre"),
        ("drop_column", "post"),
    ]
    check_exact(observed, replaced)


ADD_SWAP_DROP = (
    "ALTER TABLE {t} ADD big_id bigint",
    "UPDATE {t} SET big_id = old_id",
    "ALTER TABLE {t} RENAME old_id TO id_tmp",
    "ALTER TABLE {t} RENAME big_id TO old_id",
    "ALTER TABLE {t} RENAME id_tmp TO big_id",
    "ALTER TABLE {t} DROP big_id",
)


@pytest.mark.parametrize("one_by_one", [True, False])
def test_add_swap_and_drop_in_one_command_are_operations_of_three_phases(observed: Observed, one_by_one: bool) -> None:
    found = observed.observe(*ADD_SWAP_DROP, one_by_one=one_by_one)
    (only,) = found.migrations
    assert [(each["op"], each["phase"]) for each in operations(found)] == [
        ("add_column", "pre"),
        ("swap_columns", "at_lsn"),
        ("drop_column", "post"),
    ]
    assert only.destructive
    assert only.of_phase(Phase.post)
    check_exact(observed, found)


def test_a_swap_of_two_columns_needs_no_steps(observed: Observed) -> None:
    observed.before = observed.read()
    for each in (
        "ALTER TABLE {t} RENAME weight TO w",
        "ALTER TABLE {t} RENAME old_id TO weight",
        "ALTER TABLE {t} RENAME w TO old_id",
    ):
        observed._run(each.format(t=f"{observed.schema}.issues"))
    found = observed_migrations(ObservedForms(observed.before, {}, observed.read()), ObservationRules(AT))
    assert next(each for each in operations(found) if each["op"] != "set_default") == {
        "op": "swap_columns",
        "phase": "at_lsn",
        "columns": ["weight", "old_id"],
    }
    check_exact(observed, found)


def test_without_steps_a_name_that_two_columns_had_is_not_guessed(observed: Observed) -> None:
    observed._run(f"ALTER TABLE {observed.schema}.issues DROP note, ADD COLUMN note int")
    found = observed_migrations(ObservedForms(observed.before, {}, observed.read()), ObservationRules(AT))
    assert found.migrations == ()
    assert "`note`" in found.unclear[0]


def test_a_name_that_is_free_by_then_is_given_at_its_lsn(observed: Observed) -> None:
    """Before Postgres changes the stores have another column of that name."""
    found = observed.observe("ALTER TABLE {t} DROP note", "ALTER TABLE {t} ADD note int", one_by_one=True)
    assert [(each["op"], each["phase"]) for each in operations(found)] == [
        ("drop_column", "post"),
        ("add_column", "at_lsn"),
    ]
    check_exact(observed, found)


def test_a_column_that_is_added_later_keeps_its_place(observed: Observed) -> None:
    found = observed.observe(
        "ALTER TABLE {t} DROP note", "ALTER TABLE {t} ADD note int, ADD added int", "ALTER TABLE {t} ADD cost_2 int"
    )
    places = [(each["column"]["name"], each["column"].get("after")) for each in operations(found)[1:]]  # type: ignore[attr-defined,index]
    assert places == [("added", None), ("cost_2", None), ("note", "cost")]
    check_exact(observed, found)


def test_types_labels_and_names(observed: Observed) -> None:
    found = observed.observe(
        "ALTER TABLE {t} ALTER weight TYPE bigint",
        "ALTER TABLE {t} ALTER note TYPE int USING 1",
        "ALTER TYPE {schema}.severity ADD VALUE 'middle' AFTER 'low'",
        "ALTER TYPE {schema}.severity RENAME VALUE 'low' TO 'lowest'",
        "ALTER TABLE {t} RENAME TO tickets",
    )
    told = [(each["op"], each["phase"]) for each in operations(found)]
    assert sorted(told) == sorted(
        [
            ("change_type", "pre"),
            ("change_type", "at_lsn"),
            ("add_enum_value", "pre"),
            ("rename_enum_value", "at_lsn"),
            ("rename_table", "at_lsn"),
        ]
    )
    assert found.migrations[-1].table_after == QualifiedName(observed.schema, "tickets")
    check_exact(observed, found)


def test_phases_are_chosen_where_no_value_is_lost(observed: Observed) -> None:
    found = observed.observe("ALTER TABLE {t} ALTER weight DROP DEFAULT", phases={"drop_default": Phase.pre})
    assert operations(found) == [{"op": "drop_default", "phase": "pre", "column": "weight"}]
    with pytest.raises(InvalidRequest, match="add_column would lose values in phase post: it can be pre or at_lsn"):
        observed.observe("ALTER TABLE {t} ADD x int", phases={"add_column": Phase.post})


def test_what_there_are_migrations_for_is_not_written_again(source: Postgres, connection: SourceConnection) -> None:
    """A colleague's migration and one's own run in one command."""
    observed = Observed(source, connection)
    history = MigrationHistory(observed.observe("ALTER TABLE {t} ADD a int").migrations)
    observed.observe("ALTER TABLE {t} DROP a")
    both = observed.observe("ALTER TABLE {t} ADD a int", "ALTER TABLE {t} ADD b int", history=history)
    assert [each["column"]["name"] for each in operations(both)] == ["b"]  # type: ignore[index]
    assert both.migrations[0].before == history.migrations[0].after
    astray = observed.observe("ALTER TABLE {t} ADD c int", history=history)
    assert (astray.migrations, "was never in that state" in astray.unclear[0]) == ((), True)


def test_new_and_dropped_tables_are_named(observed: Observed) -> None:
    found = observed.observe("CREATE TABLE {schema}.labels (id int)", "DROP TABLE {t}")
    assert found.migrations == ()
    assert ["new" in each or "dropped" in each for each in found.notes] == [True, True]


def test_what_tools_for_migrations_note_is_none_of_the_application(observed: Observed) -> None:
    made = observed.observe("CREATE TABLE {schema}.alembic_version (version_num varchar(32) PRIMARY KEY)")
    assert (made.migrations, made.notes) == ((), ())
    wider = observed.observe("ALTER TABLE {schema}.alembic_version ALTER version_num TYPE varchar(64)")
    assert (wider.migrations, wider.notes) == ((), ())


def test_what_is_rolled_back_is_not_observed(observed: Observed) -> None:
    found = observed.observe("BEGIN; ALTER TABLE {t} ADD x int; ROLLBACK; ALTER TABLE {t} ADD y int")
    assert [each["column"]["name"] for each in operations(found)] == ["y"]  # type: ignore[index]


NAMES = ("a", "b", "c", "d", "s")
TYPES = ("int", "bigint", "text", "varchar(9)", "numeric(9, 2)", "numeric(12, 2)", "real", "severity", "amount")
DEFAULTS = ("", "DEFAULT NULL", "DEFAULT '1'", "GENERATED BY DEFAULT AS IDENTITY")


@st.composite
def ddl(draw: st.DrawFn) -> str:
    """One statement; it may fail, as those of people do."""
    name, other = draw(st.sampled_from(NAMES)), draw(st.sampled_from(NAMES))
    of = draw(st.sampled_from(TYPES)).replace("severity", "{schema}.severity").replace("amount", "{schema}.amount")
    kinds = [
        f"ALTER TABLE {{t}} ADD {name} {of} {draw(st.sampled_from(DEFAULTS))}",
        f"ALTER TABLE {{t}} ADD {name} {of} NOT NULL DEFAULT '2'",
        f"ALTER TABLE {{t}} DROP {name}",
        f"ALTER TABLE {{t}} RENAME {name} TO {other}",
        f"ALTER TABLE {{t}} RENAME {name} TO s_; ALTER TABLE {{t}} RENAME {other} TO {name};"
        f" ALTER TABLE {{t}} RENAME s_ TO {other}",
        f"ALTER TABLE {{t}} ALTER {name} TYPE {of} USING NULL",
        f"ALTER TABLE {{t}} ALTER {name} TYPE {of}",
        f"ALTER TABLE {{t}} ALTER {name} SET NOT NULL",
        f"ALTER TABLE {{t}} ALTER {name} DROP NOT NULL",
        f"ALTER TABLE {{t}} ALTER {name} SET DEFAULT '3'",
        f"ALTER TABLE {{t}} ALTER {name} DROP DEFAULT",
        f"ALTER TABLE {{t}} ALTER {name} DROP EXPRESSION",
        f"ALTER TABLE {{t}} DROP CONSTRAINT issues_pkey; ALTER TABLE {{t}} ADD PRIMARY KEY ({name})",
        "ALTER TABLE {t} REPLICA IDENTITY FULL",
        f"ALTER TYPE {{schema}}.severity ADD VALUE IF NOT EXISTS 'l{draw(st.integers(1, 3))}' BEFORE 'high'",
        "ALTER TYPE {schema}.severity RENAME VALUE 'low' TO 'lower'",
    ]
    return draw(st.sampled_from(kinds))


SMALL = """
CREATE TYPE {schema}.severity AS ENUM ('low', 'high');
CREATE DOMAIN {schema}.amount AS numeric(9, 2);
CREATE TABLE {schema}.issues (a int PRIMARY KEY, b int, c text DEFAULT 'x', s {schema}.severity,
  e int GENERATED ALWAYS AS (a) STORED);
INSERT INTO {schema}.issues VALUES (1, 2, '3', 'low', DEFAULT);
"""


@contextmanager
def tolerant(connection: SourceConnection) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if type(error).__module__.startswith("psycopg2"):
            return
        raise


@pytest.fixture(scope="module")
def shared(source: Postgres) -> Iterator[SourceConnection]:
    opened = open_source(source.url())
    yield opened
    opened.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(statements=st.lists(ddl(), min_size=1, max_size=8), steps=st.booleans(), seed=st.integers(0, 2**20))
def test_any_ddl_leads_to_the_last_schema(
    source: Postgres, shared: SourceConnection, statements: list[str], steps: bool, seed: int
) -> None:
    observed = Observed(source, shared, SMALL)
    random.seed(seed)
    with record_steps(shared) as recorder:
        for each in statements:
            with tolerant(shared):
                observed._run(each.format(schema=observed.schema, t=f"{observed.schema}.issues"))
        forms = recorder.forms() if steps else {}
        after = observed.read()
    found = observed_migrations(ObservedForms(observed.before, forms, after), ObservationRules(AT))
    if steps:
        assert found.unclear == (), "with all steps everything is clear"
    if not found.unclear:
        check_exact(observed, found)
    shared.cursor().execute(f"DROP SCHEMA {observed.schema} CASCADE")
