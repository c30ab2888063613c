"""Explicit conversions: CAST, toT, toTOrZero, toTOrNull, accurateCast and its kin.

In: a value and a type. Out: `Typed`, or None where ClickHouse has no such conversion. Called by
special_forms, the conversion functions and the forward query. Invariant: a text that is no value of
the type fails the query (or gives zero or NULL, as asked); it never becomes another value.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from penstock.model import types as t
from penstock.model.types import Type, bare, nullable
from penstock.sql import conversion_numbers, conversion_texts, conversion_times
from penstock.sql.constants import literal_as
from penstock.sql.conversion import Conversion, Overflow
from penstock.sql.spark_types import spark_type
from penstock.sql.typed import NOTHING, Typed, is_null, typed
from penstock.sql.value_types import text_literal, value_type, value_zero
from penstock.sql.widening import cast_sql, same_state

OnFailure: TypeAlias = Literal["error", "zero", "null"]


@dataclass(frozen=True, slots=True)
class Mode:
    """What a value that cannot be converted becomes, and a number out of range. `default` is what
    `zero` gives, where it is not the type's zero value."""

    failure: OnFailure = "error"
    overflow: Overflow = "wraps"
    default: str | None = None


CAST = Mode()


def convert(value: Typed, want: Type, mode: Mode = CAST) -> Typed | None:
    """`value` as `want`. A NULL stays NULL; into a type that is not Nullable it is an error."""
    if isinstance(bare(want), t.AggregateFunction):
        return Typed(value.sql, want, spark_type(want)) if same_state(value.type, bare(want)) else None
    if is_null(value):
        return typed(f"CAST(NULL AS {value_type(want)})", t.Nullable(bare(want)))
    known = literal_as(value.constant, bare(want)) if isinstance(value.constant, str) else None
    if known is not None and isinstance(bare(want), (t.Date, t.DateTime, t.DateTime64)):
        return replace(known, type=want, constant=None)
    conversion = _conversion(value, bare(want), mode)
    if conversion is None:
        return None
    return _guarded(value, want, mode, conversion)


def _guarded(value: Typed, want: Type, mode: Mode, conversion: Conversion) -> Typed:
    """The conversion under its mode's rule for values that it is not valid for."""
    sql, valid = conversion.sql, conversion.valid
    defaulted = value.nullable and not nullable(want) and mode.failure == "zero" and mode.default is not None
    if valid is not None:
        match mode.failure:
            case "error":
                to = text_literal(f" to {bare(want)}")
                message = f"concat('cannot convert ', CAST({value.sql} AS STRING), {to})"
                sql = f"if(NOT ({valid}), raise_error({message}), {sql})"
            case "null":
                sql = f"if({valid}, {sql}, NULL)"
            case "zero":
                other = mode.default or value_zero(bare(want))
                sql = f"CASE WHEN {value.sql} IS NULL THEN NULL WHEN {valid} THEN {sql} ELSE {other} END"
    if defaulted:
        sql = f"coalesce({sql}, {mode.default})"
    stays_null = value.nullable and not isinstance(bare(want), (t.Array, t.Map, t.Tuple)) and not defaulted
    return typed(sql, t.Nullable(bare(want)) if mode.failure == "null" or stays_null else want)


_FAMILIES: tuple[tuple[tuple[type[Type], ...], Callable[[Typed, Type, Overflow], Conversion | None]], ...] = (
    ((t.Int, t.Float, t.Decimal, t.Bool), conversion_numbers.to_number),
    ((t.Date, t.DateTime, t.DateTime64), conversion_times.to_time),
    ((t.String, t.FixedString, t.UUID, t.Enum, t.Json, t.IPv4, t.IPv6), conversion_texts.to_text),
)


def _conversion(value: Typed, want: Type, mode: Mode) -> Conversion | None:
    if value.bare == want and value.spark == value_type(want):
        return Conversion(value.sql)
    for kinds, family in _FAMILIES:
        if isinstance(want, kinds):
            return family(value, want, mode.overflow)
    return _nested(value, want)


def _nested(value: Typed, want: Type) -> Conversion | None:
    """Arrays, maps and tuples, element by element."""
    have = value.bare
    if have == NOTHING:
        return None
    lossless = cast_sql(value.sql, have, want)
    if lossless is not None:
        return Conversion(lossless if value.spark == value_type(have) else f"CAST({value.sql} AS {value_type(want)})")
    match (have, want):
        case (t.Array(old), t.Array(new)):
            element = convert(typed("e", old), new)
            return Conversion(f"transform({value.sql}, e -> {element.sql})") if element is not None else None
        case (t.Tuple(old_fields), t.Tuple(new_fields)) if len(old_fields) == len(new_fields):
            return Conversion(f"CAST({value.sql} AS {value_type(want)})")
        case _:
            return None
