"""The datafile of an endpoint that answers by a function: its parameters as SQL, the function as text, its columns.

In: an `Api` with a function. Out: the node of its pipe. Invariants: the text needs nothing of the project any more; a
parameter is checked by its model, with all of its rules, where the function runs.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field, create_model
from pydantic_core import PydanticUndefined

from penstock.api.objects.columns import markers_of, result_columns
from penstock.api.objects.endpoints import Api
from penstock.api.project.api_template import template_of
from penstock.api.project.datafile_text import WrittenFile
from penstock.api.project.function_source import capture_source
from penstock.api.project.source_files import LinePlace, SourceFiles
from penstock.api.project.source_places import INDENT
from penstock.errors import Location, Problem
from penstock.parse.sql_syntax.source_text import FUNCTION, names_given
from penstock.template.python_syntax import parse_module

_NODE = "answer"
_MODEL = "PARAMETERS"


def render_handler(api: Api[Any, Any], file: WrittenFile, sources: SourceFiles) -> None:
    """Write the node, without its TYPE; what is wrong becomes a problem of the file."""
    place = sources.argument_location(api, "query_function")
    file.line(f"NODE {_NODE}", place)
    _write_parameters(api, place, file, sources)
    _write_function(api, place, file, sources)
    _write_columns(api, place, file, sources)


def _write_parameters(api: Api[Any, Any], place: Location, file: WrittenFile, sources: SourceFiles) -> None:
    """SQL whose one row is the parameters."""
    model = api.parameters
    if model is None or not model.model_fields:
        file.sql("SQL", ["SELECT 1 AS nothing"], [LinePlace(place)])
        return
    given = template_of(", ".join(f"{{{name}}} AS `{name}`" for name in model.model_fields), _without_rules(model))
    for name, fault in given.faults:
        where = sources.field_location(model, name) or place
        file.problems.append(Problem("invalid-parameter", fault.message, where, fault.hint))
    file.sql("SQL", ["%", f"SELECT {given.text}"], [LinePlace(place)] * 2)


def _without_rules(model: type[BaseModel]) -> type[BaseModel]:
    """The model with the types, defaults and descriptions of its fields alone: its own rules hold where it is used."""
    fields: dict[str, Any] = {}
    for name, field in model.model_fields.items():
        of: Any = field.annotation
        for each in [one for one in markers_of(field) if isinstance(one, str)]:
            of = Annotated[of, each]
        kept: dict[str, Any] = {"description": field.description, "alias": field.alias}
        kept["validation_alias"] = field.validation_alias
        if field.default_factory is not None:
            kept["default_factory"] = field.default_factory
        elif field.default is not PydanticUndefined:
            # What the model makes of a time with a zone is a time with a zone.
            has_zone = isinstance(field.default, datetime) and field.default.tzinfo is not None
            kept["default"] = str(field.default) if has_zone else field.default
        fields[name] = (of, Field(**kept))
    return create_model(model.__name__, **fields)


def _write_function(api: Api[Any, Any], place: Location, file: WrittenFile, sources: SourceFiles) -> None:
    function, model = api.query_function, api.parameters
    assert function is not None, "the caller has asked"
    captured = capture_source(function, sources, [model] if model is not None else [])
    file.problems.extend([*captured.problems, *_signature_problems(function, model, place)])
    file.problems.extend(_changed_texts(captured.text, place))
    file.problems.extend(_name_problems(captured.name, captured.text, place))
    file.line("PYTHON >", place)
    for line, source in zip(captured.text.rstrip("\n").split("\n"), captured.places, strict=False):
        file.lines.append(f"{INDENT}{line}" if line.strip() else "")
        file.places.append(source)
    file.line(f"{INDENT}{FUNCTION} = {captured.name}", place)
    if model is not None:
        file.line(f"{INDENT}{_MODEL} = {model.__name__}", place)


def _name_problems(function: str, source: str, place: Location) -> Iterator[Problem]:
    """Names of the source that have another meaning in it, and a function that is not in it under its own name."""
    with suppress(SyntaxError, ValueError):
        given = {name for each in parse_module(source).body for name in names_given(each)}
        for name in sorted(given & {FUNCTION, _MODEL, "TableName"}):
            yield Problem("not-self-contained", f"`{name}` has a meaning of its own here", place, "use another name")
        if function not in given:
            message = f"`{function}` is defined under another name, as by a decorator that wraps it"
            yield Problem("not-self-contained", message, place, "give the plain function")


def _changed_texts(source: str, place: Location) -> Iterator[Problem]:
    """A problem if the source is another one when it is read from a datafile, where a line of spaces is empty."""
    lines = [line if line.strip() else "" for line in source.split("\n")]
    with suppress(SyntaxError, ValueError):
        if ast.dump(parse_module(source)) != ast.dump(parse_module("\n".join(lines))):
            hint = "write the text with \\n in place of its line breaks"
            yield Problem("not-self-contained", "a text over several lines has a line of spaces only", place, hint)


def _signature_problems(
    function: Callable[..., object], model: type[BaseModel] | None, place: Location
) -> Iterator[Problem]:
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        yield Problem("invalid-declaration", f"`{function.__name__}` is async", place, "write it with def alone")
    wanted = ["client"] if model is None else ["client", "parameters"]
    try:
        inspect.signature(function).bind(*wanted)
    except (TypeError, ValueError) as error:
        message = f"`{getattr(function, '__name__', function)}` is called as ({', '.join(wanted)}): {error}"
        hint = None if model is not None else "Api[Parameters, Row] gives it parameters"
        yield Problem("invalid-declaration", message, place, hint)


def _write_columns(api: Api[Any, Any], place: Location, file: WrittenFile, sources: SourceFiles) -> None:
    """The columns of the rows, by their model."""
    if api.rows is None:
        hint = f"write Api[…, Row]({api.name!r}, …) with a Pydantic model"
        message = f"`{api.name}` answers by a function, and its rows have no model"
        file.problems.append(Problem("invalid-declaration", message, place, hint))
        return
    columns = list(result_columns(api.rows))
    for each in columns:
        for fault in each.faults:
            where = sources.field_location(api.rows, each.field) or place
            file.problems.append(Problem("invalid-column", f"`{each.field}`: {fault.message}", where, fault.hint))
    written = [each for each in columns if each.text]
    file.line("RETURNS >", place)
    for each in written:
        comma = "," if each is not written[-1] else ""
        file.line(f"{INDENT}{each.text}{comma}", sources.field_location(api.rows, each.field) or place)
