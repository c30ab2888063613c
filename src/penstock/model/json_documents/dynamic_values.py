"""What stands at a path of a stored document: a value of the type Dynamic, an object, or nothing.

In: a stored text and a path (`a.b`). Out: `DynamicValue`, or the text of an object. Invariant: the type is the one that
ClickHouse inferred when the document was stored. A text that is no document has nothing at any path.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from penstock.model.json_documents.documents import leaf_type, shown_json, store_document, stored_value
from penstock.model.json_documents.json_syntax import InvalidDocument, decode_text
from penstock.model.json_documents.leaf_types import DYNAMIC, LeafType, type_name
from penstock.model.json_documents.numbers import JsonNumber
from penstock.model.json_documents.path_rules import NO_RULES, PathRules


class DynamicValue(NamedTuple):
    """A value with its type."""

    kind: str
    """The name of its type: Int64, Array(Nullable(String)) …."""
    text: str | None
    """The value as `toString` writes it; None for an array that has objects or values of several types."""
    json: str
    """The value as it is written in JSON."""


def value_at(stored: str, path: str) -> DynamicValue | None:
    """The value at a path; None where there is none, or an object."""
    found = _walk(stored, path)
    return None if found is None or isinstance(found, dict) else _dynamic_value(found)


def typed_text(stored: str, path: str) -> str | None:
    """The value at a path that has a type: a text as it is, any other value as its JSON; None for null."""
    found = _walk(stored, path)
    if found is None:
        return None
    return str(found) if isinstance(found, str) else _json_text(found)


def _json_text(value: object) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_json_text, value))}]"
    return str(value) if isinstance(value, JsonNumber) else json.dumps(value, ensure_ascii=False)


def object_at(stored: str, path: str, rules: PathRules = NO_RULES) -> str:
    """The stored text of the object at a path, which has these rules; of an empty object where there is none."""
    found = _walk(stored, path)
    return store_document(found if isinstance(found, dict) else {}, rules)


def objects_at(stored: str, path: str) -> list[str]:
    """The stored text of each object of the array at a path; none unless it is an array of objects only."""
    found = _walk(stored, path)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        return []
    return [store_document(each) for each in found]


def leaf_kinds(stored: str, rules: PathRules = NO_RULES) -> dict[str, str]:
    """The name of the type of each leaf, by path, in the order of the paths."""
    found = dict(rules.types)
    document = _decoded(stored)
    if isinstance(document, dict):
        _collect_kinds(document, "", found)
    return {path: found[path] for path in sorted(found, key=str.encode)}


def _collect_kinds(value: dict[str, object], prefix: str, found: dict[str, str]) -> None:
    for key, inner in value.items():
        if isinstance(inner, dict):
            _collect_kinds(inner, f"{prefix}{key}.", found)
        elif inner is not None:
            found.setdefault(prefix + key, type_name(leaf_type(inner)))


def _decoded(stored: str) -> object:
    try:
        return decode_text(stored)
    except InvalidDocument:
        return None


def _walk(stored: str, path: str) -> object:
    found = _decoded(stored)
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return found


def _dynamic_value(value: object) -> DynamicValue:
    of = leaf_type(value)
    json_text = shown_json(stored_value(value, of, 0))
    if isinstance(value, str) and not isinstance(of, tuple) and json_text.startswith('"'):
        return DynamicValue(type_name(of), str(value), json_text)
    return DynamicValue(type_name(of), _array_text(value, of) if isinstance(of, tuple) else json_text, json_text)


def _array_text(value: object, of: LeafType) -> str | None:
    """An array as ClickHouse writes it in a text: `['a','b']`."""
    if not isinstance(of, tuple):
        return _quoted_element(value, of)
    if of[1] in (DYNAMIC, "JSON", "JSON or null"):
        return None
    parts = [_array_text(each, of[1]) for each in (value if isinstance(value, list) else [])]
    return None if None in parts else f"[{','.join(map(str, parts))}]"


_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f", "\0": "\\0"}


def quoted_text(text: str) -> str:
    """As ClickHouse writes a text inside of an array or tuple."""
    return "'" + "".join(_ESCAPES.get(each, each) for each in text) + "'"


def _quoted_element(value: object, of: LeafType) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str) and of not in ("Float64",):
        return quoted_text(value)
    return shown_json(stored_value(value, of, 0))
