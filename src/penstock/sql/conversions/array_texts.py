"""The text of arrays, tuples and maps, as ClickHouse's toString writes it: `[1,'a']`, `(1,NULL)`, `{'k':[2]}`.

In: a value, and the function that gives the text of a plain value. Out: Spark SQL, None where a part has no text.
Invariant: inside of a container texts, dates and times are in single quotes, NULL is a word.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import NOTHING, TypedSql, typed_sql
from penstock.sql.spark_text import quote_identifier, string_literal

PlainText = Callable[[TypedSql], "str | None"]
_QUOTED = (t.String, t.FixedString, t.Enum, t.UUID, t.IPv4, t.IPv6, t.Date, t.DateTime, t.DateTime64)
_FREE_TEXTS = (t.String, t.FixedString, t.Enum)
"""Types whose texts may hold any character."""
_ESCAPES = (
    ("\\", "\\\\"),
    ("'", "\\'"),
    ("\b", "\\b"),
    ("\f", "\\f"),
    ("\n", "\\n"),
    ("\r", "\\r"),
    ("\t", "\\t"),
    ("\0", "\\0"),
)
"""The characters that ClickHouse escapes between single quotes; the backslash comes first."""


def nested_text(value: TypedSql, plain: PlainText) -> str | None:
    """The text of an array, a tuple or a map; None for another type, or where a part cannot be written."""
    return _text_of(value.bare, value.sql, plain, 0)


def _text_of(of: Type, sql: str, plain: PlainText, depth: int) -> str | None:
    match of:
        case t.Array(inner):
            each = _element_text(inner, f"` t{depth}`", plain, depth + 1)
            return None if each is None else f"concat('[', {_joined(sql, each, depth)}, ']')"
        case t.Map(key, item):
            entry = f"` t{depth}`"
            name = _element_text(key, f"{entry}.key", plain, depth + 1)
            shown = _element_text(item, f"{entry}.value", plain, depth + 1)
            if name is None or shown is None:
                return None
            each = f"concat({name}, ':', {shown})"
            return f"concat('{{', {_joined(f'map_entries({sql})', each, depth)}, '}}')"
        case t.Tuple(fields):
            places = enumerate(fields, 1)
            paths = [(inner, quote_identifier(name or f"_{place}")) for place, (name, inner) in places]
            texts = [_element_text(inner, f"{sql}.{path}", plain, depth) for inner, path in paths]
            known = [text for text in texts if text is not None]
            between = ", ',', ".join(known)
            return f"concat('(', {between}, ')')" if len(known) == len(texts) else None
        case _:
            return None


def _joined(array: str, each: str, depth: int) -> str:
    return f"array_join(transform({array}, ` t{depth}` -> {each}), ',')"


def _element_text(of: Type, sql: str, plain: PlainText, depth: int) -> str | None:
    """A part of a container, which is never NULL as a text."""
    bare = unwrap_type(of)
    if bare == NOTHING:
        return "'NULL'"
    if isinstance(bare, (t.Array, t.Map, t.Tuple)):
        return _text_of(bare, sql, plain, depth)
    shown = _plain_text(bare, sql, plain)
    if shown is None:
        return None
    return f"coalesce({shown}, 'NULL')" if is_nullable(of) else shown


def _plain_text(of: Type, sql: str, plain: PlainText) -> str | None:
    # The zeros at the end of a FixedString are written out.
    value = TypedSql(sql, t.String(), "STRING") if isinstance(of, t.FixedString) else typed_sql(sql, of)
    shown = plain(TypedSql(value.sql, value.type, value_type(value.type)))
    if shown is None or not isinstance(of, _QUOTED):
        return shown
    if isinstance(of, _FREE_TEXTS):
        shown = reduce(_replaced, _ESCAPES, shown)
    return f"concat('\\'', {shown}, '\\'')"


def _replaced(sql: str, escape: tuple[str, str]) -> str:
    return f"replace({sql}, {string_literal(escape[0])}, {string_literal(escape[1])})"
