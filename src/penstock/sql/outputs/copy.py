"""The rows of a copy node as JSON rows for its target, the same that a client would post.

In: the compiled SELECT and the target. Out: a SELECT around it with one column, `row`. Invariant: the target's own
ingestion reads exactly the values back that an INSERT of the row would store. So nothing is rounded, and no time
depends on a zone: times are counts since 1970 in their own precision, NaN and infinity are texts, and a text that is
not UTF-8 makes the query fail.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TypeAlias, Union

from penstock.model import types as t
from penstock.model.datasource import Column, DataSource
from penstock.model.json_path import parse_json_path
from penstock.model.pipe import Copied, Node
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.compiler.environment import Environment, SelectOutput
from penstock.sql.conversions.strings import as_text
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.outputs.view import check_column_names, find_target, refused_column, stored_value
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.stored_types import column_default, spark_type

COPIED_STATES = "copied-states"
"""The code of the problem of a copy that gives states, which this version cannot write into rows."""
_ROW = "row"
_OPTIONS = "map('ignoreNullFields', 'false')"
"""Options of Spark's to_json: fields that are NULL are written."""


@dataclass(slots=True)
class _JsonObject:
    """A JSON object under construction: the column or object under each key."""

    fields: dict[str, _Part] = field(default_factory=dict)


_Part: TypeAlias = Union[Column, _JsonObject]


def copy_rows(environment: Environment, node: Node, output: SelectOutput) -> SelectOutput:
    """A SELECT of one column of JSON texts. Problems go to the environment's report. Raises ValueError if the node
    is no copy."""
    kind = node.kind
    if not isinstance(kind, Copied):
        raise ValueError(f"{node.name} is not a copy")
    target = find_target(environment, kind)
    if target is None:
        return output
    check_column_names(environment, output, target)
    values = _written_values(environment, output, target)
    columns = [column for column in target.columns if column.name in values]
    whole = _arrange_columns(environment, target, columns)
    pieces: dict[str, str] = {}
    for column in columns:
        with environment.report.collecting():
            pieces[column.name] = _column_json(environment, column)
    inner = ", ".join(f"{sql} AS {quote_identifier(name)}" for name, sql in values.items())
    row = _json_sql(whole, pieces) if pieces else "'{}'"
    return SelectOutput(
        f"SELECT {row} AS {_ROW} FROM (SELECT {inner} FROM ({output.sql}) AS q)", ((_ROW, typed_sql(_ROW, t.String())),)
    )


def _written_values(environment: Environment, output: SelectOutput, target: DataSource) -> dict[str, str]:
    """The columns that are written: those of the SELECT, and those that nothing else would fill, by their defaults."""
    given = {name: TypedSql(f"q.{quote_identifier(name)}", value.type, value.spark) for name, value in output.columns}
    values: dict[str, str] = {}
    for column in target.columns:
        if column.name in given:
            with environment.report.collecting():
                values[column.name] = stored_value(environment, given[column.name], column)
        elif column.default is None and not is_nullable(column.type) and target.path_of(column) is not None:
            values[column.name] = column_default(column.type)
    return values


def _column_json(environment: Environment, column: Column) -> str:
    """The JSON of a column as Spark SQL. Raises Refused."""
    try:
        return _json_text(TypedSql(quote_identifier(column.name), column.type, spark_type(column.type)))
    except _CopiedState as error:
        message = f"this copy does not run: column `{column.name}`: {error}"
        raise refused_column(environment, column.name, "copied-states", message, error.hint) from None
    except _UnsupportedJson as error:
        message = f"column `{column.name}`: {error}"
        raise refused_column(environment, column.name, "unsupported-copy", message, error.hint) from None


def _arrange_columns(environment: Environment, target: DataSource, columns: Sequence[Column]) -> _JsonObject:
    """The columns under the keys of their JSON paths. Problems go to the report."""
    whole = _JsonObject()
    for column in columns:
        with environment.report.collecting():
            path = target.path_of(column)
            if path is None:
                hint = "give it a `json:$.…`, or give none to any column"
                raise _refusal(
                    environment, column, f"has no path, so nothing but its DEFAULT fills it in `{target.name}`", hint
                )
            if not _place_column(whole, parse_json_path(path), column):
                hint = "a copy can write `$.a`, `$.a.b` and `$.a[:]`, each of them once"
                raise _refusal(environment, column, f"a copy cannot write `{path}`", hint)
    return whole


