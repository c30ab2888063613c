"""The probes of forward queries and what they predict: a row is bad if and only if the compiled column raises an
error for that row alone, or takes a default that was not written in the row.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.unit.sql.flights import column, text

from penstock.model.types import Type, unwrap_type
from penstock.sql.engines.column_expression import compile_expression
from penstock.sql.outputs.conversion_probes import ForwardProbes, forward_probes
from penstock.sql.outputs.forward_query import compile_forward
from penstock.sql.spark_text import string_literal
from penstock.sql.stored_types import column_default, spark_type

pytestmark = pytest.mark.spark

UUID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"
TEXTS = [
    None,
    "",
    " ",
    "0",
    "00",
    "-0",
    "5",
    " 5",
    "5 ",
    "5\n",
    "+5",
    "-5",
    "--5",
    "1.5",
    "0.0",
    ".5",
    "5.",
    ".",
    "-",
    "1e3",
    "1e400",
    "1e-400",
    "127",
    "128",
    "255",
    "256",
    "300",
    "-1",
    "-129",
    "65536",
    "2147483647",
    "2147483648",
    "4294967296",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "9" * 41,
    "abc",
    "a",
    "b",
    "0x1F",
    "1_000",
    "١",
    "NaN",
    "nan",
    "+nan",
    "-nan",
    "+NaN",
    "inf",
    "-Infinity",
    "+INF",
    "1.5f",
    "1d",
    "true",
    "T",
    "yes",
    "2024-02-29",
    "2023-02-29",
    "2024-02-29 23:59:59",
    "2024-02-29T23:59:59",
    "2024-02-29 23:59:59.123456",
    "2024-02-29 25:00:00",
    "0000-00-00",
    "1970-01-01",
    "1970-01-01 00:00:00",
    "2024-1-1",
    "12345",
    "1234",
    "1700000000",
    "12345678901",
    "2024-02-29 12:00:00+02:00",
    UUID,
    UUID.upper(),
    UUID.replace("-", ""),
    "{" + UUID + "}",
    UUID + "\n",
    "00000000-0000-0000-0000-000000000000",
    "127.0.0.1",
    "256.1.1.1",
    "0.0.0.0",
    "::",
    "::1",
    "::ffff:1.2.3.4",
    "gg::",
    "été",
    "{}",
    '{"a": 1}',
    "5\0",
    "99.999",
    "-1234567.891",
    "12345678",
]
INTEGERS = [
    0,
    1,
    -1,
    127,
    128,
    255,
    256,
    300,
    -129,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    999,
    1000,
    99999,
    10**12,
    9_223_372_036_854,
    9_223_372_036_855,
    -9_223_372_036_855,
    2**63 - 1,
    -(2**63),
]
UNSIGNED = [Decimal(each) for each in (0, 1, 255, 256, 65536, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1)]
FLOATS = [
    0.0,
    -0.0,
    1.0,
    1.5,
    -1.5,
    0.1,
    255.0,
    255.9,
    256.0,
    300.0,
    1e7,
    16777217.0,
    1e9,
    2147483648.0,
    1e10,
    1e13,
    9.2e18,
    1e19,
    -1e19,
    1.8e19,
    1e20,
    1e21,
    1e300,
    -1e300,
    float("inf"),
    float("-inf"),
    float("nan"),
]
DECIMALS = [
    Decimal(each)
    for each in (
        "0",
        "1.5",
        "-1.5",
        "127.9999",
        "128",
        "999.9999",
        "1000",
        "99999.9999",
        "3e9",
        "-3e9",
        "99999999999999.9999",
    )
]
ARRAYS = [[], ["1"], ["1", "x"], [None], ["1.5"], ["", "2"], ["300"]]
PADDED = ["5", "12345", "abc", "", "1.5"]
ROWS: dict[str, list[object]] = {
    "Nullable(String)": list(TEXTS),
    "String": [each for each in TEXTS if each is not None],
    "LowCardinality(String)": ["", "5", "x"],
    "FixedString(5)": [each.ljust(5, "\0") for each in PADDED],
    "Int64": list(INTEGERS),
    "UInt64": list(UNSIGNED),
    "Float64": list(FLOATS),
    "Decimal(18, 4)": list(DECIMALS),
    "Nullable(Int64)": [None, *INTEGERS],
    "Array(String)": [each for each in ARRAYS if None not in each],
    "Array(Nullable(String))": list(ARRAYS),
    "Int32": [0, 1, -1, 65536, 2**31 - 1, -(2**31)],
}
ENUM = "Enum8(\\'a\\' = 1, \\'b\\' = 5)"
OF_TEXT = (
    "toUUID(v)",
    "toInt8(v)",
    "toUInt8(v)",
    "toInt32(v)",
    "toUInt32(v)",
    "toInt64(v)",
    "toUInt64(v)",
    "toFloat32(v)",
    "toFloat64(v)",
    "toDate(v)",
    "toDate32(v)",
    "toDateTime(v)",
    "toDateTime(v, 'Europe/Paris')",
    "toDateTime64(v, 3)",
    "toDecimal32(v, 2)",
    "toDecimal128(v, 10)",
    "toBool(v)",
    "toIPv4(v)",
    "toIPv6(v)",
    "toFixedString(v, 4)",
    "CAST(v, 'Bool')",
    f"CAST(v, '{ENUM}')",
    "CAST(v, 'UInt8')",
    "CAST(v AS Int16)",
    "v::Date",
    "v::Decimal(5, 2)",
    "accurateCast(v, 'UInt8')",
    "accurateCast(v, 'Float32')",
    "parseDateTimeBestEffort(v)",
    "parseDateTime64BestEffort(v)",
    "CAST(v, 'JSON')",
    "CAST(v, 'Nullable(Int32)')",
    "toInt32(toFloat64(v))",
    "toUInt8(toInt32(v))",
    "toDate(toDateTime(v))",
    "accurateCast(toInt64(v), 'Int8')",
    "toUInt8(lower(v))",
)
OF_NUMBERS = (
    "CAST(v, 'UInt8')",
    "toInt32(v)",
    "toUInt64(v)",
    "toInt64(v)",
    "accurateCast(v, 'UInt8')",
    "accurateCast(v, 'Int64')",
    "accurateCast(v, 'Float32')",
    "accurateCast(v, 'UInt64')",
    "toDateTime(v)",
    "CAST(v, 'Decimal(5, 2)')",
    "toDecimal64(v, 4)",
    "toFloat32(v)",
    "toString(v)",
    "toBool(v)",
    "accurateCastOrNull(v, 'Decimal(5, 2)')",
    "accurateCastOrNull(v, 'DateTime')",
    "accurateCastOrDefault(v, 'UInt8')",
    "toInt8OrDefault(v)",
)
BRANCHES = (
    "if(v != '', toInt32(v), 0)",
    "v = '' ? 0 : toInt32(v)",
    "multiIf(v = 'a', 1, v = 'b', 2, toInt32(v))",
    "CASE WHEN match(v, '^[0-9]+$') THEN toUInt8(v) ELSE 0 END",
    "CASE v WHEN '' THEN 0 ELSE toInt8(v) END",
    "coalesce(toInt32OrNull(v), toInt64(toFloat64(v)))",
    "ifNull(toDateOrNull(v), toDate(toDateTime(v)))",
    "if(toInt32OrZero(v) > 100, toUInt8(v), 0)",
    "if(toFloat64(v) > 1, toInt32(v), 0)",
    "if(length(v) < 36, toString(toInt32(v)), toString(toUUID(v)))",
    "toUInt8(if(v = '', '0', v))",
)
CASES = [
    *(("String", sql) for sql in (*OF_TEXT, *BRANCHES)),
    *(("Nullable(String)", sql) for sql in (*OF_TEXT[:12], *BRANCHES[:4])),
    *((of, sql) for of in ("Int64", "UInt64", "Float64", "Nullable(Int64)") for sql in OF_NUMBERS),
    *(("Decimal(18, 4)", sql) for sql in OF_NUMBERS if "DateTime" not in sql),  # ClickHouse reads none as a time
    *((of, "toInt32(v)") for of in ("LowCardinality(String)", "FixedString(5)")),
    *((of, sql) for of in ("Int64", "UInt64") for sql in ("toDate(v)", "toDateTime64(v, 3)")),
    ("Int64", f"CAST(v, '{ENUM}')"),
    ("Float64", "toDateTime64(v, 3)"),
    ("Float64", "toDecimal128(v, 12)"),
    *(
        (f"Array({of})", f"{name}(v, 'Array({new})')")
        for of in ("String", "Nullable(String)")
        for name, new in (
            ("CAST", f"{of.replace('String', 'Int32')}"),
            ("accurateCast", f"{of.replace('String', 'UInt8')}"),
        )
    ),
    ("Array(Nullable(String))", "CAST(v, 'Array(Int32)')"),
]
LENIENT = (
    "toInt8OrZero(v)",
    "toUInt64OrZero(v)",
    "toInt32OrNull(v)",
    "toFloat64OrZero(v)",
    "toFloat32OrNull(v)",
    "toUUIDOrZero(v)",
    "toUUIDOrNull(v)",
    "toUUIDOrDefault(v)",
    "toDateOrZero(v)",
    "toDateOrNull(v)",
    "toDateTimeOrNull(v)",
    "toDateTimeOrZero(v)",
    "toDecimal32OrZero(v, 2)",
    "toDecimal64OrNull(v, 4)",
    "toIPv4OrZero(v)",
    "toIPv6OrNull(v)",
    "toInt32OrDefault(v)",
    "accurateCastOrNull(v, 'UInt8')",
    "accurateCastOrDefault(v, 'UInt32')",
    "accurateCastOrDefault(v, 'UUID')",
    "accurateCastOrDefault(v, 'Date')",
    "accurateCastOrDefault(v, 'Float64')",
    "parseDateTimeBestEffortOrNull(v)",
    "parseDateTimeBestEffortOrZero(v)",
)
ZERO_TEXTS = {
    "0",
    ".",
    "-",
    "00",
    "-0",
    "0.0",
    "1e-400",
    "1970-01-01",
    "1970-01-01 00:00:00",
    "00000000-0000-0000-0000-000000000000",
    "0.0.0.0",
    "::",
    "0000-00-00",
    "12345678",
    "1234",
}
"""Texts whose value is the zero of some type; ClickHouse takes times before 1970, and days that are none, for it."""


@dataclass(frozen=True)
class Case:
    """The rows `v` of a type, and a forward query's column over them, in its own type or in another."""

    session: SparkSession
    of: str
    sql: str
    into: str = ""

    @property
    def type(self) -> Type:
        old = [column("v", self.of)]
        return column("x", self.into).type if self.into else compile_expression(text(self.sql), old).type

    def compiled(self) -> str:
        new = column("x", str(self.type))
        return compile_forward(text(f"{self.sql} AS x"), [column("v", self.of)], [new])[0].sql

    def probed(self) -> ForwardProbes:
        new = column("x", str(self.type))
        return forward_probes(text(f"{self.sql} AS x"), [column("v", self.of)], [new])

    def ask(self, *answers: str) -> list[tuple[object, ...]]:
        """SQL over the rows, in their order. Spark folds VALUES: no job is run."""
        literals = (f"({place}, {_literal(value)})" for place, value in enumerate(ROWS[self.of]))
        value = f"CAST(v AS {spark_type(column('v', self.of).type)}) AS v"
        rows = f"SELECT n, {value} FROM VALUES {', '.join(literals)} AS r(n, v)"
        found = self.session.sql(f"SELECT n, {', '.join(answers)} FROM ({rows})").collect()
        return [tuple(row)[1:] for row in sorted(found)]

    def where(self, sql: str) -> list[object]:
        """The values of the rows for which SQL is true; it must be true or false for each."""
        answers = [answer for (answer,) in self.ask(sql)]
        assert all(isinstance(answer, bool) for answer in answers)
        return [value for value, answer in zip(ROWS[self.of], answers, strict=True) if answer]

    def bad(self, kind: str) -> list[object]:
        """What a probe of a kind calls bad; that no probe raises shows by the way."""
        probes = [each for each in self.probed().probes if each.kind == kind]
        shown = [f"coalesce(CAST({each.value} AS STRING), '') IS NULL" for each in probes]
        return self.where(" OR ".join(["false", *(f"({each.bad})" for each in probes), *shown]))

    def raising(self) -> list[object]:
        return self.where(_raises(self.compiled()))


