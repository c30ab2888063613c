"""Where the values of a model stand in the JSON of a row, and how rows of a query become the model again.

In: a Pydantic model. Out: `RowShape`. Invariants: at the top a value stands at the field's alias or JSON path, inside
of a Tuple at the field's name, as the table's columns have it; a field that was not set and whose column has a DEFAULT
expression is left out, so that the table computes it.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from penstock.api.objects.annotations import ClickHouseDefault
from penstock.api.objects.columns import json_path_of, markers_of
from penstock.client.rows.sendable_values import UnsendableValue, sendable
from penstock.model.json_path import parse_json_path, place_value

Change: TypeAlias = Callable[[object], object]
"""Changes a value into another one of the same meaning."""


@dataclass(frozen=True, slots=True)
class RowField:
    """A field of a model as a part of a row."""

    name: str
    key: str
    """How Pydantic calls it in a dict: its alias, or its name."""
    path: tuple[str | None, ...]
    """Where its value stands in a JSON row."""
    is_document: bool
    """Whether its column is of the type JSON."""
    has_expression: bool
    """Whether its column has a DEFAULT that only the table computes."""
    by_names: Change
    """The models in a dict's value, with the names of fields as keys."""
    by_aliases: Change
    """The models in a value of a query, with the aliases of fields as keys."""


@dataclass(frozen=True, slots=True)
class RowShape:
    """A model as a row."""

    model: type[BaseModel]
    fields: tuple[RowField, ...]

    def of_model(self, row: BaseModel) -> dict[str, object]:
        """The row of an object. Raises UnsendableValue."""
        found: dict[str, object] = {}
        for field in self.fields:
            value = getattr(row, field.name)
            if field.name not in row.model_fields_set and (value is None or field.has_expression):
                continue
            _place(found, field, value)
        for name, value in (row.model_extra or {}).items():
            found.setdefault(name, _named_value(name, value))
        return found

    def of_mapping(self, row: Mapping[str, object]) -> dict[str, object]:
        """The row of a dict whose keys are the model's. Raises UnsendableValue."""
        rest, found = dict(row), dict[str, object]()
        for field in self.fields:
            key = field.key if field.key in rest else field.name
            if key in rest:
                _place(found, field, field.by_names(rest.pop(key)))
        for name, value in rest.items():
            if not isinstance(name, str):
                raise UnsendableValue(f"the name of a value is a text, not {name!r}")
            found.setdefault(name, _named_value(name, value))
        return found

    def to_model(self, row: Mapping[str, object]) -> BaseModel:
        """A row of a query as the model. Raises Pydantic's ValidationError."""
        given = dict(row)
        named = {field.key: field.by_aliases(given.pop(field.name)) for field in self.fields if field.name in given}
        return self.model.model_validate({**given, **named})


@lru_cache(maxsize=1_024)
def row_shape(model: type[BaseModel]) -> RowShape:
    """The shape of a model. Raises NoColumnType for an alias that is no column's."""
    return RowShape(model, tuple(_row_field(name, field) for name, field in model.model_fields.items()))


def _row_field(name: str, field: FieldInfo) -> RowField:
    markers = markers_of(field)
    path = json_path_of(field)
    return RowField(
        name,
        key_of(name, field),
        parse_json_path(path) if path is not None else (name,),
        any(str(getattr(each, "text", each)).startswith("JSON") for each in markers),
        any(isinstance(each, ClickHouseDefault) for each in markers),
        _change_within(field.annotation, _names_of, ()),
        _change_within(field.annotation, _aliases_of, ()),
    )


def key_of(name: str, field: FieldInfo) -> str:
    """How Pydantic calls a field in a dict."""
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    return alias if isinstance(alias, str) else name


def _place(row: dict[str, object], field: RowField, value: object) -> None:
    """Put a value where its column reads it. The path `$` is the row itself."""
    shown = _sendable_value(field, value)
    if field.path:
        place_value(row, field.path, shown)
    elif isinstance(shown, dict):
        row |= shown


def _sendable_value(field: RowField, value: object) -> object:
    shown = _named_value(field.name, value)
    if field.is_document and shown is not None:
        _refuse_non_finite(field.name, value)
    return shown


