"""A stored value as JSON that a landing types to the same value.

In: a value of a column's stored type. Out: Spark SQL of its JSON text. Called by copied. Invariant: nothing is
rounded and no time depends on a zone: times are counts since 1970, nan and inf are texts, a text that is no UTF-8
fails the query.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, bare
from penstock.sql.conversion_texts import as_text
from penstock.sql.typed import Typed, typed
from penstock.sql.value_types import quoted, text_literal

_OPTIONS = "map('ignoreNullFields', 'false')"


class NoJson(ValueError):
    """There is no JSON that a landing would take for values of this type."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.hint = hint


def json_value(value: Typed) -> str:
    """The text; `null` for NULL. Raises NoJson."""
    if isinstance(bare(value.type), t.Json):
        return f"coalesce({value.sql}, 'null')"
    whole = f"to_json(array({_plain(value.sql, value.type, 0)}), {_OPTIONS})"
    return f"substring({whole}, 2, length({whole}) - 2)"


def _plain(sql: str, of: Type, depth: int) -> str:
    """The value with every part in a form that Spark writes as the JSON that is wanted."""
    match bare(of):
        case t.DateTime():
            return f"unix_seconds({sql})"
        case t.DateTime64(precision):
            return f"(unix_micros({sql}) DIV {10 ** (6 - precision)}L)"
        case t.String() | t.FixedString():
            return f"validate_utf8({sql})"
        case t.Array(inner):
            each = f"` c{depth}`"
            return f"transform({sql}, {each} -> {_plain(each, inner, depth + 1)})"
        case t.Tuple(fields):
            return _tuple(sql, fields, depth)
        case t.Map(key, inner):
            return _map(sql, key, inner, depth)
        case t.AggregateFunction():
            raise NoJson(f"{of} holds states, which only a materialized view fills", "finish it with -Merge")
        case t.Json():
            raise NoJson("JSON inside another type cannot be copied", "keep it as a column of its own, or as a String")
        case _:
            return sql


def _tuple(sql: str, fields: tuple[tuple[str | None, Type], ...], depth: int) -> str:
    names = [name or f"_{place}" for place, (name, _) in enumerate(fields, 1)]
    parts = [
        f"{text_literal(name)}, {_plain(f'{sql}.{quoted(name)}', of, depth)}"
        for name, (_, of) in zip(names, fields, strict=True)
    ]
    return f"named_struct({', '.join(parts)})"


def _map(sql: str, key: Type, of: Type, depth: int) -> str:
    each = f"` c{depth}`"
    if isinstance(bare(key), (t.DateTime, t.DateTime64)):
        raise NoJson("a Map whose keys are times cannot be copied", "use keys of text, numbers or dates")
    shown = as_text(typed(f"{each}.key", key))
    if shown is None:
        raise NoJson(f"keys of {key} have no text", "use keys of text, numbers or dates")
    entry = f"struct({shown}, {_plain(f'{each}.value', of, depth + 1)})"
    return f"map_from_entries(transform(map_entries({sql}), {each} -> {entry}))"
