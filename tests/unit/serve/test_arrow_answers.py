"""Answers in Parquet and Arrow hold the values that JSON shows, whole, in pieces of bounded size."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from functools import reduce

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from penstock.deploy.queries.answers.answer_formats import EXTENSIONS, answer_format
from penstock.deploy.queries.answers.arrow_answers import GROUP_ROWS
from penstock.errors import InvalidRequest
from penstock.model.types import Array, Int, String, Tuple, Type
from penstock.parse.column_types import parse_type
from unit.serve.memory import Result

UTC = dt.timezone.utc
MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901)
VALUES: list[tuple[str, object, object]] = [
    ("Int8", -128, -128),
    ("UInt64", Decimal(2**64 - 1), 2**64 - 1),
    ("Float32", 0.10000000149011612, 0.10000000149011612),
    ("Float64", float("-inf"), float("-inf")),
    ("Decimal(10, 2)", Decimal("100.00"), Decimal("100.00")),
    ("Decimal(38, 4)", Decimal("-" + "9" * 34 + ".1234"), Decimal("-" + "9" * 34 + ".1234")),
    ("Bool", True, True),
    ("String", "é 👍", "é 👍"),
    ("FixedString(2)", "ab", "ab"),
    ("Enum8('a' = 1)", "a", "a"),
    ("UUID", "61f0c404-5cb3-11e7-907b-a6006ad3dba0", "61f0c404-5cb3-11e7-907b-a6006ad3dba0"),
    ("IPv6", "::1", "::1"),
    ("Date", dt.date(2026, 1, 2), dt.date(2026, 1, 2)),
    ("Date32", dt.date(1901, 1, 2), dt.date(1901, 1, 2)),
    ("DateTime", MOMENT, MOMENT.replace(microsecond=0, tzinfo=UTC)),
    ("DateTime('Asia/Tokyo')", MOMENT, MOMENT.replace(microsecond=0, tzinfo=UTC)),
    ("DateTime64(2)", MOMENT, MOMENT.replace(microsecond=678000, tzinfo=UTC)),
    ("DateTime64(6)", dt.datetime(1900, 1, 1, 0, 0, 0, 1), dt.datetime(1900, 1, 1, 0, 0, 0, 1, UTC)),
    ("DateTime64(9)", Decimal("-0.000000001"), Decimal("-0.000000001")),
    ("JSON", '{"a": 1.0}', '{"a": 1}'),
    ("Array(Nullable(UInt64))", [Decimal(1), None], [1, None]),
    ("Map(String, Array(DateTime))", {"k": [MOMENT]}, [("k", [MOMENT.replace(microsecond=0, tzinfo=UTC)])]),
    ("Tuple(UInt8, Nullable(String))", (1, None), {"1": 1, "2": None}),
    ("Tuple(n UInt8, x DateTime)", (1, MOMENT), {"n": 1, "x": MOMENT.replace(microsecond=0, tzinfo=UTC)}),
    ("LowCardinality(Nullable(String))", "é", "é"),
    ("SimpleAggregateFunction(max, Int64)", 5, 5),
    ("AggregateFunction(uniq, String)", b"\x00\xff", "AP8="),
    ("AggregateFunction(avg, Float64)", (1.5, 2), "[1.5,2]"),
]
COLUMNS = tuple((f"c{at}", parse_type(of)) for at, (of, _, _) in enumerate(VALUES))


def read_answer(form: str, answer: Result | bytes) -> pa.Table:
    body = answer if isinstance(answer, bytes) else b"".join(answer_format(form).write(answer))
    return pq.read_table(io.BytesIO(body)) if form == "Parquet" else pa.ipc.open_stream(body).read_all()


@pytest.mark.parametrize("form", ["Parquet", "ArrowStream"])
def test_values_of_every_type_arrive_whole(form: str) -> None:
    table = read_answer(form, Result(COLUMNS, [tuple(value for _, value, _ in VALUES), (None,) * len(VALUES)]))
    values, nulls = table.to_pylist()
    assert list(values.values()) == [expected for _, _, expected in VALUES]
    assert set(nulls.values()) == {None}
    assert [field.metadata[b"clickhouse.type"].decode() for field in table.schema] == [of for of, _, _ in VALUES]


@pytest.mark.parametrize("form", ["Parquet", "ArrowStream"])
@pytest.mark.parametrize("count", [0, 1, GROUP_ROWS, 2 * GROUP_ROWS + 1])
def test_rows_come_in_pieces_and_none_is_lost(form: str, count: int) -> None:
    answer = Result((("n", Int(64)), ("s", String())), [(at, str(at)) for at in range(count)], totals=(-1, ""))
    assert len(list(answer_format(form).write(answer))) == -(-count // GROUP_ROWS) + 1
    assert read_answer(form, answer).column("n").to_pylist() == list(range(count))


@pytest.mark.parametrize("form", EXTENSIONS.values())
def test_a_value_nests_as_deep_as_its_format_takes(form: str) -> None:
    """Deeper ones end in an error that says so, not in one of a library; what is written can be read."""
    binary = form in ("Parquet", "ArrowStream")
    most = 48 if binary else 250
    of: Type = reduce(lambda inner, _: Array(inner), range(most), Int(8))
    value = json.loads("[" * most + "1" + "]" * most)
    body = b"".join(answer_format(form).write(Result((("a", of),), [(value,)])))
    assert (read_answer(form, body).to_pylist() == [{"a": value}]) if binary else (b"[" * most + b"1]" in body)
    deeper = Result((("a", Tuple(((None, of),))),), [((value,),)])
    with pytest.raises(InvalidRequest, match=f"the type of `a` has {most + 1} levels, and this format takes {most}"):
        list(answer_format(form).write(deeper))


@pytest.mark.parametrize("extension", EXTENSIONS)
def test_an_endpoint_answers_in_every_format(client: TestClient, extension: str) -> None:
    answer = client.get(f"/v0/pipes/top.{extension}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].partition(";")[0] == answer_format(EXTENSIONS[extension]).media_type


def test_sql_answers_in_parquet(client: TestClient) -> None:
    answer = client.post("/v0/sql", content="SELECT 1 AS a FORMAT Parquet", headers={"Content-Type": "text/plain"})
    assert pq.read_table(io.BytesIO(answer.content)).to_pylist() == [{"a": 1}]
