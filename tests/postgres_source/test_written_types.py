"""Types as a person writes them into a migration are those that a real Postgres takes them for, or are refused."""

from __future__ import annotations

import psycopg2
import pytest

from penstock.postgres.catalog.source_connection import SourceConnection
from penstock.postgres.migration.type_texts import read_type
from postgres_server import Postgres

NAMES = """bit "char" char bpchar nchar varchar varbit int int2 BIGINT float float4 decimal dec bool text uuid interval
timestamp timestamptz time timetz jsonb serial datetime name regclass int4range json xid8 pg_lsn vector"""
MODIFIED = """bit(3) bit(0) varbit(5) char(3) nchar(4) varchar(0) varchar(10485760) varchar(10485761) int(3) float(1)
float(24) float(25) float(53) float(54) numeric(10) numeric(10,2) numeric(3,-2) numeric(10,1000) numeric(10,1001)
numeric(10,2000) numeric(0) numeric(1001) dec(4,1) text(3) interval(3) interval(7) timestamp(0) timestamp(6) time(2)
timestamptz(3) timetz(4) uuid(1) bpchar(3)"""
SPACED = [
    "Double   Precision",
    "character  varying ( 7 )",
    "national character varying(3)",
    "char varying(3)",
    "timestamp (3) with time zone",
    "timestamp with time zone(3)",
    "timestamp(3) without  time zone",
    "interval day to second(3)",
    "int ARRAY",
    "int array[3]",
    "int[3][2]",
    "text [ ]",
    "char[]",
    "bit(3)[]",
    "numeric(10,2)[]",
    "{s}.Mood",
    '{s}."Mood"[]',
    '{s}."a (3)"',
]


LEFT_OUT = ("serial", "interval(7)", "interval day to second(3)")
"""What Postgres takes, and no migration says: it adds a default, says something else, or has no short text."""


@pytest.mark.parametrize("text", [*NAMES.split(), *MODIFIED.split(), *SPACED])
def test_a_type_is_what_postgres_takes_it_for(source: Postgres, connection: SourceConnection, text: str) -> None:
    schema = source.schema()
    cursor = connection.cursor()
    cursor.execute("SET search_path = pg_catalog")
    for name in ("mood", '"Mood"', '"a (3)"'):
        cursor.execute(f"CREATE TYPE {schema}.{name} AS ENUM ('sad')")
    text = text.replace("{s}", schema)
    try:
        cursor.execute(f"CREATE TABLE {schema}.t (c {text})")
    except psycopg2.Error:
        assert read_type(text) is None
        return
    cursor.execute(
        "SELECT format_type(atttypid, NULL), atttypmod FROM pg_attribute"
        f" WHERE attrelid = '{schema}.t'::regclass AND attname = 'c'"
    )
    (made,) = cursor.fetchall()
    assert read_type(text) == (None if text in LEFT_OUT else made)
