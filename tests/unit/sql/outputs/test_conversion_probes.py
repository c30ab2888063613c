"""Probes of a FORWARD_QUERY: which conversions they find, under which conditions, and what they leave unsure."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.sql.flights import column, text

from penstock.errors import InvalidQuery
from penstock.sql.outputs.conversion_probes import ForwardProbes, Probe, forward_probes
from penstock.sql.outputs.forward_query import compile_forward

OLD = [
    column("s", "String"),
    column("n", "Nullable(String)"),
    column("i", "Int64"),
    column("f", "Float64"),
    column("arr", "Array(String)"),
    column("t", "DateTime"),
    column("id", "UInt32"),
    column("hits", "AggregateFunction(count, UInt16)"),
]


def probed(sql: str, of: str, **others: str) -> ForwardProbes:
    new = [column(name, each) for name, each in {"x": of, **others}.items()]
    return forward_probes(text(sql if " AS " in sql else f"{sql} AS x"), OLD, new)


def found(sql: str, of: str) -> list[tuple[str, str, str]]:
    assert probed(sql, of).unsure == ()
    return [(each.kind, each.conversion, each.value) for each in probed(sql, of).probes]


STRICT = {
    "toUUID(s)": "UUID",
    "CAST(s, 'UUID')": "UUID",
    "toInt32(s)": "Int32",
    "accurateCast(i, 'UInt8')": "UInt8",
    "toDate(s)": "Date",
    "toDateTime(i)": "DateTime",
    "toFixedString(s, 3)": "FixedString(3)",
    "parseDateTimeBestEffort(s)": "DateTime",
    "CAST(arr, 'Array(Int32)')": "Array(Int32)",
    "toUUID(n)": "Nullable(UUID)",
    "CAST(s, 'Nullable(UUID)')": "Nullable(UUID)",
    "CAST(n, 'Nullable(Date)')": "Nullable(Date)",
    "accurateCast(s, 'Nullable(Int8)')": "Nullable(Int8)",
    "CAST(arr, 'Array(Nullable(Int32))')": "Array(Nullable(Int32))",
}
LENIENT = {
    "toUUIDOrZero(s)": "UUID",
    "toInt32OrNull(s)": "Nullable(Int32)",
    "toInt32OrDefault(s)": "Int32",
    "accurateCastOrDefault(s, 'UInt32')": "UInt32",
    "accurateCastOrNull(f, 'UInt8')": "Nullable(UInt8)",
}


@pytest.mark.parametrize(("sql", "of"), STRICT.items())
def test_strict_conversions_fail(sql: str, of: str) -> None:
    ((kind, conversion, value),) = found(sql, of)
    assert (kind, conversion) == ("fails", sql)
    assert value in ("`s`", "`n`", "`i`", "`arr`")


@pytest.mark.parametrize(("sql", "of"), LENIENT.items())
def test_lenient_conversions_take_a_default(sql: str, of: str) -> None:
    ((kind, conversion, _),) = found(sql, of)
    assert (kind, conversion) == ("default", sql)


@pytest.mark.parametrize("sql", ["parseDateTimeBestEffortOrZero(s)", "toDateTimeOrDefault(s)"])
def test_a_time_without_its_year_fails_where_others_take_a_default(sql: str) -> None:
    assert [(kind, conversion) for kind, conversion, _ in found(sql, "DateTime")] == [("fails", sql), ("default", sql)]


def test_a_cast_by_colons_is_shown_as_a_cast() -> None:
    assert [each[1] for each in found("s::UUID", "UUID")] == ["CAST(s AS UUID)"]


SAFE = {
    "s": "String",
    "id": "UInt64",
    "toString(i)": "String",
    "toInt8(i)": "Int8",
    "t": "DateTime64(3)",
    "toDate(t)": "Date",
    "hits": "AggregateFunction(count, UInt64)",
    "lower(s)": "String",
    "toBool(i)": "Bool",
    "if(s = '', NULL, s)": "Nullable(String)",
    "CAST(NULL, 'Nullable(Float64)')": "Nullable(Float64)",
    "7": "UInt8",
}


@pytest.mark.parametrize(("sql", "of"), SAFE.items())
def test_what_holds_every_value_needs_no_probe(sql: str, of: str) -> None:
    assert probed(sql, of) == ForwardProbes((), ())


def test_inner_conversions_come_first() -> None:
    assert [each[1] for each in found("toUInt8(toFloat64(s))", "UInt8")] == ["toFloat64(s)", "toUInt8(toFloat64(s))"]


def test_the_column_s_own_type_is_a_conversion() -> None:
    assert found("s", "UInt16") == [("fails", "s stored as UInt16", "`s`")]
    assert found("n", "String") == [("default", "n stored as String", "`n`")]
    assert [each[0] for each in found("n", "UInt16")] == ["fails", "default"]
    assert [each[0] for each in found("NULL", "String")] == ["default"]


def test_a_null_takes_the_default_of_the_call() -> None:
    kinds = found("accurateCastOrDefault(n, 'Int32', toInt32(7))", "Int32")
    assert [(kind, value) for kind, _, value in kinds] == [("default", "`n`"), ("default", "`n`")]
    assert found("accurateCastOrDefault(s, 'Int32', 7)", "Int32")[0][0] == "default"


def test_a_null_fails_a_cast_to_what_has_none() -> None:
    for sql in ("CAST(n, 'Int32')", "n::Int32", "accurateCast(n, 'Int32')"):
        assert ("fails", "(`n` IS NULL)") in [(each.kind, each.bad) for each in probed(sql, "Int32").probes], sql


def test_branches_are_probed_for_their_rows() -> None:
    case = "CASE WHEN s = 'a' THEN toInt32(s) ELSE 0 END"
    for sql in ("if(s = 'a', toInt32(s), 0)", "s = 'a' ? toInt32(s) : 0", case, case.replace("WHEN s =", "s WHEN")):
        (probe,) = probed(sql, "Int32").probes
        assert probe.bad.startswith("coalesce((`s` = 'a'), false) AND (")
    (probe,) = probed("if(s = 'a', 0, toInt32(s))", "Int32").probes
    assert probe.bad.startswith("NOT coalesce((`s` = 'a'), false) AND (")
    assert probed("coalesce(n, toString(i), s)", "String") == ForwardProbes((), ())
    (probe,) = probed("ifNull(n, toString(toUUID(s)))", "String").probes
    assert probe.bad.startswith("coalesce(`n` IS NULL, false) AND (")


def test_an_alias_is_probed_in_each_column_and_once_a_column() -> None:
    found = probed("toInt32(s) AS y, y = 1 ? y : 0 AS x", "Int32", y="Int32")
    assert [(each.column, each.conversion) for each in found.probes] == [("x", "toInt32(s)"), ("y", "toInt32(s)")]
    assert found.unsure == ()


UNSURE = {
    "i + 1": "Int64",
    "intDiv(i, id)": "Int64",
    "arrayMap(e -> toInt32(e), arr)": "Array(Int32)",
    "arr[i]": "String",
    "s != '' AND toInt8(s) > 5": "UInt8",
    "toInt32(s) + 1": "Int64",
    "toString(i * i)": "String",
    "if(i + 1 > 5, toInt32(s), 0)": "Int32",
    "toUUIDOrDefault(s, assumeNotNull(toUUID(n)))": "UUID",
    "toUnixTimestamp(s)": "UInt32",
    "if(n = toString(toInt8(s)), 1, 0)": "UInt8",
    "CAST((s, 1), 'Tuple(Int32, Int32)')": "Tuple(Int32, Int32)",
}


@pytest.mark.parametrize(("sql", "of"), UNSURE.items())
def test_what_no_probe_tells_is_unsure(sql: str, of: str) -> None:
    assert probed(sql, of).unsure == ("x",)


def test_a_query_that_does_not_compile_is_refused_as_ever() -> None:
    sql = "toInt32(nobody) AS x"
    with pytest.raises(InvalidQuery) as ours:
        probed(sql, "Int32")
    with pytest.raises(InvalidQuery) as theirs:
        compile_forward(text(sql), OLD, [column("x", "Int32")])
    assert ours.value.problems == theirs.value.problems


FORMS = (
    "{0}",
    "toInt64({0})",
    "toDateOrNull({0})",
    "toUInt8OrZero({0})",
    "accurateCastOrDefault({0}, 'Int16')",
    "if(s = 'a', {0}, s)",
    "ifNull(n, {0})",
    "lower({0})",
    "toString({0})",
)


def test_nested_conversions_do_not_multiply_what_is_asked() -> None:
    sql = "s"
    for _ in range(8):
        sql = f"toString(toFloat64OrNull({sql}))"
    (first, *_, last) = probed(sql, "Nullable(String)").probes
    assert first.value == "`s`"
    assert len(last.bad) < 30_000


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(FORMS), min_size=1, max_size=3), st.sampled_from(["String", "Int16", "UUID"]))
def test_no_sql_of_a_probe_raises(forms: list[str], of: str) -> None:
    sql = "s"
    for form in forms:
        sql = form.format(f"toString({sql})" if sql != "s" else sql)
    try:
        result = probed(sql, of)
    except InvalidQuery:
        return
    assert all(_is_quiet(each) for each in result.probes)
    assert result.unsure == ()
    assert [each.column for each in result.probes] == ["x"] * len(result.probes)


def _is_quiet(probe: Probe) -> bool:
    both = f"{probe.value} {probe.bad}"
    return not re.search(r"raise_error|(?<!try_)\bCAST\((?!.* AS STRING)|\ue000", both)
