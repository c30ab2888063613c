"""A JSON document in the form in which ClickHouse's JSON type keeps it.

In: a text, or a decoded JSON object (numbers with a point as `JsonNumber`). Out: its stored text: leaves in the order
of their whole paths, no nulls, no empty objects, `a.b` as `b` inside `a`, each leaf as its type writes it. Raises
`InvalidDocument`. Invariants: the stored text of a stored text is the same; a Float64 that is a whole number ends with
`.0` there, so that its type is never lost, and `shown_json` is the text that ClickHouse shows. Source: ClickHouse's
documentation, "JSON Data Type", and its behaviour for a document that is alone in its column. `PathRules` are those of
the column.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence

from penstock.model.json_documents.inferred_times import written_time
from penstock.model.json_documents.json_syntax import (
    DEEPEST,
    InvalidDocument,
    RepeatedKeys,
    decode_text,
    encodable,
    json_string,
    too_deep,
)
from penstock.model.json_documents.leaf_types import (
    BOOL,
    DYNAMIC,
    FLOAT64,
    JSON,
    STRING,
    LeafType,
    array_type,
    scalar_type,
    types_one_by_one,
)
from penstock.model.json_documents.numbers import JsonNumber, stored_float
from penstock.model.json_documents.path_rules import NO_RULES, PathRules
from penstock.model.json_documents.typed_leaves import typed_leaf
from penstock.model.quick_dataclass import dataclass

_STORED_STRING_OR_NUMBER = re.compile(r'("[^"\\]*(?:\\.?[^"\\]*)*"?)|([0-9]+)(?:\.0(?=[,}\]]|$))?')
"""It matches at every quote and digit, so that no text is read more than once."""


def store_text(text: str, rules: PathRules = NO_RULES) -> str:
    """The stored text of a JSON text; `null` is an empty document. Raises InvalidDocument."""
    value = decode_text(text)
    return store_document({} if value is None else value, rules)


def store_document(value: object, rules: PathRules = NO_RULES) -> str:
    """The stored text of a decoded object. Raises InvalidDocument."""
    if not isinstance(value, dict):
        raise InvalidDocument("a JSON object was expected")
    return _stored_object(value, 0, rules)


def shown_json(stored: str) -> str:
    """The text that ClickHouse shows for a stored text: 1 for a Float64 of 1.0."""
    return _STORED_STRING_OR_NUMBER.sub(_without_mark, stored)


def _without_mark(found: re.Match[str]) -> str:
    return found[1] or found[2]


def _stored_object(value: Mapping[str, object], depth: int, rules: PathRules = NO_RULES) -> str:
    leaves: dict[str, str] = {}
    _Collector(rules, leaves).collect(value, "", depth)
    for path, of in rules.types.items():
        leaves.setdefault(path, typed_leaf(None, of))
    _refuse_values_with_members(leaves)
    return _nested(sorted(leaves.items(), key=_path_order))


def _refuse_values_with_members(leaves: Mapping[str, str]) -> None:
    """ClickHouse keeps both of `a` and `a.b`, in an object with a key twice, which no reader of JSON reads right."""
    for path in leaves:
        at = path.find(".")
        while at >= 0:
            if path[:at] in leaves:
                shown = json.dumps(path[:at], ensure_ascii=False)[:200]
                raise InvalidDocument(f"{shown} is both a value and an object")
            at = path.find(".", at + 1)


def _path_order(leaf: tuple[str, str]) -> bytes:
    return leaf[0].encode()


@dataclass(frozen=True)
class _Collector:
    """Puts the leaves of objects into a dictionary, by their whole paths."""

    rules: PathRules
    leaves: dict[str, str]

    def collect(self, value: Mapping[str, object], prefix: str, depth: int) -> None:
        """The leaves of one object. Raises InvalidDocument for paths that stand twice."""
        if depth >= DEEPEST:
            raise too_deep()
        if isinstance(value, RepeatedKeys):
            raise InvalidDocument("a key stands twice in an object")
        for key, inner in value.items():
            path = prefix + encodable(key)
            of = self.rules.types.get(path)
            if of is None and self.rules.skips(path):
                continue
            below = depth + 1 + key.count(".")  # it is stored as objects within each other, and read again so
            if of is None and isinstance(inner, dict):
                self.collect(inner, path + ".", below)
            elif of is not None or inner is not None:
                self._add(path, inner, below)

    def _add(self, path: str, value: object, depth: int) -> None:
        if path in self.leaves:
            raise InvalidDocument(f"the path {json.dumps(path, ensure_ascii=False)[:200]} stands twice")
        of = self.rules.types.get(path)
        self.leaves[path] = _stored_leaf(value, depth) if of is None else _typed_leaf(path, value, of)


def _typed_leaf(path: str, value: object, of: str) -> str:
    try:
        return typed_leaf(value, of)
    except InvalidDocument as error:
        raise InvalidDocument(f"{json.dumps(path, ensure_ascii=False)[:200]}: {error}") from None


def _nested(leaves: Sequence[tuple[str, str]]) -> str:
    """Leaves in the order of their paths as objects within each other."""
    out: list[str] = ["{"]
    open_keys: list[str] = []
    first = True
    for path, stored in leaves:
        *parents, key = path.split(".")
        shared = _shared_length(open_keys, parents)
        out.append("}" * (len(open_keys) - shared))
        out.append("" if first else ",")
        open_keys = open_keys[:shared]
        for parent in parents[shared:]:
            out.append(json_string(parent) + ":{")
            open_keys.append(parent)
        out.append(json_string(key) + ":" + stored)
        first = False
    out.append("}" * (len(open_keys) + 1))
    return "".join(out)


def _shared_length(one: Sequence[str], other: Sequence[str]) -> int:
    length = 0
    for mine, theirs in zip(one, other, strict=False):
        if mine != theirs:
            break
        length += 1
    return length


def _stored_leaf(value: object, depth: int) -> str:
    return stored_value(value, leaf_type(value, depth), depth)


def leaf_type(value: object, depth: int = 0) -> LeafType:
    """The type that ClickHouse infers for a value that is not null. Raises InvalidDocument."""
    if depth >= DEEPEST:
        raise too_deep()
    if isinstance(value, dict):
        return JSON
    if isinstance(value, list):
        return array_type([leaf_type(each, depth + 1) for each in value])
    return scalar_type(value)


def stored_value(value: object, of: LeafType, depth: int) -> str:
    """A value as its type writes it, marks of Float64 included."""
    if isinstance(of, tuple):
        return _stored_array(value if isinstance(value, list) else [], of[1], depth + 1)
    if value is None:
        return "null"
    if isinstance(value, dict):
        return _stored_object(value, depth)
    if of == FLOAT64:
        return _stored_float(value)
    if isinstance(value, str) and not isinstance(value, JsonNumber):
        return json_string(encodable(value) if of == STRING else written_time(value, str(of)))
    return _stored_plain(value, of)


def _stored_array(values: Sequence[object], inner: LeafType, depth: int) -> str:
    """An array; the elements of an Array(Dynamic) have types of their own."""
    if inner == DYNAMIC:
        types = types_one_by_one([leaf_type(each, depth) for each in values])
    else:
        types = [inner] * len(values)
    return "[" + ",".join(map(stored_value, values, types, [depth] * len(values))) + "]"


def _stored_plain(value: object, of: LeafType) -> str:
    """An integer or a truth value; as a number or a text where its array has that type."""
    if isinstance(value, bool):
        shown = "true" if value else "false"
        return json_string(shown) if of == STRING else shown if of == BOOL else str(int(value))
    shown = str(value)
    return json_string(shown) if of == STRING else "0" if shown == "-0" else shown


def _stored_float(value: object) -> str:
    number = float(str(int(value) if isinstance(value, bool) else value))
    if math.isinf(number):
        raise InvalidDocument("a number is too large for a Float64")
    return stored_float(number)
