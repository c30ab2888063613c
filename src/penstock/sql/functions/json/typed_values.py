"""Values of JSON as the type that JSONExtract is asked for: scalars, and arrays, tuples and maps of them.

In: a type, the SQL of a VARIANT, and the SQL of the JSON text of the same value, in which keys have their order. Out:
SQL. Invariant: a part that does not fit its type is the default of the type; an array or a tuple none of whose parts
fits does not fit either.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.bind_once import bind_if_long, try_bind_once
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.functions.function import STRING, BadArguments
from penstock.sql.functions.json.numbers import read_decimal, read_float, read_integer, read_truth, with_truth
from penstock.sql.functions.json.paths import variant_kind
from penstock.sql.functions.json.texts import string_or_ordered_json
from penstock.sql.functions.json.times import read_date, read_time
from penstock.sql.spark_text import string_literal

_PLAIN_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_SUPPORTED = (
    "String, integers, floats, Bool, Decimal of at most 18 digits, Date, Date32, DateTime, Array, Map with String "
    "keys, and Tuple with names of letters and digits"
)


def read_value(of: Type, v: str, text: str, depth: int = 0) -> str:
    """A value of a type, or the type's default. Raises BadArguments for other types."""
    match of:
        case t.String():
            return string_or_ordered_json(v, text)
        case t.Nullable(inner):
            return read_or_null(inner, v, text, depth)
        case t.LowCardinality(inner):
            return read_value(inner, v, text, depth)
        case _:
            return f"coalesce({read_or_null(of, v, text, depth)}, {value_default(of)})"


def read_or_null(of: Type, v: str, text: str, depth: int = 0) -> str:
    """As `read_value`, but NULL for a value that is not of the type."""
    match of:
        case t.String():
            return f"if({v} IS NULL OR {variant_kind(v)} = 'VOID', NULL, {string_or_ordered_json(v, text)})"
        case t.LowCardinality(inner):
            return read_or_null(inner, v, text, depth)
        case t.Array(inner):
            return _read_array(inner, v, text, depth)
        case t.Tuple(fields) if fields and all(name and _PLAIN_NAME.fullmatch(name) for name, _ in fields):
            return _read_tuple([(str(name), inner) for name, inner in fields], v, text, depth)
        case t.Map(key, _) if key in (STRING, t.LowCardinality(STRING)):
            return _read_map(of, v, text, depth)
        case _:
            return _read_scalar(of, v)


def _read_scalar(of: Type, v: str) -> str:
    match of:
        case t.Int():
            return with_truth(read_integer(of), value_type(of))(v)
        case t.Float():
            return with_truth(read_float(of), value_type(of))(v)
        case t.Bool():
            return read_truth(v)
        case t.Decimal():
            return read_decimal(of)(v)
        case t.Date():
            return read_date(of)(v)
        case t.DateTime():
            return read_time(of)(v)
        case _:
            raise BadArguments(f"`JSONExtract` of {of} is not supported", _SUPPORTED)


def _read_array(of: Type, v: str, text: str, depth: int) -> str:
    """An array of elements that may be of another type: these are the type's default. NULL for a value that is no
    array, and for elements none of which is of the type."""
    e, i, r = (f"` {letter}{depth}`" for letter in ("e", "i", "r"))
    of_element = f"get_json_object({text}, concat('$[', {i}, ']'))"
    found = read_or_null(unwrap_type(of), e, of_element, depth + 1)
    array = f"try_cast({v} AS ARRAY<VARIANT>)"
    if is_nullable(of):
        pairs = f"transform({array}, ({e}, {i}) -> named_struct('void', {variant_kind(e)} = 'VOID', 'v', {found}))"
        none = f"forall({r}, {e} -> NOT {e}.void AND {e}.v IS NULL)"
        kept = f"transform({r}, {e} -> {e}.v)"
    else:
        pairs = f"transform({array}, ({e}, {i}) -> {found})"
        none = f"forall({r}, {e} -> {e} IS NULL)"
        kept = f"transform({r}, {e} -> coalesce({e}, {value_default(of)}))"
    return try_bind_once(pairs, r, f"if(size({r}) > 0 AND {none}, NULL, {kept})")


def _read_tuple(fields: Sequence[tuple[str, Type]], v: str, text: str, depth: int) -> str:
    """The members of an object by their names, or the elements of an array by their places. NULL where none is of its
    type; a null is of every Nullable type."""
    is_array = f"{variant_kind(v)} LIKE 'ARRAY%'"
    parts = []
    for place, (name, of) in enumerate(fields):
        by_place, by_name = string_literal(f"$[{place}]"), string_literal(f"$['{name}']")
        element, named = (f"try_variant_get({v}, {path}, 'variant')" for path in (by_place, by_name))
        of_member = f"get_json_object({text}, if({is_array}, {by_place}, {by_name}))"
        reader = partial(_read_member, of, of_member, depth + 1)
        parts.append(f"'{name}', {bind_if_long(f'if({is_array}, {element}, {named})', reader)}")
    r = f"` t{depth}`"
    fits = " OR ".join(f"{r}.`{name}`.fits" for name, _ in fields)
    kept = ", ".join(f"'{name}', {r}.`{name}`.v" for name, _ in fields)
    return try_bind_once(f"named_struct({', '.join(parts)})", r, f"if({fits}, named_struct({kept}), NULL)")


def _read_member(of: Type, text: str, depth: int, v: str) -> str:
    """Whether a member of a tuple is of its type, and its value, which is the default where it is not."""
    p = f"` p{depth}`"
    found = read_or_null(unwrap_type(of), v, text, depth)
    fits = f"{p} IS NOT NULL"
    if is_nullable(of):
        return try_bind_once(found, p, f"named_struct('fits', {fits} OR {variant_kind(v)} <=> 'VOID', 'v', {p})")
    return try_bind_once(found, p, f"named_struct('fits', {fits}, 'v', coalesce({p}, {value_default(of)}))")


def _read_map(of: t.Map, v: str, text: str, depth: int) -> str:
    """The members of an object in the order of the text. Those that do not fit are the default of the value's type."""
    m, k = f"` m{depth}`", f"` k{depth}`"
    opening, closing = string_literal("$['"), string_literal("']")
    of_key = f"coalesce(get_json_object({text}, concat({opening}, {k}, {closing})), to_json({m}[{k}]))"
    value = read_value(of.value, f"{m}[{k}]", of_key, depth + 1)
    keys = f"array_distinct(json_object_keys({text}))"
    entries = f"transform({keys}, {k} -> struct({k} AS key, {value} AS value))"
    made = f"CAST(map_from_entries({entries}) AS {value_type(of)})"
    members = f"try_cast({v} AS MAP<STRING, VARIANT>)"
    return try_bind_once(members, m, f"if({m} IS NULL, NULL, {made})")
