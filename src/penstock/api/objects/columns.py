"""The columns of a model: the lines of a SCHEMA block.

In: a Pydantic model. Out: `ModelColumn` values with the text of each column, and what is wrong with a field.
Invariants: columns are in the order of the fields; what a field says and a table cannot keep is a fault or a warning.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from penstock.api.objects.annotations import AggregateFunction as StateMarker
from penstock.api.objects.annotations import (
    ClickHouseCodec,
    ClickHouseDefault,
    JsonPath,
    RenamedFrom,
)
from penstock.api.objects.column_types import field_type, quote
from penstock.api.objects.field_rules import FieldFault, unchecked_rules
from penstock.api.objects.no_column_type import NoColumnType
from penstock.api.objects.written_parts import require_expression, require_name
from penstock.model.json_path import path_of_key


@dataclass(frozen=True, slots=True)
class ModelColumn:
    """A field of a model as a column."""

    field: str
    text: str
    """As in a SCHEMA block, without a comma; empty if it is no column."""
    description: str
    is_key: bool
    faults: tuple[FieldFault, ...]


def columns_of(model: type[BaseModel]) -> Iterator[ModelColumn]:
    """The columns of a model, one for each field."""
    _complete(model)
    with_paths = any(_has_path(field) for field in model.model_fields.values())
    for name, field in model.model_fields.items():
        try:
            text = _column_text(model, name, with_paths=with_paths)
            faults = tuple(dict.fromkeys(unchecked_rules(field)))
        except NoColumnType as fault:
            text, faults = "", (FieldFault(fault.message, fault.hint),)
        yield ModelColumn(name, text, field.description or "", "key" in markers_of(field), faults)


def _complete(model: type[BaseModel]) -> None:
    """Let a model know the classes that it names and that were made after it."""
    if not model.__pydantic_complete__:
        model.model_rebuild(raise_errors=False, _types_namespace=vars(sys.modules[model.__module__]))


def result_columns(model: type[BaseModel]) -> Iterator[ModelColumn]:
    """The columns of rows that are answers: name and type of each field, since the model itself gives the values."""
    _complete(model)
    for name, field in model.model_fields.items():
        try:
            yield ModelColumn(name, f"`{name}` {field_type(field, (model,))}", field.description or "", False, ())
        except NoColumnType as fault:
            yield ModelColumn(name, "", "", False, (FieldFault(fault.message, fault.hint),))


def markers_of(field: FieldInfo) -> tuple[object, ...]:
    """The markers of a field, also those before a `| None`."""
    found, of = list(field.metadata), field.annotation
    for each in get_args(of) if get_origin(of) is not Annotated else (of,):
        if get_origin(each) is Annotated:
            found += get_args(each)[1:]
    return tuple(found)


def _has_path(field: FieldInfo) -> bool:
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    return alias is not None or any(isinstance(each, JsonPath) for each in markers_of(field))


def _column_text(model: type[BaseModel], name: str, *, with_paths: bool) -> str:
    field = model.model_fields[name]
    of = field_type(field, (model,))
    parts = [f"`{name}`", of]
    markers = markers_of(field)
    is_state = any(isinstance(each, StateMarker) for each in markers)
    if with_paths and not is_state:
        parts.append(f"`json:{json_path_of(field) or path_of_key(name)}`")
    default = _default_text(field, markers)
    if default is None:
        _check_none(field, of)
    parts += [f"DEFAULT {default}"] if default is not None else []
    codecs = (each.expression for each in markers if isinstance(each, ClickHouseCodec))
    parts += [f"CODEC({require_expression('a codec', each, commas=True)})" for each in codecs]
    former = (each.name for each in markers if isinstance(each, RenamedFrom))
    parts += [f"RENAMED_FROM `{require_name('a former name', each)}`" for each in former]
    text = " ".join(parts)
    if "{{" in text or "{%" in text:
        raise NoColumnType("two brackets {{ in a column begin a template", "write them apart: concat('{', '{')")
    return text


_MAY_BE_NONE = (
    "Nullable(",
    "LowCardinality(Nullable(",
    "JSON",
    "Dynamic",
    "AggregateFunction(",
    "SimpleAggregateFunction(",
)


def _check_none(field: FieldInfo, of: str) -> None:
    """Raises NoColumnType where None stands for a value that the column cannot have: a row without it would be
    refused, though the model takes it."""
    if field.default is None and not of.startswith(_MAY_BE_NONE):
        raise NoColumnType(f"the default is None, which {of} cannot be", "add `| None` to its type, or give a value")


def json_path_of(field: FieldInfo) -> str | None:
    """The place in a JSON row that a field names; None if it is the field's own name. Raises NoColumnType."""
    written = next((each.path for each in markers_of(field) if isinstance(each, JsonPath)), None)
    if written is not None:
        return require_name("a JSON path", written)
    alias = field.validation_alias if field.validation_alias is not None else field.alias
    if alias is None:
        return None
    if not isinstance(alias, str):
        message = f"the alias of a column is one name, not {type(alias).__name__}"
        raise NoColumnType(message, 'for a path, write JsonPath("$.a.b")')
    return path_of_key(require_name("an alias", alias))


def _default_text(field: FieldInfo, markers: tuple[object, ...]) -> str | None:
    written = next((each.expression for each in markers if isinstance(each, ClickHouseDefault)), None)
    if written is not None:
        return require_expression("a default", written)
    if field.default_factory is not None:
        hint = 'write the expression for each row, such as ClickHouseDefault("now()")'
        raise NoColumnType("a default_factory is Python, which no table can call", hint)
    return None if field.default is PydanticUndefined or field.default is None else literal(field.default)


_QUOTED = (UUID, IPv4Address, IPv6Address, Decimal)


def literal(value: Any) -> str:
    """A Python value as an expression of ClickHouse. Raises NoColumnType."""
    if isinstance(value, Enum):
        return literal(value.value if isinstance(value.value, str) else value.name)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and value == value and abs(value) != float("inf"):
        return repr(value)
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, datetime):
        raise NoColumnType("a time cannot be a default: its zone may not be the column's", "write ClickHouseDefault(…)")
    if isinstance(value, (date, *_QUOTED)):
        return quote(str(value))
    if isinstance(value, list):
        return f"[{', '.join(literal(each) for each in value)}]"
    raise NoColumnType(f"{value!r} cannot be the default of a column", "write the expression as ClickHouseDefault(…)")
