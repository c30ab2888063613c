"""Paths into JSON strings: from keys and positions to a VARIANT and to the JSON text at that place.

Takes the arguments of JSONExtract* and returns SQL. A position counts from 1, or from the end where negative; in an
object it means the key at that position of the text. A VARIANT does not keep the order of keys, the text does.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.typed import TypedSql
from penstock.sql.functions.arguments import array_position
from penstock.sql.functions.function import BadArguments
from penstock.sql.spark_text import string_literal


def variant_kind(variant: str) -> str:
    """The name of the Spark type of a VARIANT's value."""
    return f"schema_of_variant({variant})"


def variant_at(value: TypedSql, steps: Sequence[TypedSql]) -> str:
    """The value at a path as a VARIANT; NULL if the string is not JSON or has no such place."""
    return _walk_steps(_source(value), _path_steps(steps))[0]


def json_text_at(value: TypedSql, steps: Sequence[TypedSql]) -> str:
    """The JSON text at a path, for the order of its keys; meaningful only where the VARIANT is an object."""
    return _walk_steps(_source(value), _path_steps(steps))[1]


def parse_document(js: str) -> str:
    """A JSON string as a VARIANT; NULL if it is not JSON for ClickHouse."""
    return f"try_parse_json({json_source(js)})"


def json_source(js: str) -> str:
    """A JSON string as Spark has to read it to see what ClickHouse's parser sees; NULL for some that are not JSON."""
    return f"penstock_source_json({js})"


def variant_at_path(js: str, path: str) -> str:
    """The value of a JSON string at a VARIANT path, which begins with `$`."""
    return _get_variant(parse_document(js), path)


def _source(value: TypedSql) -> str:
    return value.sql if isinstance(value.bare, t.Json) else json_source(value.sql)


def _path_steps(steps: Sequence[TypedSql]) -> list[str | int | TypedSql]:
    """The steps of a path: keys and positions, and values that hold a key or a position."""
    found: list[str | int | TypedSql] = []
    for step in steps:
        match step.constant:
            case str(key) if "'" in key or "]" in key or "\\" in key:
                found.append(step)
            case str() | int() as constant if not isinstance(constant, bool):
                found.append(constant)
            case None:
                found.append(step)
            case _:
                raise BadArguments("a step of a JSON path must be a string or an integer")
    return found


def _walk_steps(source: str, steps: list[str | int | TypedSql]) -> tuple[str, str]:
    """The value and the JSON text at the end of the steps. Keys extend a path; what is no such key needs a lookup of
    its own."""
    variant, text, path = f"try_parse_json({source})", source, "$"
    for step in steps:
        if isinstance(step, str):
            path += f"['{step}']"
            continue
        inside, text = _get_variant(variant, path), _get_json_text(text, path)
        if isinstance(step, TypedSql) and isinstance(step.bare, t.String):
            variant, text = _member_of_key(inside, text, step)
        else:
            variant, text = _member_at(inside, text, step)
        path = "$"
    return _get_variant(variant, path), _get_json_text(text, path)


def _member_of_key(variant: str, text: str, step: TypedSql) -> tuple[str, str]:
    """The value of a computed key: as VARIANT and as text, whose keys may come in another order if the key has
    quotes."""
    found = f"try_element_at(try_cast({variant} AS MAP<STRING, VARIANT>), {step.sql})"
    opening, closing = string_literal("$['"), string_literal("']")
    return found, f"coalesce(get_json_object({text}, concat({opening}, {step.sql}, {closing})), to_json({found}))"


def _get_variant(variant: str, path: str) -> str:
    return variant if path == "$" else f"try_variant_get({variant}, {string_literal(path)}, 'variant')"


def _get_json_text(text: str, path: str) -> str:
    return text if path == "$" else f"get_json_object({text}, {string_literal(path)})"


def _member_at(variant: str, text: str, place: int | TypedSql) -> tuple[str, str]:
    """An array's element, or the value of the key at that position of an object: as VARIANT and as text."""
    if place == 0:
        return "CAST(NULL AS VARIANT)", "CAST(NULL AS STRING)"
    size = f"size(try_cast({variant} AS ARRAY<VARIANT>))"
    if isinstance(place, int):
        known = array_position(place)
        at = f"concat('$[', {size} + {place}, ']')" if place < 0 else string_literal(f"$[{place - 1}]")
    else:
        known = array_position(place)
        at = f"concat('$[', if({known} < 0, {size} + {known}, {known} - 1), ']')"
    key = f"try_element_at(json_object_keys({text}), {known})"
    member = f"try_element_at(try_cast({variant} AS MAP<STRING, VARIANT>), {key})"
    element = f"try_element_at(try_cast({variant} AS ARRAY<VARIANT>), {known})"
    found = f"if({variant_kind(variant)} LIKE 'OBJECT%', {member}, {element})"
    opening, closing = string_literal("$['"), string_literal("']")
    of_key = f"get_json_object({text}, concat({opening}, {key}, {closing}))"
    return found, f"if({variant_kind(variant)} LIKE 'OBJECT%', {of_key}, get_json_object({text}, {at}))"
