"""What the fields of a model say that is not done with the rows of a table.

In: a model of Pydantic. Out: warnings, each at the field that says it, which may be one of a model inside a column.
Invariant: what Pydantic does with a value and a table does not is warned of at whatever depth it stands.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from penstock.api.objects.annotations import (
    AggregateFunction,
    ClickHouseCodec,
    ClickHouseDefault,
    ClickHousePrecision,
    ClickHouseType,
    FixedString,
    JsonPath,
    RenamedFrom,
    SimpleAggregateFunction,
)

_OF_TYPES = (str, ClickHousePrecision, ClickHouseType, FixedString, SimpleAggregateFunction, AggregateFunction)
_OF_COLUMNS = (ClickHouseCodec, ClickHouseDefault, JsonPath, RenamedFrom)
_BY_TYPE = "rows are checked by the type of the column only"
_OF_COLUMN = "only a column can say it: make the value a column of its own, or remove it"


@dataclass(frozen=True, slots=True)
class FieldFault:
    """What is wrong with a field, or is not done with what it says."""

    message: str
    hint: str
    is_warning: bool = False
    model: type[BaseModel] | None = None
    """The model inside the column whose field it is; None for the column itself."""
    field: str = ""


def unchecked_rules(field: FieldInfo) -> Iterator[FieldFault]:
    """What a column says, and the parts of its type and the models in it, and what is not done."""
    for each in field.metadata:
        yield from _of_rule(each)
    yield from _of_parts(field.annotation, is_column=True)
    for model in models_within(field.annotation):
        yield from _of_model(model)


def models_within(annotation: Any) -> tuple[type[BaseModel], ...]:
    """The models in an annotation, and those in them, each once."""
    found: dict[type[BaseModel], None] = {}
    waiting = [annotation]
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and not get_args(each) and issubclass(each, BaseModel):
            if each not in found:
                found[each] = None
                waiting += [field.annotation for field in each.model_fields.values()]
        elif get_origin(each) is Annotated:
            waiting.append(get_args(each)[0])
        elif get_origin(each) is not Literal:
            waiting += get_args(each)
    return tuple(found)


_OF_CLASSES = (
    "extra",
    "strict",
    "coerce_numbers_to_str",
    "str_max_length",
    "str_min_length",
    "str_strip_whitespace",
    "str_to_lower",
    "str_to_upper",
)
"""What a class may say in its model_config of the values that it takes."""


def class_rules(model: type[BaseModel]) -> tuple[str, ...]:
    """What a class does with its values in Python only: its validators, serializers and computed fields by name, and
    rules of its config."""
    of = model.__pydantic_decorators__
    kinds = (of.field_validators, of.validators, of.model_validators, of.root_validators)
    names = [name for each in (*kinds, of.field_serializers, of.model_serializers) for name in each]
    config = model.model_config
    given = [f"{name}={config.get(name)!r}" for name in _OF_CLASSES if config.get(name) not in (None, False, "ignore")]
    return (*names, *model.model_computed_fields, *given)


def _of_model(model: type[BaseModel]) -> Iterator[FieldFault]:
    for name, field in model.model_fields.items():
        for message, hint in (*_of_inner_field(name, field), *((each.message, each.hint) for each in _rules(field))):
            yield FieldFault(message, hint, is_warning=True, model=model, field=name)


def _rules(field: FieldInfo) -> Iterator[FieldFault]:
    for each in field.metadata:
        yield from _of_column(each)
        yield from _of_rule(each)
    yield from _of_parts(field.annotation, is_column=False)


def _of_inner_field(name: str, field: FieldInfo) -> Iterator[tuple[str, str]]:
    """What a field of a model inside a column says of its name and of a value that is not given."""
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    if alias is not None and alias != name:
        message = f"inside a column JSON rows have `{name}`, not the alias {alias!r}"
        yield message, "rename the field; what is inserted as a model needs nothing"
    has_default = field.default is not PydanticUndefined and field.default is not None
    if has_default or field.default_factory is not None:
        yield "inside a column a default is not applied to rows that arrive as JSON", _OF_COLUMN


def _of_parts(annotation: Any, *, is_column: bool) -> Iterator[FieldFault]:
    """Markers in the parts of a type, such as those of `list[Annotated[int, Field(gt=3)]]`. Those of the only type that
    is no None are the field's own."""
    origin = get_origin(annotation)
    if origin is Literal:
        return
    if origin is Annotated:
        of, *markers = get_args(annotation)
        for each in (part for marker in markers for part in _flat(marker)):
            yield from _of_rule(each)
            if not is_column:
                yield from _of_column(each)
        yield from _of_parts(of, is_column=is_column)
        return
    is_same = is_column and origin in (Union, types.UnionType)
    for each in get_args(annotation):
        yield from _of_parts(each, is_column=is_same)


def _flat(marker: object) -> tuple[object, ...]:
    return tuple(marker.metadata) if isinstance(marker, FieldInfo) else (marker,)


def _of_column(marker: object) -> Iterator[FieldFault]:
    if isinstance(marker, _OF_COLUMNS) or marker == "key":
        shown = "Key" if marker == "key" else f"{marker!r}"
        yield FieldFault(f"{shown} says nothing inside a column"[:300], _OF_COLUMN, is_warning=True)


def _of_rule(marker: object) -> Iterator[FieldFault]:
    """A rule of Pydantic; `conint` and its like have a None for each rule that they could have."""
    numbers = (getattr(marker, name, None) for name in ("max_digits", "decimal_places"))
    is_precision = any(each is not None for each in numbers)
    if marker is not None and not is_precision and not isinstance(marker, (*_OF_TYPES, *_OF_COLUMNS)):
        yield FieldFault(f"{marker!r} is not applied to the rows of a table"[:300], _BY_TYPE, is_warning=True)
