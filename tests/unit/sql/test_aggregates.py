"""What aggregate functions and combinators refuse, and how their names are read."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems, query

from penstock.parse.column_types import parse_type
from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.aggregates.table import AGGREGATES
from penstock.sql.compile import cast_column
from penstock.sql.stored_types import UnknownState, column_default, spark_type, state_arguments

REFUSED = {
    "corr(toDecimal32(day, 2), day)": "`corr` needs integers or floats: toFloat64(x)",
    "quantile(day_of_flight)": "`quantile` needs an integer or a float: toFloat64(x)",
    "quantileTiming(delay)": "`quantileTiming` needs an unsigned integer of at most 32 bits: toUInt32(x)",
    "quantileGK(0.5)(day)": "`quantileGK` needs an accuracy, a whole number, as first parameter",
    "avgWeighted(1.5, day)": ("`avgWeighted` needs two Float64 or two integers of at most 32 bits: toFloat64(x)"),
    "groupConcat(1.5)": "`groupConcat` needs a String or an integer: toString(x)",
    "min(map('a', 1))": "`min` needs a value that can be compared",
    "uniq(map('a', 1))": "`uniq` needs a value without a Map",
    "sumWithOverflow(1.5)": "`sumWithOverflow` needs an integer",
    "sumMap([toNullable(1)], [1])": "`sumMap` needs keys and values that are neither Nullable nor a Map",
    "windowFunnel(1, 'strict')(day, day = 1)": (
        "`windowFunnel` needs modes after the window: 'strict_deduplication', 'strict_order', 'strict_increase', "
        "'allow_reentry'"
    ),
    "windowFunnel(1, 'strict_once')(day, day = 1)": "`windowFunnel` needs other modes than 'strict_once'",
    "windowFunnel(1, 'allow_reentry')(day, day = 1)": "`windowFunnel` needs 'strict_order' beside 'allow_reentry'",
    "windowFunnel('strict_order', 1)(day, day = 1)": "`windowFunnel` needs a window, a whole number",
    "windowFunnel(1)(toDate32('2024-01-01'), day = 1)": "`windowFunnel` needs a Date, a DateTime or an unsigned",
    "sequenceMatch('(?3)')(day, day = 1, day = 2)": "`sequenceMatch` needs a pattern of (?1) … for its conditions",
    "sequenceMatch('(?1)(?t>1)(?t<5)(?2)')(day, day = 1, day = 2)": "`sequenceMatch` needs a pattern",
    "sequenceCount('(?1) (?2)')(day, day = 1, day = 2)": "`sequenceCount` needs a pattern",
    "sequenceCount('(?1)(?t!=1)(?2)')(day, day = 1, day = 2)": "`sequenceCount` needs a pattern",
    "sequenceCount('(?1)')(day, day = 1)": "`sequenceCount` takes",
    "sequenceCount('(?1)')(day, toInt32(day), day = 1)": "`sequenceCount` needs conditions after its first argument",
    "retention(day = 1, toNullable(day) = 2)": "`retention` needs values that are not Nullable",
    "sumArgMin(day, 1.5)": "`sumArgMin` needs a last argument that is neither Nullable nor a float nor a Map",
    "simpleLinearRegression(toNullable(day), day)": "`simpleLinearRegression` needs values that are not Nullable",
    "sumCountOrNull(day)": "`sumCountOrNull` needs a result that is no Tuple: a Tuple is never NULL here",
    "quantileExact(toDate32('2024-01-01'))": "`quantileExact` needs a Date, not a Date32: toDate(x)",
    "quantilesDeterministic(0.5)(day, 1.5)": "`quantilesDeterministic` needs an unsigned integer as its second",
    "minOrNull((day, 1))": "`minOrNull` of a Tuple is not supported: a Tuple is never NULL here",
    "sumArray([NULL])": "`sumArray` needs arrays of values with a type",
    "varPopStableState(day)": "states of `varPopStable` are not supported",
    "any_respect_nullsIf(day, day = 1)": (
        "`any_respect_nullsIf` is not supported: the condition would make NULLs of the values that it excludes "
        "(use a WHERE)"
    ),
    "sumStateForEach([day])": "unknown function `sumStateForEach` (did you mean `sumState`?)",
    "anyForEachArrayIfStateIf(day, 1)": "unknown function `anyForEachArrayIfStateIf`",
    "arrayReduce('sumMerge', [day])": "unknown aggregate function `sumMerge`",
    "arrayReduce('uniqState', [day])": "states of `uniq` are not supported over an array",
    "arrayReduce('varPopStable', [day])": "`varPopStable` is not supported over an array (use it over rows",
    "lower('A') FILTER (WHERE day = 1)": "unknown function `lowerIf`",
    "sum(day) RESPECT NULLS": "only any, anyLast, first_value and last_value have RESPECT NULLS",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    sql = f"SELECT {call} AS x FROM flights".replace("day_of_flight", "toDate('2024-01-01')")
    (problem,) = problems(sql.replace("delay", "toInt32(day)"))
    assert REFUSED[call] in problem


def test_a_name_is_read_in_one_way() -> None:
    names = ("groupArrayArrayIf", "countStateIf", "sumIfOrNull", "argMinIf", "sumIfArray")
    read = {name: parse_aggregate_name(name) for name in names}
    assert all(read.values())
    assert [each.name for each in read.values() if each] == [
        "groupArrayArrayIf",
        "count",
        "sumIfOrNull",
        "argMinIf",
        "sumIfArray",
    ]
    assert read["sumIfOrNull"].on_condition  # type: ignore[union-attr]
    assert read["sumIfOrNull"].or_null  # type: ignore[union-attr]
    assert not read["sumIfArray"].on_condition  # type: ignore[union-attr]
    assert parse_aggregate_name("If") is None
    assert parse_aggregate_name("sum" + "Array" * 20) is None


STORED = {
    "AggregateFunction(sumIf, UInt8, UInt8)": "BIGINT",
    "AggregateFunction(sumArray, Array(UInt8))": "BIGINT",
    "AggregateFunction(quantiles(0.5, 0.9), Float32)": "ARRAY<DOUBLE>",
    "AggregateFunction(groupArrayDistinct, String)": "ARRAY<STRING>",
    "AggregateFunction(minOrNull, UInt8)": "STRUCT<`state`: INT, `rows`: BIGINT>",
    "AggregateFunction(varPop, Int32)": "STRUCT<`n`: DOUBLE, `s1`: DOUBLE, `s2`: DOUBLE>",
    "AggregateFunction(topKWeighted(3), String, UInt8)": "ARRAY<STRUCT<`col1`: STRING, `col2`: INT>>",
    "AggregateFunction(sumMap, Map(String, UInt8))": "ARRAY<MAP<STRING, INT>>",
}


@pytest.mark.parametrize("name", STORED)
def test_a_state_is_stored(name: str) -> None:
    of = parse_type(name)
    assert spark_type(of) == STORED[name]
    assert column_default(of)
    assert cast_column("x", of, of) == "x"


def test_a_condition_is_no_part_of_a_state() -> None:
    of = parse_type("AggregateFunction(sumIfOrNull, UInt8, UInt8)")
    assert state_arguments(of) == (parse_type("UInt8"),)  # type: ignore[arg-type]


def test_a_state_of_what_the_function_does_not_take() -> None:
    with pytest.raises(UnknownState):
        spark_type(parse_type("AggregateFunction(groupBitOr, Float64)"))


def test_what_is_not_exact_says_how_far_it_is_off() -> None:
    assert [name for name, row in AGGREGATES.items() if not row.exact and not row.error] == []


def test_a_condition_alone_is_counted() -> None:
    assert (
        problems("SELECT countOrNullIf(day > 1), countIfOrNull(day > 1), countIfOrDefault(day > 1) FROM flights") == []
    )


def test_count_of_all_columns() -> None:
    shown = query("SELECT count(DISTINCT *), count(*), count(x.*) FROM (SELECT carrier FROM flights) AS x").columns
    assert [name for name, _ in shown] == ["countDistinct(carrier)", "count()", "count(carrier)"]
    (problem,) = problems("SELECT count(x.*) FROM flights AS x")
    assert "`count` takes 0 to 1 arguments" in problem
