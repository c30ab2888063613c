"""Values as JSON: toJSONString

As ClickHouse writes JSON: 64-bit integers are numbers, NaN and infinities are strings, a named tuple is an object, an
unnamed one an array.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.typed import NOTHING, TypedSql, typed_sql, unless_null
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import quote_identifier, string_literal

_QUOTED = (t.Date, t.DateTime, t.DateTime64, t.UUID, t.IPv4, t.IPv6)


def _value_json(value: TypedSql, depth: int) -> str:
    """The JSON of a value, `null` for NULL."""
    sql = _not_null_json(value, depth)
    return f"coalesce({sql}, 'null')" if value.nullable else sql


def _not_null_json(value: TypedSql, depth: int) -> str:
    """The JSON of a value that is not NULL. `depth` makes the names of lambda parameters differ."""
    match value.bare:
        case of if of == NOTHING:
            return "CAST(NULL AS STRING)"
        case t.Array() | t.Map() as of if t.has_json(of):
            raise BadArguments(f"`toJSONString` of {of} is not supported", "toString(…) of each JSON")
        case t.Array(inner):
            each = f"` j{depth}`"
            parts = f"transform({value.sql}, {each} -> {_value_json(typed_sql(each, inner), depth + 1)})"
            return f"concat('[', array_join({parts}, ','), ']')"
        case t.Map() as of:
            return _map_json(value.sql, of, depth)
        case t.Tuple(fields):
            return unless_null(_tuple_json(value.sql, fields, depth), value)
        case _:
            return _scalar_json(value)


def _map_json(sql: str, of: t.Map, depth: int) -> str:
    each = f"` j{depth}`"
    key = as_text(typed_sql(f"{each}.key", of.key))
    if key is None:
        raise BadArguments(f"keys of type {of} cannot be written as strings")
    pair = f"concat({_json_string(key)}, ':', {_value_json(typed_sql(f'{each}.value', of.value), depth + 1)})"
    return f"concat('{{', array_join(transform(map_entries({sql}), {each} -> {pair}), ','), '}}')"


def _tuple_json(sql: str, fields: tuple[tuple[str | None, Type], ...], depth: int) -> str:
    parts = []
    for place, (name, inner) in enumerate(fields, 1):
        shown = _value_json(typed_sql(f"{sql}.{quote_identifier(name or f'_{place}')}", inner), depth)
        parts.append(f"concat({_json_string(string_literal(name))}, ':', {shown})" if name else shown)
    opening, closing = ("{", "}") if all(name for name, _ in fields) else ("[", "]")
    return f"concat('{opening}', concat_ws(',', {', '.join(parts)}), '{closing}')"


def _json_string(sql: str) -> str:
    """A quoted JSON string; ClickHouse also escapes slashes."""
    whole = f"to_json(array({sql}))"
    return f"replace(substring({whole}, 2, length({whole}) - 2), '/', {string_literal(chr(92) + '/')})"


def _scalar_json(value: TypedSql) -> str:
    """Numbers as they are; dates, UUIDs and addresses in quotes; strings escaped. Raises BadArguments for other
    types."""
    of, shown = value.bare, as_text(value)
    if shown is None:
        raise BadArguments(f"`toJSONString` of a {value.type} is not supported")
    match of:
        case t.Float():
            return (
                f"if(isnan({value.sql}) OR abs({value.sql}) = double('Infinity'), concat('\"', {shown}, '\"'), {shown})"
            )
        case t.Int() | t.Decimal() | t.Bool():
            return shown
        case t.Json():
            return shown
        case _ if isinstance(of, _QUOTED):
            return f"concat('\"', {shown}, '\"')"
        case _:
            text = _json_string(value.sql)
            return unless_null(text, value)


def _to_json_string(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if value.nullable:
        return typed_sql(_not_null_json(value, 0), t.Nullable(STRING))
    return typed_sql(_value_json(value, 0), STRING)


FUNCTIONS: tuple[Function, ...] = (Function("toJSONString", (1, 1), ("any",), _to_json_string),)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