def _raises(sql: str) -> str:
    """`try_to_binary` gives NULL for whatever its argument raises; it is never NULL otherwise here."""
    return f"(try_to_binary(concat('x', coalesce(CAST({sql} AS STRING), '')), 'utf-8') IS NULL)"


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return string_literal(value)
        case list():
            return f"array({', '.join(map(_literal, value))})"
        case int():
            return f"CAST('{value}' AS BIGINT)"
        case float():
            return f"CAST('{value}' AS DOUBLE)"
        case _:
            return f"CAST('{value}' AS DECIMAL(38,4))"


@pytest.fixture(autouse=True)
def _nothing_ahead_of_try(spark_session: SparkSession) -> Iterator[None]:
    """A part that is used twice would be evaluated first, outside of what would catch it."""
    settings = {"spark.sql.subexpressionElimination.enabled": "false", "spark.sql.alwaysInlineCommonExpr": "true"}
    for key, value in settings.items():
        spark_session.conf.set(key, value)
    yield
    for key in settings:
        spark_session.conf.unset(key)


def test_rows_that_raise_are_detected(spark_session: SparkSession) -> None:
    case = Case(spark_session, "String", "toInt32(v)")
    with pytest.raises(PySparkException):
        case.ask(case.compiled())
    assert case.where(_raises("if(v = 'a', raise_error('x'), v)")) == ["a"]


