"""JSON columns: JSONAllPaths, JSONAllPathsWithTypes, dynamicType, dynamicElement

What a document has: its paths in their order, and the types of its values, which are known for each row only.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax
from penstock.sql.expr.json_documents import SCALARS, element_of, is_json, json_kinds
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.functions.arguments import literal_string
from penstock.sql.functions.function import STRING, BadArguments, Function


def _document(value: TypedSql) -> TypedSql:
    if not is_json(value.type) or value.nullable:
        raise BadArguments(f"the argument must be a JSON, this is {value.type}", "CAST(… AS JSON)")
    return value


def _dynamic(value: TypedSql) -> TypedSql:
    if not isinstance(value.bare, t.Dynamic):
        raise BadArguments(f"the argument must be a path of a JSON, this is {value.type}", "data.a.b")
    return value


def _all_paths(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"{json_kinds(_document(values[0]))}.path", t.Array(STRING))


def _all_paths_with_types(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"map_from_entries({json_kinds(_document(values[0]))})", t.Map(STRING, STRING))


def _dynamic_type(values: Sequence[TypedSql]) -> TypedSql:
    return typed_sql(f"coalesce({_dynamic(values[0]).sql}.kind, 'None')", t.LowCardinality(STRING))


def _dynamic_element(values: Sequence[TypedSql]) -> TypedSql:
    try:
        of = parse_type(literal_string(values[1], "the type"))
    except InvalidSyntax as error:
        raise BadArguments(str(error), error.hint) from error
    found = element_of(_dynamic(values[0]), of)
    if found is None:
        raise BadArguments(f"no value of a JSON is a {of}", f"{', '.join(map(str, SCALARS))}")
    return found


FUNCTIONS: tuple[Function, ...] = (
    Function("JSONAllPaths", (1, 1), ("json",), _all_paths),
    Function("JSONAllPathsWithTypes", (1, 1), ("json",), _all_paths_with_types),
    Function("dynamicType", (1, 1), ("any",), _dynamic_type),
    Function("dynamicElement", (2, 2), ("any", "constant"), _dynamic_element),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
