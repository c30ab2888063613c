"""SQL with `{name}` for its parameters, as a template of datafiles.

In: SQL and a Pydantic model of the parameters. Out: the SQL with a typed parameter, such as `{{Int64(limit, 10)}}`,
for each. Invariants: a value is bound by the template and never becomes SQL; the lines stay the same lines; what a
parameter's field says and a template cannot check is a fault.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from datetime import date, datetime
from enum import Enum
from typing import Annotated, Any, Literal, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from penstock.api.objects.column_types import NAMED_TYPES, without_none
from penstock.api.objects.columns import markers_of
from penstock.api.objects.field_rules import FieldFault
from penstock.api.objects.no_column_type import NoColumnType
from penstock.errors import did_you_mean
from penstock.model.quick_dataclass import dataclass
from penstock.parse.sql_syntax.source_text import COMMENT, QUOTED
from penstock.template.general_parameters import GENERAL_PARAMETERS

_PARTS = re.compile(rf"(?P<other>{COMMENT}|{QUOTED})|\{{(?P<name>[A-Za-z_]\w*)\}}", re.DOTALL)
_TEMPLATE_MARK = re.compile(r"\{\{|\{%|\{#")
_FUNCTIONS: dict[object, str] = {
    str: "String",
    int: "Int64",
    float: "Float64",
    bool: "Boolean",
    date: "Date",
    datetime: "DateTime",
}


_NULL_TYPES = {"Boolean": "Bool"}
"""The types whose names are not those of the functions."""


@dataclass(frozen=True, slots=True)
class ParameterSql:
    """The SQL of a template without its `%`, and what is wrong with parameters, by name; "" is the SQL itself."""

    text: str
    used: frozenset[str]
    """The names of the parameters that the SQL uses, known or not."""
    faults: tuple[tuple[str, FieldFault], ...]


class _InvalidParameter(ValueError):
    """A field that no parameter of a template can be."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.fault = FieldFault(message, hint)


def template_of(text: str, model: type[BaseModel]) -> ParameterSql:
    """The SQL with each `{name}` as a typed parameter."""
    faults: list[tuple[str, FieldFault]] = []
    if _TEMPLATE_MARK.search(text) or text.lstrip().startswith("%"):
        message = "this is a template of its own, which declares its parameters itself"
        faults.append(("", FieldFault(message, "write Api[None, …], or {name} for each parameter")))
        return ParameterSql(text, frozenset(model.model_fields), tuple(faults))
    used: set[str] = set()
    calls: dict[str, str] = {}
    for name, field in model.model_fields.items():
        try:
            calls[name] = _call(name, field)
        except _InvalidParameter as invalid:
            faults.append((name, invalid.fault))
        except NoColumnType as invalid:
            faults.append((name, FieldFault(f"the parameter `{name}`: {invalid.message}", invalid.hint)))

    def written(found: re.Match[str]) -> str:
        name = found["name"]
        if name is None:
            return found[0]
        used.add(name)
        return calls.get(name, found[0])

    made = _PARTS.sub(written, text)
    return ParameterSql(made, frozenset(used), tuple(faults))


def name_faults(used: Collection[str], model: type[BaseModel]) -> Iterator[tuple[str, FieldFault]]:
    """What is wrong with the names of the parameters that all SQL of an endpoint uses."""
    known = model.model_fields
    for name in sorted(set(used) - known.keys()):
        hint = did_you_mean(name, known) or f"give {model.__name__} a field of that name"
        yield "", FieldFault(f"`{model.__name__}` has no parameter `{name}`", hint)
    for name in [each for each in known if each not in used]:
        yield name, FieldFault(f"the SQL does not use the parameter `{name}`", f"write {{{name}}}, or remove the field")


