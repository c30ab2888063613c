"""What manifests say of the values of a table, beside its rows: never more than is true of each of them."""

from __future__ import annotations

import datetime as dt
import itertools
import random
from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa
import pytest

from penstock.lake.append.arrow_schema import arrow_schema
from penstock.lake.append.direct_append import append_directly, direct_table
from penstock.lake.maintenance.row_removal import remove_rows
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.commit import append_rows
from penstock.lake.tables.new_tables import create_table
from penstock.lake.tables.physical_tables import add_fields, widen_field
from penstock.lake.tables.snapshots import Progress, read_snapshots
from penstock.lake.tables.stored_statistics import stored_values
from penstock.model import types as t
from penstock.model.cursor import BatchCursor
from penstock.model.manifest import Field, Table, Transform
from penstock.model.stored_values import StoredColumn

FIELDS = (
    Field("id", t.Nullable(t.Int(32))),
    Field("wide", t.Nullable(t.Int(64))),
    Field("big", t.Nullable(t.Int(64, signed=False))),
    Field("price", t.Nullable(t.Decimal(18, 2))),
    Field("day", t.Nullable(t.Date(wide=True))),
    Field("ratio", t.Nullable(t.Float(64))),
    Field("text", t.Nullable(t.String())),
    Field("at", t.DateTime()),
    Field("many", t.Array(t.Int(16))),
)
NUMBERS: dict[str, Callable[[object], int]] = {
    "price": lambda value: int(Decimal(str(value)).scaleb(2)),
    "day": lambda value: (value - dt.date(1970, 1, 1)).days,  # type: ignore[operator]
}
"""How values are counted that are no whole numbers themselves."""
NO_BOUNDS = frozenset(["ratio", "text", "at", "_rejects"])
NO_VALUES = frozenset(["many"])
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)
_names = itertools.count()


def value(draw: random.Random, of: pa.DataType) -> object:
    if pa.types.is_floating(of):
        return draw.choice((float("nan"), float("-inf"), 1.5))
    if pa.types.is_decimal(of):
        return Decimal(draw.choice((0, -(10**14), draw.randint(-99, 99)))).scaleb(-of.scale)
    if pa.types.is_date(of):
        return dt.date(1970, 1, 1) + dt.timedelta(days=draw.randint(-400, 70_000))
    if pa.types.is_timestamp(of):
        return EPOCH + dt.timedelta(seconds=draw.randint(0, 2**31))
    if pa.types.is_list(of):
        return []
    if pa.types.is_string(of):
        return draw.choice(("", "é" * 40, "a"))
    return draw.choice((0, 2**31 - 1, draw.randint(0, 9)))


class Draft:
    """A table to which things happen."""

    def __init__(self, lake: Lake, seed: int):
        self.lake, self.draw, self.name = lake, random.Random(seed), f"statistics__{next(_names)}"
        partition = self.draw.choice(((), (Transform("months", "at"),)))
        create_table(lake, Table(self.name, FIELDS, partition, lands=True))

    def append(self) -> None:
        """A file whose columns have no NULL, some, or nothing else; by Spark or by this process."""
        table = direct_table(self.lake, self.name)
        assert table is not None, "this process can write it"
        schema = arrow_schema(table.schema())
        columns = []
        for field in schema:
            share = 0 if field.name in ("at", "many") else self.draw.choice((0, 0, 0, 0.3, 1))
            made = [None if self.draw.random() < share else value(self.draw, field.type) for _ in range(9)]
            columns.append(pa.array(made, field.type))
        rows, at = pa.table(columns, schema=schema), {"landing.x": Progress(BatchCursor(1), {"x": 1}, 0)}
        current = read_snapshots(self.lake, self.name).current
        follows = current.id if current is not None else None
        if self.draw.random() < 0.5:
            append_rows(self.lake.spark.createDataFrame(rows), self.name, at, follows)
        else:
            append_directly(self.lake, self.name, rows, (at, follows))

    def remove(self) -> None:
        column = self.draw.choice(("id", "wide", "price", "text"))
        remove_rows(self.lake, self.name, f"`{column}` IS NULL")

    def add_column(self) -> None:
        add_fields(self.lake, self.name, [Field(f"more{next(_names)}", t.Nullable(t.Int(32)))])

    def widen(self) -> None:
        widen_field(self.lake, self.name, Field("id", t.Int(64)))

    def check(self) -> int:
        """Compares what is said with the rows; returns of how many columns something is said."""
        said, rows = stored_values(self.lake, self.name), self.lake.spark.table(qualified_table(self.name)).toArrow()
        for name, column in said.columns.items():
            assert self._is_true(name, column, rows.column(name).to_pylist()), (name, column)
        assert not NO_VALUES & said.columns.keys()
        return len(said.columns)

    def _is_true(self, name: str, said: StoredColumn, found: list[object]) -> bool:
        values = [each for each in found if each is not None]
        exact = (said.rows, said.nulls) == (len(found), len(found) - len(values))
        if said.low is None or said.high is None:
            return exact and (name in NO_BOUNDS or not values)
        assert name not in NO_BOUNDS, "only whole numbers have them"
        numbers = sorted(map(NUMBERS.get(name, int), values))  # type: ignore[arg-type]
        is_tight = said.is_within(numbers[0], numbers[-1]) and (said.low, said.high) == (numbers[0], numbers[-1])
        return exact and is_tight and not said.is_within(numbers[0] + 1, numbers[-1])


@pytest.mark.parametrize("seed", range(4))
def test_statistics_are_those_of_the_rows(lake: Lake, seed: int) -> None:
    draft = Draft(lake, seed)
    assert draft.check() >= len(FIELDS) - len(NO_VALUES), "of no row all is known"
    steps = [draft.append, draft.append, draft.remove, draft.append, draft.widen, draft.append, draft.add_column]
    for step in draft.draw.sample(steps, len(steps)):
        step()
        assert draft.check() >= len(FIELDS) - len(NO_VALUES)


def test_a_column_that_older_files_lack_is_not_known(lake: Lake) -> None:
    """Its rows of before are NULL, or have a value that no file has: what is said of it would say less."""
    draft = Draft(lake, 0)
    draft.append()
    add_fields(lake, draft.name, [Field("later", t.Nullable(t.Int(32)))])
    draft.append()
    assert "later" not in stored_values(lake, draft.name).columns


def test_a_column_that_iceberg_does_not_count_is_not_known(lake: Lake) -> None:
    """Iceberg keeps counts of a table's first hundred columns, and of none if it is told so."""
    draft = Draft(lake, 1)
    lake.spark.sql(
        f"ALTER TABLE {qualified_table(draft.name)} SET TBLPROPERTIES ('write.metadata.metrics.column.id' = 'none')"
    )
    rows = lake.spark.range(3).selectExpr(
        "CAST(id AS INT) AS id", "timestamp'2024-01-01' AS at", "CAST(array() AS ARRAY<INT>) AS many"
    )
    append_rows(rows, draft.name, {}, None)
    said = stored_values(lake, draft.name)
    assert "id" not in said.columns
    assert said.columns["at"].is_never_null


def test_a_table_that_is_not_there_says_nothing(lake: Lake) -> None:
    assert stored_values(lake, "statistics__none").columns == {}
