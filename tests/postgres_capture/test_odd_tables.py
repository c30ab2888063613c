"""Tables with odd names and keys, and tables that are renamed or dropped while they are captured."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from penstock.model.json_path import parse_json_path
from penstock.parse.project_loader import load_files
from penstock.postgres.capture import setup
from penstock.postgres.capture.records import FILES
from penstock.postgres.capture.schemas.schema_tracker import identity_key
from penstock.postgres.capture.setup import set_up, table_choice
from penstock.postgres.capture.status import read_status
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName
from penstock.postgres.catalog.source_connection import SourceConnection
from penstock.postgres.delivery.landing_datafile import landing_datafile
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from postgres_capture.conftest import Source
from postgres_capture.landing_server import OWN, InboxPipeline
from postgres_capture.producing import producing
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]


def test_odd_names_and_keys(source: Source, landing: Landing) -> None:
    source.run(
        """CREATE TABLE {s}."Odd ""Table%s" ("Order Id" text, "50%" bool, "select" bytea,
        v bigint GENERATED ALWAYS AS (1) STORED, w bigint, PRIMARY KEY ("50%", "Order Id"))"""
    )
    source.run("""ALTER TABLE {s}."Odd ""Table%s" ALTER "select" SET STORAGE EXTERNAL""")
    source.run("""INSERT INTO {s}."Odd ""Table%s" VALUES (E'a\\tb%s', true, repeat('z', 3000)::bytea, DEFAULT, 1)""")
    choice = table_choice(f'{source.schema}.Odd "Table%s=odd', ())
    set_up(source.connection, source.name, [choice])
    table = read_catalog(source.connection, [source.schema]).table(QualifiedName(source.schema, 'Odd "Table%s'))
    assert table is not None
    text = landing_datafile(table, identity_key(table))
    loaded = load_files({"datasources/odd.datasource": text})
    assert loaded.problems == ()
    paths = [each.json_path for each in loaded.project.datasources[0].columns]
    landing[0].columns["odd"] = frozenset(str(parse_json_path(each)[0]) for each in paths if each)
    names = [each.name for each in loaded.project.datasources[0].columns]
    assert names[:4] == ["Order_Id", "_50_", "select", "w"]
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        source.wait_until_stored()
        source.run("""INSERT INTO {s}."Odd ""Table%s" VALUES ('', false, NULL, DEFAULT, NULL)""")
        source.run("""UPDATE {s}."Odd ""Table%s" SET w = 2 WHERE "50%" """)
        source.wait_until_stored()
    found = landing[0].final("odd", ("50%", "Order Id"))
    assert set(found) == {(True, "a\tb%s"), (False, "")}
    assert found[(True, "a\tb%s")]["w"] == 2
    assert str(found[(True, "a\tb%s")]["select"]) == "\\x" + "7a" * 3000


def test_a_table_that_is_renamed_and_one_that_is_dropped(source: Source, landing: Landing) -> None:
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY); CREATE TABLE {s}.two (id int PRIMARY KEY)")
    source.set_up("one", "two")
    landing[0].columns |= {"one": frozenset({"id"}), "two": frozenset({"id"})}
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        source.wait_until_stored()
        source.run("INSERT INTO {s}.one VALUES (1); ALTER TABLE {s}.one RENAME TO other")
        source.run("INSERT INTO {s}.other VALUES (2); INSERT INTO {s}.two VALUES (1); DROP TABLE {s}.two")
        wait_until(lambda: len(landing[0].landed("one")) == 2, 30)
        wait_until(lambda: len(landing[0].landed("two")) == 1, 30)
    assert read_status(source.connection, source.name).unread == ()
    states = {each.store: each.state for each in read_status(source.connection, source.name).tables}
    assert states == {"one": "streaming", "two": "gone"}
    source.remove("two")
    assert [each.store for each in source.records.tables()] == ["one"]
    source.remove("one")
    assert source.records.tables() == ()


@pytest.mark.parametrize("text", ["", ".", "a.", ".a"])
def test_what_is_no_table(text: str) -> None:
    with pytest.raises(Exception, match="is no table"):
        table_choice(text, ())


def test_rows_whose_composite_type_changes_are_read_again(source: Source, landing: Landing) -> None:
    """Postgres writes none of them, and each has another text."""
    source.run("CREATE TYPE {s}.inner AS (a int, b text); CREATE DOMAIN {s}.checked AS {s}.inner")
    source.run("CREATE TYPE {s}.outer AS (one {s}.checked, n int)")
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY, plain {s}.inner, many {s}.outer[])")
    source.run("INSERT INTO {s}.one VALUES (1, '(1,x)', ARRAY[ROW(ROW(1,'x'),2)]::{s}.outer[]), (2, NULL, NULL)")
    source.set_up("one")
    landing[0].columns["one"] = frozenset({"id", "plain", "many", *OWN})
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        for change in ("inner ADD ATTRIBUTE c int", "outer ADD ATTRIBUTE m int", "inner DROP ATTRIBUTE a"):
            source.run(f"ALTER TYPE {{s}}.{change}")
            expected = {(id,): {"id": id, "plain": plain, "many": many} for id, plain, many in texts(source)}
            found = lambda: landing[0].final("one", ("id",))  # noqa: E731
            wait_until(lambda: found() == expected, 60, lambda: f"{found()} {expected}")  # noqa: B023


def texts(source: Source) -> list[tuple[int, str, str]]:
    return source.rows("SELECT id, plain::text, many::text FROM {s}.one ORDER BY id")


def test_setup_reads_a_schema_once(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each of its tables: two hundred took minutes."""
    looks: list[list[str]] = []

    def counted(connection: SourceConnection, schemas: Sequence[str]) -> Catalog:
        looks.append([*schemas])
        return read_catalog(connection, schemas)

    monkeypatch.setattr(setup, "read_catalog", counted)
    names = [f"t{number}" for number in range(6)]
    for each in names:
        source.run(f"CREATE TABLE {{s}}.{each} (id int PRIMARY KEY)")
    source.set_up(*names)
    assert [each.name.name for each in source.records.tables()] == names
    assert looks == [[source.schema]]


def test_the_types_of_a_table_are_looked_up_one_by_one(source: Source) -> None:
    """Once a second, of every table: else the whole catalog is read for each of them, and the query compiled."""
    plan = "\n".join(str(row[0]) for row in source.rows(f"EXPLAIN SELECT {FILES} FROM pg_catalog.pg_class c"))
    assert "Index Scan using pg_type_oid_index" in plan
    assert "Seq Scan on pg_type" not in plan
    assert "Seq Scan on pg_attribute" not in plan
    assert source.rows("SHOW jit") == [("off",)]
