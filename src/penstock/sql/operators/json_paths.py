"""Paths into JSON columns: `data.a.b`, `data.a.b.:Int64`, `data.^a` and `data['a']`.

In: a document and the names of a path. Out: `TypedSql`: Dynamic for a path, Nullable(T) for `.:T`, JSON for `.^a`.
Invariant: a document that depends on the parameter of a lambda is refused: Spark runs the functions that read documents
outside of lambdas only.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.model import types as t
from penstock.parse.column_types import parse_type
from penstock.parse.lexer import InvalidSyntax
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.bind_once import depends_on_lambda
from penstock.sql.expr.json_documents import (
    DYNAMIC_HINT,
    SCALARS,
    element_of,
    elements_of,
    is_json,
    json_object,
    json_objects,
    json_value,
    json_values,
)
from penstock.sql.expr.typed import TypedSql

_DOCUMENTS, _DYNAMICS = t.Array(t.Json()), t.Array(t.Dynamic())
_TYPES_HINT = f"a value has one of the types {', '.join(map(str, SCALARS))}, or `Array(Nullable(String))` …"


def names_of_path(node: exp.Expr) -> list[str]:
    """The names of `a.b.c`; none for any other node."""
    steps: list[str] = []
    while isinstance(node, exp.Dot):
        steps, node = [node.expression.name, *steps], node.this
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return [node.name, *steps] if isinstance(node, exp.Identifier) else []
    parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
    return [*(part.name for part in parts if part is not None), *steps]


def json_path(tr: Translator, node: exp.Expr, document: TypedSql, steps: Sequence[str]) -> TypedSql:
    """The value at a path. Raises Refused inside of a lambda."""
    _refuse_in_lambda(tr, node, document)
    return json_value(document, ".".join(steps))


def json_sub_object(tr: Translator, node: exp.Expr, document: TypedSql, steps: Sequence[str]) -> TypedSql:
    """`document.^a.b`. Raises Refused."""
    if not is_json(document.type):
        raise tr.refusal(node, "wrong-argument-type", f"`.^` needs a JSON, this is {document.type}")
    _refuse_in_lambda(tr, node, document)
    return json_object(document, ".".join(steps))


def json_element(tr: Translator, node: exp.Expr, value: TypedSql) -> TypedSql:
    """`value.:T` for a node whose type is in `to`. Raises Refused."""
    if not isinstance(value.bare, t.Dynamic) and value.type != _DYNAMICS:
        hint = f"a type stands after a path of a JSON column; {value.type} is one already"
        raise tr.refusal(node, "wrong-argument-type", f"`.:` needs a path of a JSON, this is {value.type}", hint)
    name = node.args["to"].sql(dialect="clickhouse")
    try:
        of = parse_type(name)
    except InvalidSyntax as error:
        raise tr.refusal(node, "unknown-type", str(error), error.hint) from error
    if of == _DOCUMENTS:
        return _documents_of(tr, node, value)
    found = elements_of(value, of) if value.type == _DYNAMICS else element_of(value, of)
    if found is None:
        raise tr.refusal(node, "wrong-argument-type", f"no value of a JSON is a {of}", _TYPES_HINT)
    return found


def _documents_of(tr: Translator, node: exp.Expr, value: TypedSql) -> TypedSql:
    """`document.a[]`. Raises Refused inside of a lambda, and for a path that is read elsewhere."""
    _refuse_in_lambda(tr, node, value)
    found = json_objects(value)
    if found is None:
        hint = "read the array where its path is read: `data.items[].price`"
        raise tr.refusal(node, "unsupported-syntax", "`[]` needs a path of a JSON column", hint)
    return found


def json_values_at(tr: Translator, node: exp.Expr, documents: TypedSql, steps: Sequence[str]) -> TypedSql:
    """`documents.a.b`: the value at a path of each. Raises Refused inside of a lambda."""
    _refuse_in_lambda(tr, node, documents)
    return json_values(documents, ".".join(steps))


def refuse_dynamic(tr: Translator, node: exp.Expr, values: Sequence[TypedSql], what: str) -> None:
    """Raises Refused if one of the values has a type that is only known for each row."""
    if any(t.has_part(value.type, t.Dynamic) for value in values):
        raise tr.refusal(node, "wrong-argument-type", f"{what} of Dynamic is not supported", DYNAMIC_HINT)


def _refuse_in_lambda(tr: Translator, node: exp.Expr, document: TypedSql) -> None:
    """Raises Refused inside of a lambda, for a document that depends on its parameters: any other one is read outside
    of the lambda (see `read_outside_lambdas`)."""
    if tr.locals and depends_on_lambda(document.sql):
        hint = "read the path of all elements: `data.items[].name`"
        message = "a path of a JSON that is a parameter of a lambda is not supported"
        raise tr.refusal(node, "unsupported-syntax", message, hint)
