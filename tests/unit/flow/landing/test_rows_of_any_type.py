"""Any JSON into any type: no error escapes the parser, and what it accepts, or says, can be handed to Spark."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.flow.landing.json_row import MAX_DEPTH
from penstock.flow.landing.row_parser import LONGEST_REASON, RowParser
from penstock.model import types as t
from penstock.model.manifest import Landing, LandingColumn
from type_strategies import plain_types


def arrow_type(of: t.Type) -> pa.DataType:  # noqa: PLR0911 - one case a kind of type
    """The Arrow type of the Spark type in which `of` is stored (sql/expr/spark_types.py)."""
    match of:
        case t.Nullable(inner) | t.LowCardinality(inner):
            return arrow_type(inner)
        case t.Array(inner):
            return pa.list_(arrow_type(inner))
        case t.Map(key, value):
            return pa.map_(arrow_type(key), arrow_type(value))
        case t.Tuple(fields):
            return pa.struct(
                [(name or f"_{place}", arrow_type(inner)) for place, (name, inner) in enumerate(fields, 1)]
            )
        case t.Int(bits, signed):
            wide = pa.int64() if signed or bits < 64 else pa.decimal128(20, 0)
            return pa.int32() if of.high < 2**31 else wide
        case t.Float(bits):
            return pa.float32() if bits == 32 else pa.float64()
        case t.Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case t.Date():
            return pa.date32()
        case t.DateTime64(precision) if precision > 6:
            return pa.decimal128(20, 9)
        case t.DateTime() | t.DateTime64():
            return pa.timestamp("us", "UTC")
        case _:
            return pa.bool_() if isinstance(of, t.Bool) else pa.string()


texts = st.text() | st.text(st.characters(categories=["Cs", "Nd", "Zs"]), max_size=8)
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,25})?", fullmatch=True)
NEAR = (
    '"1_000"',
    '"\\u0661\\u0662"',
    '"fe80::1%\\ud800"',
    '"{61f0c404-5cb3-11e7-907b-a6006ad3dba0}"',
    '"nan"',
    '"2013-01-01"',
    '"9999-12-31 23:59:59+14:00"',
    '"0001-01-01 00:00:00-14:00"',
    '"1.2.3.4"',
    '"\\ud800"',
    "true",
    "9" * 5000,
    '"' + "9" * 5000 + '"',
    "1e99999999999999999999",
    "-1e-99999999999999999999",
    '"1e99999999999999999999"',
)
"""Values that are near to what some type accepts."""
single = st.sampled_from(NEAR) | numbers | texts.map(json.dumps) | numbers.map(json.dumps) | st.just("null")
json_texts = st.recursive(
    single,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda found: "[" + ",".join(found) + "]"),
        st.dictionaries(st.sampled_from(("_1", "a", "\ud800", "1_0", "2013-01-01")) | texts, inner, max_size=3).map(
            lambda found: "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in found.items()) + "}"
        ),
    ),
    max_leaves=6,
)


def parser(of: t.Type) -> RowParser:
    return RowParser((Landing("s", "s__d1", "v", (LandingColumn("a", "a", of, "$.a"),)),))


@settings(max_examples=1500, deadline=None)
@given(plain_types(), json_texts)
@example(t.IPv6(), '"fe80::1%\\ud800"')
@example(t.Int(8), "1e99999999999999999999")
@example(t.DateTime(None), "1e99999999999999999999")
@example(t.String(), "[" * 490 + "]" * 490)
@example(t.Enum(8, (("a", 1),)), '"\\ud800"')
def test_a_row_is_stored_or_has_reasons(of: t.Type, text: str) -> None:
    found = parser(of).parse(b'{"a":' + text.encode(errors="replace") + b"}")
    if found.values is None:
        [(_, reasons)] = found.rejects
        assert pa.array(reasons, pa.string()).null_count == 0
        assert all(0 < len(reason) <= LONGEST_REASON for reason in reasons)
    else:
        assert len(pa.array([found.values["a"]], arrow_type(of))) == 1


@pytest.mark.parametrize(
    ("depth", "accepted"), [(MAX_DEPTH - 1, True), (MAX_DEPTH, False), (490, False), (50_000, False)]
)
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"x":', "}")])
def test_the_limit_of_nesting_is_the_same_for_every_stack(
    depth: int, accepted: bool, opening: str, closing: str
) -> None:
    line = b'{"a":' + (opening * depth + "1" + closing * depth).encode() + b"}"

    def parse_below(frames: int) -> bool:
        return parse_below(frames - 1) if frames else parser(t.String()).parse(line).values is not None

    assert [parse_below(frames) for frames in (0, 200, 400)] == [accepted] * 3


def test_brackets_in_texts_do_not_count() -> None:
    assert parser(t.String()).parse(b'{"a": "' + b"[{" * 5000 + b'"}').values == {"a": "[{" * 5000}
