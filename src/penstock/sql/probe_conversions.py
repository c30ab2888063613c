"""For which values a conversion fails or takes a default.

In: a value, a type and a mode. Out: conditions in Spark SQL. Called by probes and probe_expressions.
Invariant: the conditions are true for those rows and no others, never for NULL, and none of them raises.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from penstock.model import types as t
from penstock.model.types import Type, bare, nullable
from penstock.sql.conversions import Mode, convert
from penstock.sql.tolerant import tolerant
from penstock.sql.typed import Typed, typed
from penstock.sql.value_types import value_type
from penstock.sql.widening import cast_sql

Kind: TypeAlias = Literal["fails", "default"]
Faults: TypeAlias = tuple[tuple[Kind, str], ...]
"""What a conversion does to values, and for which of them."""


def mode_of(name: str) -> Mode:
    """The mode of a conversion function."""
    failure = {"OrNull": "null", "OrZero": "zero"}.get(name[-6:], "zero" if name.endswith("OrDefault") else "error")
    accurate = name.startswith("accurate") or name.endswith("OrDefault")
    return Mode(failure, "refused" if accurate else "wraps")  # type: ignore[arg-type]


def faults_of(value: Typed, to: Type, mode: Mode) -> Faults | None:
    """The rows whose value fails or takes a default; nothing where every value converts, None where that
    cannot be said."""
    want = bare(to)
    if _never_fails(value, want, mode):
        return ()
    if isinstance(value.bare, t.Array) and isinstance(want, t.Array) and value.spark == value_type(value.bare):
        return _element_faults(value, value.bare.of, want.of, mode)
    checked = convert(value, want, replace(mode, failure="null", default=None))
    if checked is None:
        return None
    bad = f"{value.sql} IS NOT NULL AND {tolerant(checked.sql)} IS NULL"
    if isinstance(value.bare, t.Float) and isinstance(want, t.Int) and mode.overflow == "wraps" and want.high > 2**63:
        bad = f"{bad} AND abs({value.sql}) < double('Infinity')"
    return (("fails" if mode.failure == "error" else "default", bad),)


def faults_of_parsing(value: Typed, parsed: Typed, mode: Mode) -> Faults:
    """Of parseDateTimeBestEffort and its kin: `parsed` is what the function OrNull makes of the value."""
    bad = f"{value.sql} IS NOT NULL AND {tolerant(parsed.sql)} IS NULL"
    return (("fails" if mode.failure == "error" else "default", bad),)


def _element_faults(array: Typed, old: Type, new: Type, mode: Mode) -> Faults | None:
    """An array fails with one of its elements."""
    inner = faults_of(typed("` e`", old), new, mode)
    if inner is None:
        return None
    bads = [bad for _, bad in inner] + (["` e` IS NULL"] if nullable(old) and not nullable(new) else [])
    return tuple(("fails", f"coalesce(exists({array.sql}, ` e` -> {bad}), false)") for bad in bads)


def _never_fails(value: Typed, want: Type, mode: Mode) -> bool:
    wraps = mode.overflow == "wraps"
    match value.bare, want:
        case (_, t.String() | t.AggregateFunction()) | (t.Enum(), t.Int()):
            return True
        case t.Int() | t.Bool() | t.Float() | t.Decimal(), t.Bool():
            return True
        case (t.Int() | t.Bool(), t.Int() | t.Float()) | (t.Float() | t.Decimal(), t.Float()) if wraps:
            return True
        case t.Date() | t.DateTime() | t.DateTime64(), t.Int() | t.Float():
            return wraps
        case t.Date() | t.DateTime() | t.DateTime64(), t.Date() | t.DateTime() | t.DateTime64():
            return True
        case t.Int(bits, signed), t.Date() | t.DateTime() | t.DateTime64() if bits <= 32 and (wraps or not signed):
            return True
        case _:
            return value.spark == value_type(value.bare) and cast_sql(value.sql, value.bare, want) is not None
