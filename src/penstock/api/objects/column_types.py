"""The type of a column as datafiles write it, from the annotation of a field.

In: an annotation with its markers. Out: text such as `LowCardinality(Nullable(String))`. Invariant: an annotation that
means no type is refused with what to write; whether the text is a valid type is decided where datafiles are read.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum, Flag
from ipaddress import IPv4Address, IPv6Address
from typing import Annotated, Any, ForwardRef, Literal, Union, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel, RootModel
from pydantic.fields import FieldInfo

from penstock.api.objects.annotations import (
    AggregateFunction,
    ClickHousePrecision,
    ClickHouseType,
    FixedString,
    SimpleAggregateFunction,
)
from penstock.api.objects.no_column_type import NoColumnType
from penstock.api.objects.written_parts import require_type
from penstock.errors import did_you_mean

NAMED_TYPES: Mapping[str, tuple[type, str]] = {
    **{
        f"{kind.lower()}{bits}": (int, f"{kind}{bits}")
        for kind in ("Int", "UInt")
        for bits in (8, 16, 32, 64, 128, 256)
    },
    "float32": (float, "Float32"),
    "float64": (float, "Float64"),
    "date": (date, "Date"),
    "date32": (date, "Date32"),
    "datetime": (datetime, "DateTime"),
}
"""What a text in `Annotated` says of a Python type, such as `Annotated[int, "uint16"]`."""
_OTHER_WORDS = ("key", "LowCardinality", "JSON")
_PLAIN: Mapping[object, str] = {
    str: "String",
    bytes: "String",
    int: "Int64",
    float: "Float64",
    bool: "Bool",
    datetime: "DateTime('UTC')",
    date: "Date",
    UUID: "UUID",
    IPv4Address: "IPv4",
    IPv6Address: "IPv6",
}
_LARGEST_INT8 = 127


@dataclass(frozen=True, slots=True)
class Annotation:
    """A Python type with the markers around it, and the models that it is inside of."""

    of: Any
    markers: tuple[object, ...] = ()
    inside: tuple[type[BaseModel], ...] = ()

    def inner(self, of: Any) -> str:
        """The type of a part of this one."""
        return column_type(Annotation(of, (), self.inside))

    def marker(self, kind: type) -> Any:
        """The marker of a class, or None."""
        return next((each for each in self.markers if isinstance(each, kind)), None)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(each for each in self.markers if isinstance(each, str))


def column_type(given: Annotation) -> str:
    """The type as datafiles write it. Raises NoColumnType."""
    given = _unwrap(given)
    _check_words(given)
    whole = _whole_type(given)
    if whole is not None:
        return whole
    of, is_nullable = without_none(given.of)
    inner = _unwrap(Annotation(of, given.markers, given.inside))
    whole = _whole_type(inner)
    if whole is not None and is_nullable:
        return f"Nullable({whole})"
    text = whole or _value_type(inner)
    text = f"Nullable({text})" if is_nullable else text
    is_low = "LowCardinality" in inner.words or get_origin(inner.of) is Literal
    return f"LowCardinality({text})" if is_low else text


def _unwrap(given: Annotation) -> Annotation:
    while get_origin(given.of) is Annotated:
        of, *markers = get_args(given.of)
        given = Annotation(of, (*given.markers, *_flat(markers)), given.inside)
    return given


def _flat(markers: Sequence[object]) -> Iterator[object]:
    """The markers; those inside a `Field(…)` are its own."""
    for each in markers:
        yield from each.metadata if isinstance(each, FieldInfo) else (each,)


def _check_words(given: Annotation) -> None:
    for word in given.words:
        if word not in _OTHER_WORDS and word not in NAMED_TYPES:
            hint = did_you_mean(word, [*_OTHER_WORDS, *NAMED_TYPES]) or f'for a type, write ClickHouseType("{word}")'
            raise NoColumnType(f'"{word[:60]}" says nothing of a column', hint)


def _whole_type(given: Annotation) -> str | None:
    """The type of which a marker says all, whatever the Python type is."""
    written = given.marker(ClickHouseType)
    if written is not None:
        return require_type("one type", written.text)
    state = given.marker(AggregateFunction)
    if state is not None:
        function = require_type("an aggregate function", state.agg_func)
        return f"AggregateFunction({', '.join([function, *(given.inner(each) for each in state.param_types)])})"
    simple = given.marker(SimpleAggregateFunction)
    if simple is not None:
        function = require_type("an aggregate function", simple.agg_func)
        return f"SimpleAggregateFunction({function}, {given.inner(simple.arg_type)})"
    return "JSON" if "JSON" in given.words else None


def without_none(of: Any) -> tuple[Any, bool]:
    """A type without its None, and whether it had one. Raises NoColumnType for a union of several types."""
    if get_origin(of) not in (Union, types.UnionType):
        return of, False
    others = [each for each in get_args(of) if each is not type(None)]
    if len(others) == 1 and len(get_args(of)) > 1:
        return others[0], True
    shown = " | ".join(_shown(each) for each in others)
    raise NoColumnType(f"a column has one type, not {shown}", "choose one of them; `| None` may follow it")


def _value_type(given: Annotation) -> str:
    """The type of values that are not None."""
    of = given.of
    named = [NAMED_TYPES[word] for word in given.words if word in NAMED_TYPES]
    if named:
        python, text = named[0]
        if of is not python:
            raise NoColumnType(f"{text} is no type of {_shown(of)}", f"write Annotated[{python.__name__}, …]")
        return text
    sized = given.marker(FixedString)
    if sized is not None and of in (str, bytes):
        return f"FixedString({sized.size})"
    precise = given.marker(ClickHousePrecision)
    if precise is not None and of is datetime:
        zone = f", {quote(precise.timezone)}" if precise.timezone else ""
        return f"DateTime64({precise.precision}{zone})"
    for marker in (sized, precise):
        if marker is not None:
            raise NoColumnType(f"{type(marker).__name__} says nothing of {_shown(of)}", "remove it")
    if isinstance(of, type) and of in _PLAIN:
        return _PLAIN[of]
    return _other_type(given)


def _other_type(given: Annotation) -> str:
    of, origin = given.of, get_origin(given.of)
    if origin in _CONTAINERS:
        return _CONTAINERS[origin](given)
    if of is Decimal:
        return _decimal_type(given)
    if isinstance(of, type) and issubclass(of, Enum):
        return enum_type(of)
    if isinstance(of, type) and issubclass(of, RootModel):
        return field_type(of.model_fields["root"], _inside(of, given))
    if isinstance(of, type) and issubclass(of, BaseModel):
        return _tuple_of_model(of, given)
    hint = "columns are str, int, float, bool, datetime, date, Decimal, UUID, enums, models, list, dict or tuple"
    if of in (list, dict, tuple):
        hint = f"say what is in it, such as {of.__name__}[{'str, int' if of is dict else 'str'}]"
    elif isinstance(of, ForwardRef):
        raise NoColumnType(f"there is no `{of.__forward_arg__}`", "import it, or define it in this module")
    elif of is Any:
        hint = 'for values of any shape, write Annotated[dict, "JSON"]'
    raise NoColumnType(f"{_shown(of)} is no type of a column", hint)


def _tuple_type(given: Annotation) -> str:
    parts = get_args(given.of)
    if not parts:
        raise NoColumnType("an empty tuple is no type of a column", "say what is in it, such as tuple[str, int]")
    if Ellipsis in parts:
        raise NoColumnType("a tuple of any length is no type of a column", f"write list[{_shown(parts[0])}]")
    return f"Tuple({', '.join(given.inner(each) for each in parts)})"


def _literal_type(given: Annotation) -> str:
    if not all(isinstance(each, str) for each in get_args(given.of)):
        raise NoColumnType("a Literal of a column has texts only", "use an Enum, or the type of its values")
    return "String"


_CONTAINERS: Mapping[object, Callable[[Annotation], str]] = {
    list: lambda given: f"Array({given.inner(get_args(given.of)[0])})",
    dict: lambda given: f"Map({', '.join(given.inner(each) for each in get_args(given.of))})",
    tuple: _tuple_type,
    Literal: _literal_type,
}


def _decimal_type(given: Annotation) -> str:
    digits, places = (_found_number(given.markers, name) for name in ("max_digits", "decimal_places"))
    if digits is None or places is None:
        hint = "write clickhouse_decimal(18, 4), or Field(max_digits=18, decimal_places=4)"
        raise NoColumnType("a Decimal needs its precision and scale", hint)
    return f"Decimal({digits}, {places})"


def _found_number(markers: Sequence[object], name: str) -> int | None:
    """The value of Pydantic's marker of that name."""
    found = (getattr(each, name, None) for each in markers)
    return next((each for each in found if isinstance(each, int)), None)


