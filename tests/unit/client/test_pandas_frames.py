"""A frame of pandas with dicts: each row keeps exactly its own keys, whether or not the table's model is known."""

from __future__ import annotations

from typing import Annotated, Any

import numpy
import orjson
import pandas  # noqa: TID251 what a program may insert
import pyarrow as pa
import pytest
from pydantic import BaseModel, Field

from penstock import ClickHouseType, JsonPath
from penstock.api.objects.row_insertion import InsertOptions
from penstock.client import ClientError
from penstock.client.insertion import Insertion, InsertTarget
from penstock.client.rows.row_batches import BatchLimits, RowBatch

LIMITS = BatchLimits(rows=10)


def batches_of(frame: object, model: type[BaseModel] | None = None, **options: Any) -> list[RowBatch]:
    made = Insertion(InsertTarget("t", model), InsertOptions(**options), LIMITS)
    return list(made.batches(frame))


def rows_of(frame: object, model: type[BaseModel] | None = None, **options: Any) -> list[dict[str, object]]:
    sent = batches_of(frame, model, **options)
    assert {each.form for each in sent} <= {"ndjson"}
    return [orjson.loads(line) for each in sent for line in each.content.splitlines()]


class Tagged(BaseModel):
    k: str
    m: dict[str, str | None]


MAPS = {"k": ["p1", "p2", "p3"], "m": [{"a": "b"}, {"c": None}, {}]}
ROWS = [{"k": "p1", "m": {"a": "b"}}, {"k": "p2", "m": {"c": None}}, {"k": "p3", "m": {}}]


@pytest.mark.parametrize("model", [Tagged, None])
def test_each_row_keeps_its_own_keys(model: type[BaseModel] | None) -> None:
    assert rows_of(pandas.DataFrame(MAPS), model) == ROWS
    assert rows_of(pandas.DataFrame(MAPS).set_index("k"), model) == [{"m": row["m"], "k": row["k"]} for row in ROWS]
    many = pandas.DataFrame({"k": [str(n) for n in range(25)], "m": [{str(n): "x"} for n in range(25)]})
    assert [row["m"] for row in rows_of(many, model)] == [{str(n): "x"} for n in range(25)]


@pytest.mark.parametrize(
    "values",
    [
        [[{"a": 1}], [{"b": 2}, {}]],
        [{"a": {"x": 1}}, {"a": {"y": 2}}],
        [{"a": 1}, {"a": "two"}],
        [[[], [{"a": 1}]], [[{"b": 1}]]],
        [None, {"a": None}],
        [{"a": [1, {"b": 2}]}, {"a": [{"c": 3}]}],
        [{}, {}],
    ],
)
def test_at_any_depth(values: list[object]) -> None:
    assert [row["m"] for row in rows_of(pandas.DataFrame({"m": values}))] == values
    arrays = pandas.DataFrame({"m": [numpy.array([each], dtype=object) for each in values]})
    if not any(isinstance(each, list) for each in values):
        assert [row["m"] for row in rows_of(arrays)] == [[each] for each in values]


def test_the_other_columns_are_what_they_are_without_dicts() -> None:
    frame = pandas.DataFrame(
        {
            "m": [{"a": 1}, float("nan")],
            "t": pandas.to_datetime(["2024-01-01 00:00:00.123456789", None]),
            "n": pandas.array([2**64 - 1, None], dtype="UInt64"),
            "f": [0.5, float("nan")],
            7: ["x", None],
        },
        index=[5, 3],
    )
    assert rows_of(frame) == [
        {"m": {"a": 1}, "t": "2024-01-01 00:00:00.123456789", "n": 2**64 - 1, "f": 0.5, "7": "x"},
        {"m": None, "t": None, "n": None, "f": None, "7": None},
    ]


class Placed(BaseModel):
    page: str = Field(alias="p")
    user: Annotated[dict[str, int], JsonPath("$.user.counts")]
    whole: Annotated[dict[str, object], ClickHouseType("JSON")]


def test_columns_have_the_names_of_fields() -> None:
    frame = pandas.DataFrame({"page": ["/"], "user": [{"a": 1}], "whole": [{"b": [{"c": 1}]}]})
    assert rows_of(frame, Placed) == [{"p": "/", "user": {"counts": {"a": 1}}, "whole": {"b": [{"c": 1}]}}]
    with pytest.raises(ClientError, match="Placed has no column `pages`"):
        rows_of(frame.rename(columns={"page": "pages"}), Placed)


def test_rows_are_checked_by_the_model_and_a_bad_one_sends_nothing() -> None:
    frame = pandas.DataFrame({"k": [str(n) for n in range(25)], "m": [{"a": "b"}] * 24 + [{"a": 5}]})
    with pytest.raises(ClientError, match=r"row 24 \(from 0\) cannot be sent: m.a: Input should be a valid string"):
        batches_of(frame, Tagged)
    assert len(rows_of(frame, Tagged, validate=False)) == 25
    inside: list[object] = []
    inside.append(inside)
    with pytest.raises(ClientError, match="contains itself"):
        batches_of(pandas.DataFrame({"m": [inside]}))


def test_frames_without_dicts_stay_tables() -> None:
    frame = pandas.DataFrame({"a": [[1], [2]], "b": ["x", "y"]})
    assert [each.form for each in batches_of(frame)] == ["parquet"]
    assert batches_of(pandas.DataFrame({"m": pandas.Series([], dtype=object)})) == []


def test_a_table_of_empty_dicts_says_what_to_do() -> None:
    with pytest.raises(ClientError, match="cannot be sent") as caught:
        batches_of(pa.table({"m": [{}, {}]}))
    assert "pa.map_" in str(caught.value.hint)