def _refusal(environment: Environment, column: Column, message: str, hint: str) -> Exception:
    whole = f"column `{column.name}`: {message}"
    return refused_column(environment, column.name, "unsupported-copy", whole, hint)


def _place_column(whole: _JsonObject, parts: tuple[str | None, ...], column: Column) -> bool:
    """Puts a column under the keys of its path; false if its path does not fit with the others.

    The elements of an array (`[:]`) are written by the column as the whole array.
    """
    keys = parts[:-1] if parts and parts[-1] is None else parts
    at: _Part = whole
    for key in keys[:-1]:
        if key is None or not isinstance(at, _JsonObject):
            return False
        at = at.fields.setdefault(key, _JsonObject())
    last = keys[-1] if keys else None
    if last is None or not isinstance(at, _JsonObject) or last in at.fields:
        return False
    at.fields[last] = column
    return True


def _json_sql(part: _Part, pieces: Mapping[str, str]) -> str:
    """Spark SQL of the JSON text of a column or object."""
    if isinstance(part, Column):
        return pieces.get(part.name, "'null'")
    keys = [f"{json.dumps(key, ensure_ascii=False)}:" for key in part.fields]
    before = [string_literal(key if place == 0 else f",{key}") for place, key in enumerate(keys)]
    fields = [f"{key}, {_json_sql(each, pieces)}" for key, each in zip(before, part.fields.values(), strict=True)]
    return f"concat('{{', {', '.join(fields)}, '}}')"


class _UnsupportedJson(ValueError):
    """No JSON exists that ingestion would read as a value of this type."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.hint = hint


class _CopiedState(_UnsupportedJson):
    """The value is a state of an aggregate."""


def _json_text(value: TypedSql) -> str:
    """Spark SQL of the JSON text of a value; `null` for NULL. Raises _UnsupportedJson."""
    if isinstance(unwrap_type(value.type), t.Json):
        return f"coalesce({value.sql}, 'null')"
    whole = f"to_json(array({_json_ready(value.sql, value.type, 0)}), {_OPTIONS})"
    return f"substring({whole}, 2, length({whole}) - 2)"


def _json_ready(sql: str, of: Type, depth: int) -> str:
    """The value with each part in the form that Spark's to_json writes as the JSON that is wanted."""
    match unwrap_type(of):
        case t.DateTime():
            return f"unix_seconds({sql})"
        case t.DateTime64(precision) if precision > 6:
            return f"CAST({sql} * {10**precision} AS BIGINT)"
        case t.DateTime64(precision):
            return f"(unix_micros({sql}) DIV {10 ** (6 - precision)}L)"
        case t.String() | t.FixedString():
            return f"validate_utf8({sql})"
        case t.Array(inner):
            each = f"` c{depth}`"
            return f"transform({sql}, {each} -> {_json_ready(each, inner, depth + 1)})"
        case t.Tuple(fields):
            return _json_ready_tuple(sql, fields, depth)
        case t.Map(key, inner):
            return _json_ready_map(sql, key, inner, depth)
        case t.AggregateFunction():
            message = f"{of} holds states, which in this version only a materialized view fills"
            raise _CopiedState(message, "finish it with -Merge, or fill the target by a materialized view")
        case t.Json():
            raise _UnsupportedJson(
                "JSON inside another type cannot be copied", "keep it as a column of its own, or as a String"
            )
        case _:
            return sql


def _json_ready_tuple(sql: str, fields: tuple[tuple[str | None, Type], ...], depth: int) -> str:
    names = [name or f"_{place}" for place, (name, _) in enumerate(fields, 1)]
    parts = [
        f"{string_literal(name)}, {_json_ready(f'{sql}.{quote_identifier(name)}', of, depth)}"
        for name, (_, of) in zip(names, fields, strict=True)
    ]
    return f"named_struct({', '.join(parts)})"


def _json_ready_map(sql: str, key: Type, of: Type, depth: int) -> str:
    each = f"` c{depth}`"
    if isinstance(unwrap_type(key), (t.DateTime, t.DateTime64)):
        raise _UnsupportedJson("a Map whose keys are times cannot be copied", "use keys of text, numbers or dates")
    shown = as_text(typed_sql(f"{each}.key", key))
    if shown is None:
        raise _UnsupportedJson(f"keys of type {key} cannot be written as text", "use keys of text, numbers or dates")
    entry = f"struct({shown}, {_json_ready(f'{each}.value', of, depth + 1)})"
    return f"map_from_entries(transform(map_entries({sql}), {each} -> {entry}))"
