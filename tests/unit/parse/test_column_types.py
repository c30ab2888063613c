"""Type texts: what is read, what is refused, and that every type is read back from its spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import types as t
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax
from type_strategies import types


@given(types())
def test_every_type_is_read_back_from_its_spelling(of: t.Type) -> None:
    assert parse_type(str(of)) == of


_BROKEN = types().map(str).flatmap(lambda text: st.sampled_from((text[:-1], text[1:], text.replace("(", ",", 1))))


@given(st.one_of(st.text(), _BROKEN))
def test_any_text_is_a_type_or_a_problem_inside_of_it(text: str) -> None:
    error = refusal(text)
    assert error is None or (error.message and 0 <= error.offset <= len(text))


def refusal(text: str) -> InvalidSyntax | None:
    try:
        parse_type(text)
    except InvalidSyntax as error:
        return error
    return None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Int8", t.Int(8)),
        ("UInt64", t.Int(64, signed=False)),
        ("Int8()", t.Int(8)),
        (" Array ( Int8 ) ", t.Array(t.Int(8))),
        ("bool", t.Bool()),
        ("datetime", t.DateTime()),
        ("DateTime('UTC')", t.DateTime("UTC")),
        ("DateTime64", t.DateTime64(3)),
        ("DateTime64(6,'Europe/Madrid')", t.DateTime64(6, "Europe/Madrid")),
        ("Decimal", t.Decimal(10, 0)),
        ("DECIMAL(12)", t.Decimal(12, 0)),
        ("Decimal32(2)", t.Decimal(9, 2)),
        ("Decimal64(4)", t.Decimal(18, 4)),
        ("Decimal128(10)", t.Decimal(38, 10)),
        ("Enum8('a'=1,'b')", t.Enum(8, (("a", 1), ("b", 2)))),
        ("Enum8('a','b')", t.Enum(8, (("a", 1), ("b", 2)))),
        ("Enum8('b'=2,'a'=-1)", t.Enum(8, (("a", -1), ("b", 2)))),
        ("Enum('a'=300)", t.Enum(16, (("a", 300),))),
        (r"Enum8('it\'s' = 1, 'a''b' = 2)", t.Enum(8, (("it's", 1), ("a'b", 2)))),
        ("Tuple(Int8, String)", t.Tuple(((None, t.Int(8)), (None, t.String())))),
        ("Tuple(a Int8, `b c` Array(String))", t.Tuple((("a", t.Int(8)), ("b c", t.Array(t.String()))))),
        ("Map(String, Array(Nullable(Int8)))", t.Map(t.String(), t.Array(t.Nullable(t.Int(8))))),
        ("LowCardinality(Nullable(String))", t.LowCardinality(t.Nullable(t.String()))),
        ("AggregateFunction(count)", t.AggregateFunction("count")),
        ("AggregateFunction(count, UInt16)", t.AggregateFunction("count", (t.Int(16, signed=False),))),
        ("AggregateFunction(quantile(0.9), Float64)", t.AggregateFunction("quantile", (t.Float(64),), ("0.9",))),
        ("AggregateFunction(argMax, String, DateTime)", t.AggregateFunction("argMax", (t.String(), t.DateTime()))),
        ("SimpleAggregateFunction(max, DateTime)", t.SimpleAggregateFunction("max", t.DateTime())),
        ("SimpleAggregateFunction(any_value, String)", t.SimpleAggregateFunction("any", t.String())),
        ("Nullable(JSON)", t.Nullable(t.Json())),
        ("json(max_dynamic_paths=256, max_dynamic_types = 8)", t.Json()),
        ("DateTime(3)", t.DateTime64(3)),
        ("DateTime(0, 'UTC')", t.DateTime("UTC")),
        ("DateTime32('UTC')", t.DateTime("UTC")),
    ],
)
def test_reads(text: str, expected: t.Type) -> None:
    assert parse_type(text) == expected


@pytest.mark.parametrize(
    ("text", "offset", "message", "hint"),
    [
        ("", 0, "expected a type, found the end", None),
        ("Strin", 0, "unknown type `Strin`", "did you mean `String`?"),
        ("int8", 0, "unknown type `int8`", "did you mean `Int8`?"),
        ("BOOLEAN(1)", 8, "`Bool` takes no arguments", "write `Bool`"),
        ("VARCHAR('x')", 8, "expected a number from 0 to 999999999, found `'x'`", None),
        ("VARCHAR(3", 9, "expected `)`, found the end", None),
        ("BINARY", 6, "expected `(`, found the end", None),
        ("INT UNSIGNED SIGNED", 13, "expected nothing more, found `SIGNED`", None),
        ("DateTime32(3)", 11, "expected a time zone in quotes, found `3`", "such as 'UTC'"),
        (
            "Array(Int128)",
            6,
            "the type `Int128` is not supported",
            "the widest integer is 64 bits: write Int64, UInt64 or Decimal(38, 0)",
        ),
        ("Variant(Int8)", 0, "the type `Variant` is not supported", None),
        ("Decimal(39, 2)", 8, "a Decimal of 39 digits is not supported", "the greatest precision is 38"),
        ("Decimal(5, 6)", 11, "expected a number from 0 to 5, found `6`", None),
        ("DateTime64(10)", 11, "expected a number from 0 to 9, found `10`", None),
        ("DateTime(UTC)", 9, "expected a time zone in quotes, found `UTC`", "such as 'UTC'"),
        ("DateTime('Europe/Madird')", 9, "unknown time zone 'Europe/Madird'", "did you mean 'Europe/Madrid'?"),
        (
            "Nullable(Array(Int8))",
            9,
            "`Array` cannot be inside Nullable",
            "an absent array is an empty one: write Array(Int8)",
        ),
        (
            "Nullable(LowCardinality(String))",
            9,
            "`LowCardinality` cannot be inside Nullable",
            "write LowCardinality(Nullable(String))",
        ),
        ("Nullable(Nullable(Int8))", 9, "`Nullable` cannot be inside Nullable", "write Nullable(Int8)"),
        ("LowCardinality(Array(Int8))", 15, "`Array` cannot be inside LowCardinality", "write Array(Int8)"),
        ("Map(Nullable(String), Int8)", 4, "the key of a Map cannot be Nullable", "write Map(String, …)"),
        ("Tuple(a Int8, String)", 0, "either all elements of a Tuple have a name or none has", "name all or none"),
        (
            "Tuple(`a.b` Int8, a Array(Tuple(b Int8)))",
            0,
            "the elements `a.b` and `a` of a Tuple cannot be told apart in a table",
            "write `a_b`",
        ),
        ("Tuple()", 6, "expected a type, found `)`", None),
        ("Array(Int8", 10, "expected `)`, found the end", None),
        ("Int8)", 4, "expected nothing more, found `)`", None),
        ("Int8(3)", 5, "`Int8` takes no arguments", "write `Int8`"),
        ("Enum8('a' = 200)", 0, "a number of an Enum8 is from -128 to 127", "write Enum16"),
        ("Enum8('a' = 1, 'a' = 2)", 0, "the name 'a' occurs twice in the Enum", None),
        ("Enum8('a' = 1, 'b' = 1)", 0, "the number 1 occurs twice in the Enum", None),
        ("Enum8(a = 1)", 6, "expected a name in single quotes, found `a`", "such as 'new' = 1"),
        ("FixedString(0)", 12, "expected a number from 1 to 16777215, found `0`", None),
        (
            "Nested(a Int8)",
            0,
            "the type `Nested` is not supported",
            "write Array(Tuple(a String, b Int64)), whose elements have names",
        ),
        (
            "SimpleAggregateFunction(summ, Int64)",
            24,
            "`summ` is not supported in SimpleAggregateFunction",
            "did you mean `sum`?",
        ),
        ("Array(" * 51, 305, "more than 50 brackets inside each other", None),
        (
            "JSON(a.b Decimal(9, 2))",
            9,
            "a path of a JSON column cannot have the type Decimal(9, 2) here",
            "read it as a String, and convert it where the path is read",
        ),
        ("JSON(SKIP a, a.b UInt8)", 0, "`a.b` has a type in JSON(…), and SKIP leaves out `a`", None),
        ("JSON(a UInt8, SKIP REGEXP '^a')", 0, "`a` has a type in JSON(…), and SKIP REGEXP '^a' leaves it out", None),
        ("JSON(a String, a.b UInt8)", 0, "`a` and `a.b` cannot both have a type in JSON(…)", None),
        ("JSON(a UInt8, a String)", 14, "the path `a` stands twice in JSON(…)", None),
        (
            "JSON(SKIP REGEXP '(a+)+')",
            17,
            "this pattern of SKIP REGEXP is not supported: a pattern here has letters, `.`, `[…]`, `*`, `+`, `?`, `|`, "
            "`^`, `$` and plain groups",
            "name the paths: `SKIP a.b` leaves out all below it too",
        ),
    ],
)
def test_refuses(text: str, offset: int, message: str, hint: str | None) -> None:
    with pytest.raises(InvalidSyntax) as caught:
        parse_type(text)
    assert (caught.value.offset, caught.value.message, caught.value.hint) == (offset, message, hint)