def _call(name: str, field: FieldInfo) -> str:
    """What declares a parameter in a template. One that may be absent is NULL where it is, an empty list is one."""
    of, may_be_none = without_none(field.annotation)
    of = get_args(of)[0] if get_origin(of) is Annotated else of
    function, extra = _function(name, field, of)
    default = field.default.value if isinstance(field.default, Enum) else field.default
    absent = None
    if may_be_none and default is None and function != "Array":
        absent = f"NULL AS Nullable({_NULL_TYPES.get(function, function)})"
    elif default == [] and function == "Array":
        absent = f"[] AS Array({extra[0][1:-1]})"
    if field.default_factory is not None or (default is None and not may_be_none):
        raise _InvalidParameter(
            f"the parameter `{name}` has no value that SQL could be given", "give it a default value"
        )
    if may_be_none and absent is None:
        hint = "an empty list is its default" if function == "Array" else "write `= None`, or the type without None"
        raise _InvalidParameter(f"the parameter `{name}` is never None in a call", hint)
    given = [name, *extra]
    if absent is None:
        given.append(_default(name, default) if default is not PydanticUndefined else "required=True")
    choices = _choices(of)
    given += [f"enum={_written(choices)}"] if choices else []
    given += [f"description={_written(' '.join(field.description.split()))}"] if field.description else []
    call = f"{{{{{function}({', '.join(given)})}}}}"
    return call if absent is None else f"{{% if defined({name}) %}}{call}{{% else %}}CAST({absent}){{% end %}}"


def _default(name: str, value: object) -> str:
    """A default as the argument of a template's function."""
    if isinstance(value, list):
        if any("," in str(each) for each in value):
            message = f"the default of `{name}` has a comma, which divides the items of lists in calls"
            raise _InvalidParameter(message, "write it without")
        return _written(",".join(str(each) for each in value))
    if isinstance(value, datetime) and value.tzinfo is not None:
        message = f"the default of `{name}` has a zone, and times of calls are those of the zone of a column"
        raise _InvalidParameter(message, f"write it without: {value.replace(tzinfo=None)!r}")
    return _written(str(value) if isinstance(value, (date, UUID)) else value)


def _written(value: object) -> str:
    """A value in an expression of a template, which no brace in a text may end."""
    return repr(value).replace("{", "\\x7b").replace("}", "\\x7d")


def _function(name: str, field: FieldInfo, of: Any) -> tuple[str, list[str]]:
    """The template's function for values of a type, with its further arguments."""
    words = [each for each in markers_of(field) if isinstance(each, str)]
    others = [each for each in field.metadata if not isinstance(each, str)]
    alias = field.alias if field.alias is not None else field.validation_alias
    if not name.isascii():
        raise _InvalidParameter(f"the parameter `{name}` has letters that no parameter can have", "use those of ASCII")
    if name in GENERAL_PARAMETERS:
        hint = "give it another name"
        raise _InvalidParameter(f"every call has a parameter `{name}` of its own, which no endpoint gets", hint)
    if others or alias is not None:
        what = f"the rule {others[0]!r}" if others else f"the alias {alias!r}"
        raise _InvalidParameter(f"the parameter `{name}`: {what} is not checked by an endpoint", "remove it")
    if words and words[0] in NAMED_TYPES and NAMED_TYPES[words[0]][0] is of and of is not date:
        return NAMED_TYPES[words[0]][1], []
    if get_origin(of) is list and get_args(of)[0] in (str, int, float):
        return "Array", [repr(_FUNCTIONS[get_args(of)[0]])]
    if _choices(of):
        return "String", []
    if of not in _FUNCTIONS or words:
        hint = "parameters are str, int, float, bool, date, datetime, an Enum or Literal of texts, or a list of these"
        raise _InvalidParameter(f"the parameter `{name}` has a type that no endpoint takes", hint)
    return _FUNCTIONS[of], []


def _choices(of: Any) -> list[str]:
    """The texts that a parameter may be; none if it is free."""
    values: tuple[object, ...] = ()
    if get_origin(of) is Literal:
        values = get_args(of)
    elif isinstance(of, type) and issubclass(of, Enum):
        values = tuple(each.value for each in of)
    return [each for each in values if isinstance(each, str)] if all(isinstance(each, str) for each in values) else []