def enum_type(of: type[Enum]) -> str:
    """Enum8 or Enum16: members with whole numbers keep them and are called by their names; members with texts are
    called by these and numbered in their order, from 1."""
    members = list(of)
    if issubclass(of, Flag):
        message = f"{of.__name__} is a Flag, whose values may be several members at once: an Enum has one"
        raise NoColumnType(message, "write int, and the number of the flags, or a list of an Enum")
    if members and all(isinstance(each.value, str) for each in members):
        numbered = [(each.value, number) for number, each in enumerate(members, start=1)]
    elif members and all(isinstance(each.value, int) and not isinstance(each.value, bool) for each in members):
        numbered = [(each.name, each.value) for each in members]
    else:
        raise NoColumnType(f"the members of {of.__name__} are neither all texts nor all whole numbers", "make them so")
    bits = 8 if all(-_LARGEST_INT8 - 1 <= number <= _LARGEST_INT8 for _, number in numbered) else 16
    return f"Enum{bits}({', '.join(f'{quote(name)} = {number}' for name, number in numbered)})"


def quote(text: str) -> str:
    """A text as ClickHouse writes it."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
    return f"'{escaped}'"


def _inside(model: type[BaseModel], given: Annotation) -> tuple[type[BaseModel], ...]:
    """The models around the fields of this one. Raises NoColumnType for one that is around itself."""
    if model in given.inside:
        path = " > ".join(each.__name__ for each in (*given.inside, model))
        raise NoColumnType(f"{model.__name__} contains itself: {path}", 'keep it as Annotated[dict, "JSON"]')
    return (*given.inside, model)


def _tuple_of_model(model: type[BaseModel], given: Annotation) -> str:
    inside = _inside(model, given)
    parts = [f"`{name}` {field_type(each, inside)}" for name, each in model.model_fields.items()]
    if not parts:
        raise NoColumnType(f"{model.__name__} has no fields", "give it fields, or remove the column")
    return f"Tuple({', '.join(parts)})"


def field_type(field: FieldInfo, inside: tuple[type[BaseModel], ...]) -> str:
    """The type of a field of the innermost of these models. Raises NoColumnType."""
    return column_type(Annotation(field.annotation, tuple(field.metadata), inside))


def _shown(of: Any) -> str:
    return of.__name__ if isinstance(of, type) and not get_args(of) else str(of).replace("typing.", "")
