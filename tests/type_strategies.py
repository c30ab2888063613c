"""Hypothesis strategies for names and for column types."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from penstock.model import types as t

names = st.from_regex(r"[a-z][a-z0-9]{0,7}", fullmatch=True)
"""Names that columns and resources may have."""

_ZONES = (None, "UTC", "Europe/Madrid", "America/Los_Angeles", "Asia/Kolkata")
_texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)

integers = st.builds(t.Int, st.sampled_from((8, 16, 32, 64)), st.booleans())
floats = st.builds(t.Float, st.sampled_from((32, 64)))
dates = st.builds(t.Date, st.booleans())
datetimes = st.builds(t.DateTime, st.sampled_from(_ZONES))
fixed_strings = st.builds(t.FixedString, st.integers(1, 64))


@st.composite
def decimals(draw: st.DrawFn) -> t.Decimal:
    precision = draw(st.integers(1, 38))
    return t.Decimal(precision, draw(st.integers(0, precision)))


@st.composite
def enums(draw: st.DrawFn) -> t.Enum:
    bits = draw(st.sampled_from((8, 16)))
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    values = draw(st.dictionaries(_texts, st.integers(low, high), min_size=1, max_size=4))
    by_number = {number: name for name, number in values.items()}
    return t.Enum(bits, tuple((name, number) for number, name in sorted(by_number.items())))


low_cardinalities = st.one_of(st.just(t.String()), fixed_strings, integers, dates, datetimes, st.just(t.UUID()))
"""What LowCardinality may hold, but for Nullable around it."""

scalars = st.one_of(
    low_cardinalities,
    floats,
    decimals(),
    enums(),
    st.sampled_from((t.Bool(), t.Json(), t.IPv4(), t.IPv6())),
    st.builds(t.DateTime64, st.integers(0, 9), st.sampled_from(_ZONES)),
)
"""Types of one value."""


def _nested(inner: st.SearchStrategy[t.Type]) -> st.SearchStrategy[t.Type]:
    unnamed = st.lists(inner, min_size=1, max_size=3).map(lambda found: tuple((None, of) for of in found))
    named = st.dictionaries(st.one_of(names, _texts.filter(bool)), inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(t.Array, inner),
        st.builds(t.Tuple, st.one_of(unnamed, named.map(lambda found: tuple(found.items())))),
        st.builds(t.Map, low_cardinalities, inner),
    )


@cache
def plain_types() -> st.SearchStrategy[t.Type]:
    """Every type but the aggregates' states."""
    single = st.one_of(
        scalars,
        st.builds(t.Nullable, scalars),
        st.builds(t.LowCardinality, low_cardinalities),
        st.builds(t.LowCardinality, st.builds(t.Nullable, low_cardinalities)),
    )
    return st.recursive(single, _nested, max_leaves=6)


@cache
def types() -> st.SearchStrategy[t.Type]:
    """Every type that a column may have."""
    parameters = st.lists(st.sampled_from(("0.5", "0.99", "10", "-1", "','")), max_size=2).map(tuple)
    functions = st.sampled_from(("count", "sum", "uniq", "avg", "argMax", "quantile", "groupArray"))
    arguments = st.lists(plain_types(), max_size=2).map(tuple)
    simple = st.sampled_from(("any", "anyLast", "min", "max", "sum"))
    return st.one_of(
        plain_types(),
        st.builds(t.AggregateFunction, functions, arguments, parameters),
        st.builds(t.SimpleAggregateFunction, simple, plain_types()),
    )
