"""Names of columns without an alias that depend on what a data source is: elements of its tuples."""

from __future__ import annotations

import pytest

from penstock.errors import Location
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.compile import compile_sql

_COLUMNS = {
    "id": "UInt32",
    "pos": "Tuple(lat Float64, lon Float64)",
    "items": "Array(Tuple(sku String, n UInt8))",
    "pair": "Tuple(UInt8, Tuple(UInt8, String))",
}


def _source(name: str) -> DataSource:
    columns = (Column(each, parse_type(of), location=Location("e.datasource")) for each, of in _COLUMNS.items())
    return DataSource(name, tuple(columns), Engine())


PROJECT = Project.of([_source("e"), _source("f")], [])


def names(sql: str) -> list[str]:
    return [name for name, _ in compile_sql(PROJECT, Text(sql, Location("q.sql")), "clickhouse").columns]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        (
            "SELECT pos.lat, e.pos.lat + 1, e.pair.2.1 FROM e",
            "pos.lat|plus(pos.lat, 1)|tupleElement(tupleElement(pair, 2), 1)",
        ),
        ("SELECT items.sku, e.items FROM e ARRAY JOIN items", "items.sku|e.items"),
        ("SELECT id::BIGINT, CAST(NULL AS Nullable(INT)) FROM e", "CAST(id, 'BIGINT')|CAST(NULL, 'Nullable(INT)')"),
        ("SELECT CAST(id AS dec(9,2)) FROM e", "CAST(id, 'dec(9, 2)')"),
        ("SELECT id::DOUBLE PRECISION::TEXT FROM e", "CAST(CAST(id, 'DOUBLE PRECISION'), 'TEXT')"),
        ("SELECT e.items.sku, i.sku FROM e ARRAY JOIN items AS i", "items.sku|i.sku"),
        ("SELECT e.pos.lat, f.pos.lat, f.items.sku FROM e JOIN f ON e.id = f.id", "pos.lat|f.pos.lat|f.items.sku"),
        (
            "SELECT items[1].sku, any(pos).lat FROM e GROUP BY items",
            "tupleElement(arrayElement(items, 1), 'sku')|tupleElement(any(pos), 'lat')",
        ),
        ("SELECT groupConcat(toString(id), ',') FROM e", "groupConcat(',')(toString(id))"),
    ],
)
def test_the_names_of_elements(sql: str, expected: str) -> None:
    assert names(sql) == expected.split("|")
