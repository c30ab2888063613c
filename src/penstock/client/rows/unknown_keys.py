"""Keys of a dict that its model does not have: a misspelt one would be lost without a word.

In: a model of a table. Out: a function that raises `UnsendableValue` for a row with such a key, with its place and the
nearest name. Invariant: only what no column can read is refused: a model that says `extra="allow"` or `"ignore"`, a
column that takes the whole row, and the documents of JSON columns have keys of their own.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from penstock.api.objects.annotations import ClickHouseType
from penstock.api.objects.columns import markers_of
from penstock.client.rows.row_shape import key_of, row_shape
from penstock.client.rows.sendable_values import UnsendableValue
from penstock.errors import did_you_mean

Check: TypeAlias = Callable[[object], None]
"""Raises UnsendableValue."""


@dataclass(frozen=True, slots=True)
class _Keys:
    """What a dict of a model may have."""

    model: str
    known: frozenset[str]
    """Also what no column reads and a dump of the model has: its computed fields."""
    shown: tuple[str, ...]
    takes_others: bool
    parts: Mapping[str, Check]

    def check(self, value: object) -> None:
        if not isinstance(value, Mapping):
            return
        unknown = next((key for key in value if key not in self.known), None)
        if unknown is not None and not self.takes_others:
            nearest = did_you_mean(str(unknown), self.shown) or "leave it out"
            raise UnsendableValue(f"{self.model} has no field `{unknown}`: {nearest}")
        for key, check in self.parts.items():
            if key in value:
                _check_inside(key, value[key], check)


@lru_cache(maxsize=1_024)
def key_check(model: type[BaseModel]) -> Check:
    """What refuses keys that no field of this model has. Raises NoColumnType for an alias that is no column's."""
    shape = row_shape(model)
    found = _keys_of(model, ())
    paths = {first for field in shape.fields for first in field.path[:1] if isinstance(first, str)}
    takes_all = any(not field.path for field in shape.fields)
    whole = _Keys(found.model, found.known | paths, found.shown, found.takes_others or takes_all, found.parts)
    return whole.check


def _keys_of(model: type[BaseModel], inside: tuple[type[BaseModel], ...]) -> _Keys:
    shown = tuple(key_of(name, field) for name, field in model.model_fields.items())
    computed = {key for name, each in model.model_computed_fields.items() for key in (name, each.alias or name)}
    parts = {
        key: check
        for name, field in model.model_fields.items()
        if (check := _field_check(field, (*inside, model))) is not None
        for key in (name, key_of(name, field))
    }
    known = frozenset({*shown, *model.model_fields, *computed})
    takes_others = model.model_config.get("extra") in ("allow", "ignore")
    return _Keys(model.__name__, known, shown, takes_others, parts)


def _field_check(field: FieldInfo, inside: tuple[type[BaseModel], ...]) -> Check | None:
    return None if _is_written(markers_of(field)) else _check_of(field.annotation, inside)


def _is_written(markers: tuple[object, ...]) -> bool:
    """Whether a type is not that of its annotation, such as JSON."""
    return any(isinstance(each, ClickHouseType) or each == "JSON" for each in markers)


def _check_of(annotation: Any, inside: tuple[type[BaseModel], ...]) -> Check | None:
    """What checks the dicts in a value of this annotation; None if it has no models."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return None if _is_written(parts[1:]) else _check_of(parts[0], inside)
    if origin in (Union, types.UnionType):
        others = [each for each in parts if each is not type(None)]
        return _check_of(others[0], inside) if len(others) == 1 else None
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        is_plain = annotation not in inside and not annotation.__pydantic_root_model__
        return _keys_of(annotation, inside).check if is_plain else None
    if origin in (list, dict) and parts:
        inner = _check_of(parts[-1], inside)
        return _items_check(inner) if inner is not None else None
    if origin is tuple:
        found = {at: check for at, each in enumerate(parts) if (check := _check_of(each, inside)) is not None}
        return _parts_check(found) if found else None
    return None


def _items_check(inner: Check) -> Check:
    def check(value: object) -> None:
        parts = dict(enumerate(value)) if isinstance(value, (list, tuple)) else value
        for key, each in parts.items() if isinstance(parts, Mapping) else ():
            _check_inside(str(key), each, inner)

    return check


def _parts_check(parts: Mapping[int, Check]) -> Check:
    def check(value: object) -> None:
        for at, inner in parts.items():
            if isinstance(value, (list, tuple)) and at < len(value):
                _check_inside(str(at), value[at], inner)

    return check


def _check_inside(key: str, value: object, check: Check) -> None:
    try:
        check(value)
    except UnsendableValue as fault:
        raise fault.inside(key) from None
