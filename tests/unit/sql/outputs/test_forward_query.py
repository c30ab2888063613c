"""FORWARD_QUERY: a select list, by name, in the new types."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import column, text

from penstock.errors import InvalidQuery
from penstock.sql.compile import compile_forward
from penstock.sql.query import ForwardColumn

OLD = (column("id", "UInt32"), column("flight", "String"), column("hits", "AggregateFunction(count, UInt16)"))
PLAIN = OLD[:2]


def forward(sql: str, **new: str) -> tuple[ForwardColumn, ...]:
    return compile_forward(text(sql), OLD, tuple(column(name, of) for name, of in new.items()))


def refused(sql: str, **new: str) -> list[str]:
    with pytest.raises(InvalidQuery) as caught:
        forward(sql, **new)
    return [str(problem).removeprefix("q.sql:") for problem in caught.value.problems]


def test_a_star_keeps_the_columns() -> None:
    assert forward("SELECT *", id="UInt32", flight="String") == (
        ForwardColumn("id", "`id`", ("id",)),
        ForwardColumn("flight", "`flight`", ("flight",)),
    )


STARS = ("* EXCEPT (flight)", "* EXCEPT flight", "* EXCEPT 'flight'", "SELECT * EXCEPT(flight)")


@pytest.mark.parametrize("star", STARS)
def test_except_in_every_form(star: str) -> None:
    found = forward(f"{star}, toUInt32(flight) AS number", id="UInt32", number="UInt32")
    assert [(each.name, each.uses) for each in found] == [("id", ("id",)), ("number", ("flight",))]


def test_replace_and_conversions() -> None:
    (_, flight) = forward("* REPLACE (accurateCastOrDefault(flight, 'UInt32') AS flight)", id="UInt32", flight="UInt32")
    assert flight.uses == ("flight",)
    assert flight.sql.endswith("ELSE CAST(0 AS BIGINT) END")
    assert "raise_error" in forward("toUInt32(flight) AS flight", flight="UInt32")[0].sql
    assert "raise_error" in forward("CAST(flight, 'UUID') AS flight", flight="UUID")[0].sql
    assert "raise_error" in forward("CAST(flight AS UUID) AS flight", flight="UUID")[0].sql


def test_a_bare_column_is_a_rename() -> None:
    assert forward("flight AS number", number="String") == (ForwardColumn("number", "`flight`", ("flight",), "flight"),)
    assert forward("flight AS number", number="LowCardinality(String)")[0].renames == "flight"
    assert forward("lower(flight) AS number", number="String")[0].renames is None


def test_states_pass_where_they_are_the_same() -> None:
    wanted = "AggregateFunction(count, UInt64)"
    assert forward(f"CAST(hits, '{wanted}') AS hits", hits=wanted)[0].sql == "`hits`"
    assert forward("hits", hits=wanted)[0].sql == "`hits`"


def test_aliases_serve_other_columns() -> None:
    found = forward("id + 1 AS next, next * 2 AS twice", next="UInt64", twice="UInt64")
    assert found[1].uses == ("id",)


CASES = {
    ("SELECT * FROM flights", "id UInt32"): [
        "1:15: a FORWARD_QUERY is a select list only: FROM is not allowed (it reads the rows of the live table)"
    ],
    ("id WHERE id > 1", "id UInt32"): [
        "1:10: a FORWARD_QUERY is a select list only: WHERE is not allowed (it reads the rows of the live table)"
    ],
    ("id GROUP BY id", "id UInt32"): [
        "1:13: a FORWARD_QUERY is a select list only: GROUP BY is not allowed (it reads the rows of the live table)"
    ],
    ("id", "idd UInt32"): [
        "1:1: the new schema has no column `id` (did you mean `idd`?)",
        "1:1: the FORWARD_QUERY does not give the column `idd` (did you mean `id`?)",
    ],
    ("idd AS id", "id UInt32"): ["1:1: unknown column `idd` (did you mean `id`?)"],
    ("count() AS id", "id UInt32"): ["1:1: the aggregate `count` is not allowed here"],
    ("id, id", "id UInt32"): ["1:5: the column `id` is given twice"],
    ("[id] AS id", "id UInt32"): ["1:2: column `id`: Array(UInt32) cannot be stored as UInt32 (cast it)"],
    ("hits AS id", "id UInt32"): [
        "1:1: column `id`: the state AggregateFunction(count, UInt16) cannot be stored as UInt32 "
        "(finish it with -Merge)"
    ],
    ("(SELECT 1) AS id", "id UInt32"): ["1:9: a SELECT is not allowed in this expression"],
    ("* EXCEPT (x)", "id UInt32"): [
        "1:1: the FORWARD_QUERY does not give the column `id`",
        "1:11: unknown column `x` (available: flight, hits, id)",
    ],
}


@pytest.mark.parametrize(("sql", "new"), CASES)
def test_problems(sql: str, new: str) -> None:
    name, of = new.split(" ", 1)
    assert refused(sql, **{name: of}) == CASES[(sql, new)]


def test_a_name_that_is_an_alias_renames_no_column() -> None:
    found = forward("lower(flight) AS flight, flight AS title", flight="String", title="String")
    assert found[0].sql == found[1].sql != "`flight`"
    assert [each.renames for each in found] == [None, None]


def test_an_accurate_cast_is_to_the_type_of_the_column() -> None:
    forward("accurateCastOrDefault(flight, 'UInt16') AS id", id="UInt32")
    assert refused("accurateCastOrDefault(flight, 'UInt32') AS id", id="UInt16") == [
        "1:1: column `id`: accurateCastOrDefault to UInt32 lets values through that UInt16 does not have"
        " (write accurateCastOrDefault(…, 'UInt16'))"
    ]
