"""The name of a type as toTypeName says it: the named fields of a tuple stand on lines of their own.

In: a type. Out: a text. Called by special_forms. Invariant: as ClickHouse's getPrettyName.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type


def pretty_name(of: Type, level: int = 0) -> str:
    match of:
        case t.Array(inner):
            return f"Array({pretty_name(inner, level)})"
        case t.Nullable(inner):
            return f"Nullable({pretty_name(inner, level)})"
        case t.Map(key, value):
            return f"Map({pretty_name(key, level)}, {pretty_name(value, level)})"
        case t.Tuple(fields) if any(name for name, _ in fields):
            indent = "    " * (level + 1)
            lines = (f"{indent}{_name(name)} {pretty_name(part, level + 1)}" for name, part in fields)
            return "Tuple(\n" + ",\n".join(lines) + ")"
        case t.Tuple(fields) if fields:
            return f"Tuple({', '.join(pretty_name(part, level) for _, part in fields)})"
        case _:
            return str(of)


def _name(name: str | None) -> str:
    """A field's name, in back-quotes where a type has it so."""
    return str(t.Tuple(((name, t.Bool()),))).removeprefix("Tuple(").removesuffix(" Bool)")