@pytest.mark.parametrize(("of", "sql"), CASES, ids=[f"{of}-{sql}" for of, sql in CASES])
def test_bad_rows_are_those_that_raise(of: str, sql: str, spark_session: SparkSession) -> None:
    case = Case(spark_session, of, sql)
    assert case.probed().unsure == ()
    assert case.bad("fails") == case.raising()


@pytest.mark.parametrize("into", ["UInt16", "UUID", "Date", "Decimal(9, 2)", "FixedString(3)", "Float64"])
def test_storing_raises_for_the_rows_that_the_probe_names(into: str, spark_session: SparkSession) -> None:
    case = Case(spark_session, "Nullable(String)", "v", into)
    assert case.bad("fails") == case.raising()
    assert case.bad("default") == [None]


@pytest.mark.parametrize("sql", LENIENT)
@pytest.mark.parametrize("of", ["String", "Nullable(String)"])
def test_rows_that_take_a_default(of: str, sql: str, spark_session: SparkSession) -> None:
    case = Case(spark_session, of, sql)
    assert case.probed().unsure == ()
    raising = case.raising()
    assert case.bad("fails") == raising
    default = "NULL" if "OrNull" in sql else column_default(unwrap_type(case.type))
    same = f"if({_raises(case.compiled())}, false, ({case.compiled()}) <=> {default})"
    of_null = "OrDefault" in sql
    taken = [value for value in case.where(same) if value not in ZERO_TEXTS and (of_null or value is not None)]
    bad = case.bad("default")
    assert [value for value in bad if value not in ZERO_TEXTS] == taken
    assert set(bad) <= set(case.where(same))