def _named_value(name: str, value: object) -> object:
    try:
        return sendable(value)
    except UnsendableValue as fault:
        raise fault.inside(name) from None


def _refuse_non_finite(name: str, value: object) -> None:
    """JSON has no NaN: in a document it would become a text."""
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    for each in parts:
        _refuse_non_finite(name, each)
    if isinstance(value, float) and value - value != 0:
        raise UnsendableValue("a document of JSON has no NaN and no Infinity", (name,))


Rename: TypeAlias = Callable[[type[BaseModel], tuple[type[BaseModel], ...]], Change]


def _same(value: object) -> object:
    return value


def _change_within(annotation: Any, rename: Rename, inside: tuple[type[BaseModel], ...]) -> Change:
    """What changes the models in a value of this annotation; `_same` if there are none."""
    of = _unwrap(annotation)
    origin, parts = get_origin(of), get_args(of)
    if isinstance(of, type) and issubclass(of, Enum) and rename is _aliases_of:
        return _enum_by_name(of)
    if isinstance(of, type) and issubclass(of, RootModel):
        return _change_within(of.model_fields["root"].annotation, rename, (*inside, of)) if of not in inside else _same
    if isinstance(of, type) and issubclass(of, BaseModel):
        return rename(of, (*inside, of)) if of not in inside else _same
    if origin in (list, tuple, dict) and parts:
        inner = _change_within(parts[-1] if origin is dict else parts[0], rename, inside)
        keys = _change_within(parts[0], rename, inside) if origin is dict else _same
        if origin is tuple:
            return _tuple_change([_change_within(each, rename, inside) for each in parts])
        return _same if inner is _same and keys is _same else _container_change(keys, inner)
    return _same


def _unwrap(annotation: Any) -> Any:
    """The type without its markers and its None."""
    while True:
        origin = get_origin(annotation)
        if origin is Annotated:
            annotation = get_args(annotation)[0]
        elif origin in (Union, types.UnionType):
            others = [each for each in get_args(annotation) if each is not type(None)]
            if len(others) != 1:
                return None
            annotation = others[0]
        else:
            return annotation


def _container_change(keys: Change, inner: Change) -> Change:
    def change(value: object) -> object:
        if isinstance(value, Mapping):
            return {keys(key): inner(each) for key, each in value.items()}
        return [inner(each) for each in value] if isinstance(value, (list, tuple)) else value

    return change


def _tuple_change(parts: list[Change]) -> Change:
    if all(each is _same for each in parts):
        return _same

    def change(value: object) -> object:
        if not isinstance(value, (list, tuple)) or len(value) != len(parts):
            return value
        return tuple(part(each) for part, each in zip(parts, value, strict=True))

    return change


def _enum_by_name(of: type[Enum]) -> Change:
    """An Enum of numbers is read by the names of its members, as its column has them."""
    by_name = {name: each.value for name, each in of.__members__.items() if isinstance(each.value, int)}
    return (lambda value: by_name.get(value, value) if isinstance(value, str) else value) if by_name else _same


def _names_of(model: type[BaseModel], inside: tuple[type[BaseModel], ...]) -> Change:
    keys = {key_of(name, field): name for name, field in model.model_fields.items()}
    return _keyed_change(model, keys, _names_of, inside)


def _aliases_of(model: type[BaseModel], inside: tuple[type[BaseModel], ...]) -> Change:
    keys = {name: key_of(name, field) for name, field in model.model_fields.items()}
    return _keyed_change(model, keys, _aliases_of, inside)


def _keyed_change(
    model: type[BaseModel], keys: Mapping[str, str], rename: Rename, inside: tuple[type[BaseModel], ...]
) -> Change:
    inner = {
        key: _change_within(field.annotation, rename, inside)
        for name, field in model.model_fields.items()
        for key in (name, key_of(name, field))
    }
    if all(key == new for key, new in keys.items()) and all(each is _same for each in inner.values()):
        return _same

    def change(value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        return {keys.get(key, key): inner.get(key, _same)(each) for key, each in value.items()}

    return change
