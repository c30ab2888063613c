"""The catalog of a real Postgres as values."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidRequest, Unavailable
from penstock.postgres.catalog.catalog_reader import read_catalog, read_position
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, open_source
from penstock.postgres.catalog.store_types import clickhouse_type
from postgres_server import PASSWORD, Postgres

ISSUES = """
CREATE TYPE {schema}.severity AS ENUM ('low', 'high');
CREATE DOMAIN {schema}.amount AS numeric(12, 3) NOT NULL CHECK (VALUE >= 0);
CREATE TABLE {schema}.issues (
    id bigserial, gone int, title text NOT NULL DEFAULT 'none', weight numeric(10, 2), cost {schema}.amount,
    severity {schema}.severity DEFAULT 'low', tags text[], twice int GENERATED ALWAYS AS (gone * 2) STORED,
    project int, PRIMARY KEY (project, id)
);
INSERT INTO {schema}.issues (id, project, cost) VALUES (1, 1, 1);
ALTER TABLE {schema}.issues DROP COLUMN gone CASCADE;
ALTER TABLE {schema}.issues ADD COLUMN closed timestamptz DEFAULT '2024-01-02 03:04:05+00';
ALTER TABLE {schema}.issues ADD COLUMN links int[] DEFAULT '{{1,2}}';
CREATE TABLE {schema}.parts (id int, at date) PARTITION BY RANGE (at);
CREATE TABLE {schema}.part_1 PARTITION OF {schema}.parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
"""


def read(connection: SourceConnection, schema: str) -> dict[str, ReplicatedTable]:
    return {each.name.name: each for each in read_catalog(connection, [schema]).tables}


@pytest.fixture
def schema(source: Postgres) -> str:
    made = source.schema()
    source.run(ISSUES.format(schema=made))
    return made


def test_columns_keep_their_attnum_and_types_are_spelt_with_their_schema(
    connection: SourceConnection, schema: str
) -> None:
    tables = read(connection, schema)
    assert set(tables) == {"issues", "parts"}, "a partition is a part of its root"
    issues = tables["issues"]
    assert [(each.attnum, each.name) for each in issues.columns] == [
        (1, "id"),
        (3, "title"),
        (4, "weight"),
        (5, "cost"),
        (6, "severity"),
        (7, "tags"),
        (9, "project"),
        (10, "closed"),
        (11, "links"),
    ], "neither dropped nor generated columns"
    assert (issues.key, issues.identity, issues.replica_identity) == (("project", "id"), ("project", "id"), "default")
    types = {each.name: clickhouse_type(each) for each in issues.columns}
    assert types["weight"] == "Nullable(Decimal(10, 2))"
    assert types["cost"] == "Decimal(12, 3)"
    assert types["severity"] == "Nullable(Enum8('low' = 1, 'high' = 2))"
    found = {each.name: each for each in issues.columns}
    assert found["severity"].default == f"'low'::{schema}.severity"
    assert found["closed"].old_value == "2024-01-02 03:04:05+00"
    assert found["links"].old_value == "{1,2}"
    assert (tables["parts"].is_partitioned, tables["parts"].identity) == (True, ())


def test_replica_identities(source: Postgres, connection: SourceConnection, schema: str) -> None:
    source.run(f"ALTER TABLE {schema}.issues REPLICA IDENTITY FULL")
    assert len(read(connection, schema)["issues"].identity) == 9
    source.run(f"CREATE UNIQUE INDEX by_title ON {schema}.issues (title) INCLUDE (weight)")
    source.run(f"ALTER TABLE {schema}.issues REPLICA IDENTITY USING INDEX by_title")
    assert read(connection, schema)["issues"].identity == ("title",)


def test_databases_with_the_same_schema_have_the_same_fingerprint(
    source: Postgres, connection: SourceConnection
) -> None:
    one, other = source.schema(), source.schema()
    source.run(f"CREATE TABLE {one}.t (gone int, id int PRIMARY KEY, x text); ALTER TABLE {one}.t DROP COLUMN gone")
    source.run(f"CREATE TABLE {other}.t (id int PRIMARY KEY, x text)")
    first = read(connection, one)["t"]

    def again() -> str:
        return fingerprint(ReplicatedTable(0, QualifiedName(one, "t"), *_parts(read(connection, other)["t"])))

    assert fingerprint(first) == again()
    source.run(f"ALTER TABLE {other}.t ALTER x SET NOT NULL")
    assert fingerprint(first) != again()


def _parts(table: ReplicatedTable) -> tuple[object, ...]:
    return (table.columns, table.key, table.replica_identity, table.identity)


def test_positions_are_read(connection: SourceConnection) -> None:
    high, low = read_position(connection).split("/")
    assert int(high, 16) >= 0
    assert int(low, 16) > 0


def test_a_connection_that_fails_says_why_and_no_password(source: Postgres) -> None:
    with pytest.raises(Unavailable) as error:
        open_source(source.url().replace("/postgres", "/nothing"))
    assert "nothing" in error.value.message
    assert "`createdb` makes it" in str(error.value.hint)
    assert PASSWORD not in str(error.value.as_json())
    with pytest.raises(InvalidRequest, match="no URL"):
        open_source("password=secret and more")