@pytest.mark.parametrize("to", ["Decimal(5, 2)", "DateTime", "DateTime64(3)", "UInt8", "Date"])
@pytest.mark.parametrize("of", ["Int32", "Int64", "UInt64", "Float64", "Decimal(18, 4)", "Nullable(Int64)"])
def test_numbers_that_have_no_value(of: str, to: str, spark_session: SparkSession) -> None:
    if (to == "Date" and "Int" not in of) or (to == "DateTime" and "Decimal" in of):
        pytest.skip("there is no conversion")
    case = Case(spark_session, of, f"accurateCastOrNull(v, '{to}')")
    assert case.probed().unsure == ()
    assert case.bad("fails") == case.raising() == []
    assert case.bad("default") == [value for value in case.where(f"({case.compiled()}) IS NULL") if value is not None]


def test_a_null_takes_the_default_that_is_given(spark_session: SparkSession) -> None:
    case = Case(spark_session, "Nullable(String)", "accurateCastOrDefault(v, 'Int32', toInt32(7))", "Int32")
    assert case.bad("default") == case.where(f"({case.compiled()}) = 7")


def test_nulls_of_an_unread_text_are_counted_once(spark_session: SparkSession) -> None:
    case = Case(spark_session, "Nullable(String)", "toInt32OrNull(v)", "Int32")
    zeros = [value for value in case.where(f"({case.compiled()}) = 0") if value not in ("0", "00", "-0")]
    first, last = (case.where(each.bad) for each in case.probed().probes)
    assert (first, last) == ([value for value in zeros if value is not None], [None])
