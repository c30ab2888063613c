"""Names in expressions: columns, aliases, parameters of lambdas, and elements of tuples.

In: Column, Identifier and Dot nodes. Out: `TypedSql`. Invariant: an alias stands for its expression, except inside that
expression, where the same name is the column.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.bind_once import is_generated_name
from penstock.sql.expr.json_documents import is_json
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, null_test, nullable_if_any, typed_sql
from penstock.sql.operators.json_paths import json_path, json_values_at, names_of_path
from penstock.sql.operators.literals import float_literal
from penstock.sql.operators.names_with_dots import joined_names
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.tokens import CALL_MARK
from penstock.sql.syntax.tree import call_name


def translate_column(tr: Translator, node: exp.Expr) -> TypedSql:
    """`a`, `table.a`, `tuple.field`, `table.tuple.1` …."""
    names = names_of_path(node)
    found = _lambda_parameter(tr, names)
    if found is None:
        names = list(joined_names(tr.scope, names))
        found = _qualified_column(tr, node, names)
    if found is None:
        value, rest = resolve_name(tr, node, names[0]), names[1:]
    else:
        value, rest = found
    return _member_at(tr, node, value, ".".join(rest).split(".") if rest else [])


def _member_at(tr: Translator, node: exp.Expr, value: TypedSql, steps: Sequence[str]) -> TypedSql:
    """What stands at a path: elements of tuples, and then all that is left within a JSON."""
    for place, step in enumerate(steps):
        if is_json(value.type):
            return json_path(tr, node, value, steps[place:])
        if value.type == t.Array(t.Json()):
            return json_values_at(tr, node, value, steps[place:])
        value = subcolumn(value, step) or tuple_element(tr, node, value, step)
    return value


def subcolumn(value: TypedSql, step: str) -> TypedSql | None:
    """What ClickHouse keeps apart of a column: the keys and values of a map, the length of an array, whether a value is
    NULL."""
    match value.type, step:
        case t.Map(key, _), "keys":
            return typed_sql(f"map_keys({value.sql})", t.Array(key))
        case t.Map(_, inner), "values":
            return typed_sql(f"map_values({value.sql})", t.Array(inner))
        case t.Array(), "size0":
            return typed_sql(f"CAST(size({value.sql}) AS DECIMAL(20,0))", t.Int(64, signed=False))
        case t.Nullable(), "null":
            return null_test(value)
        case _:
            return None


def translate_identifier(tr: Translator, node: exp.Expr) -> TypedSql:
    """A bare name: how sqlglot writes parameters in a lambda's body."""
    found = _lambda_parameter(tr, [node.name])
    return found[0] if found else resolve_name(tr, node, node.name)


def translate_dot(tr: Translator, node: exp.Expr) -> TypedSql:
    """`expression.name` or `expression.1`."""
    steps, base = node.expression.name.split("."), node.this
    while isinstance(base, exp.Dot):
        steps, base = [*base.expression.name.split("."), *steps], base.this
    if isinstance(base, exp.Column) and not isinstance(base.this, exp.Star):
        return translate_column(tr, _longer_column(base, steps))
    return _member_at(tr, node, tr.translate(base), steps)


def _longer_column(column: exp.Expr, steps: Sequence[str]) -> exp.Expr:
    """A column with more names after its last one, so that a path into a JSON is read as one."""
    longer = column.copy()
    longer.set("this", exp.to_identifier(".".join([column.name, *steps]), quoted=True))
    longer.parent = column.parent
    return longer


def resolve_name(tr: Translator, node: exp.Expr, name: str) -> TypedSql:
    """A name without a table: an alias of this SELECT, otherwise a column. Raises Refused if it is unknown."""
    aliased = tr.scope.aliases.get(name)
    if aliased is not None and name not in tr.resolving:
        return tr.inside(name).translate(aliased)
    relation = tr.scope.find(name)
    if relation is None and name.lower() in ("nan", "inf", "infinity"):
        return float_literal(float(name))
    if relation is None and name.lower() in _CALLS_WITHOUT_PARENTHESES:
        return tr.translate(exp.Anonymous(this=_CALLS_WITHOUT_PARENTHESES[name.lower()] + CALL_MARK))
    if relation is None:
        known = [each for each in (*tr.scope.column_names, *tr.scope.aliases) if not is_generated_name(each)]
        raise tr.refusal(node, "unknown-column", f"unknown column `{name}`", did_you_mean(name, known))
    return read_column(tr, node, relation, name)


_CALLS_WITHOUT_PARENTHESES = {
    "now": "now",
    "current_timestamp": "now",
    "localtimestamp": "now",
    "current_date": "today",
}
"""Names that mean a call where there is no such column."""
READING_KEY = "reading"
"""Key in a node's meta that says how a column of `*` is read: see `ScopeTable.reading`."""


def read_column(tr: Translator, node: exp.Expr, relation: ScopeTable, name: str, how: str = "bare") -> TypedSql:
    """A column of a table, recorded as used. Raises Refused if it has no single value after a join."""
    if name in relation.unreadable:
        reason, hint = relation.unreadable[name]
        raise tr.refusal(node, "unsupported-clause", f"`{relation.name}.{name}` {reason}", hint)
    if relation.placeholder is not None:
        tr.uses.add_column(relation.placeholder, name)
    tr.trace.free.append(node)
    return relation.reading(name, how)


def counts_rows(node: exp.Anonymous) -> bool:
    """Whether this is count() or count(*), which EXCEPT does not change: not of a column, `table.*` or DISTINCT."""
    first = next(iter(node.expressions), None)
    return (first is None or isinstance(first, exp.Star)) and (call_name(node) or "").lower() == "count"


def expand_star_arguments(tr: Translator, node: exp.Anonymous) -> exp.Anonymous:
    """A call with `*` and `table.*` among its arguments replaced by their columns: `uniq(*)`, `count(DISTINCT *)`.
    Raises Refused for an unknown table."""
    distinct = node.expressions[0] if len(node.expressions) == 1 else None
    arguments = distinct.expressions if isinstance(distinct, exp.Distinct) else node.expressions
    if not any(_star_of(each) for each in arguments):
        return node
    given: list[exp.Expr] = []
    for each in arguments:
        given += [each] if _star_of(each) is None else _columns_of_star(tr, each)
    given = [each.copy() for each in given]
    within = [exp.Distinct(expressions=given)] if isinstance(distinct, exp.Distinct) else given
    call = exp.Anonymous(this=node.this, expressions=within)
    call.meta.update(node.meta)
    call.parent = node.parent
    return call


def _star_of(node: exp.Expr) -> exp.Star | None:
    star = node.this if isinstance(node, exp.Column) else node
    return star if isinstance(star, exp.Star) else None


def _columns_of_star(tr: Translator, node: exp.Expr) -> list[exp.Expr]:
    """The columns of `*`, or of one table, without those that EXCEPT names."""
    star, tables = _star_of(node), tr.scope.relations
    if isinstance(node, exp.Column):
        found = tr.scope.relation(node.table)
        if found is None:
            known = [each.name for each in tables]
            raise tr.refusal(node, "unknown-table", f"unknown table `{node.table}`", did_you_mean(node.table, known))
        tables = (found,)
    left_out = {each.name for each in (star.args.get("except_") or [] if star is not None else [])}
    return [
        exp.column(name, table=each.name, quoted=True)
        for each in tables
        if not each.is_array
        for name in each.star
        if name not in left_out and (name not in each.hidden or isinstance(node, exp.Column))
    ]


def _lambda_parameter(tr: Translator, names: list[str]) -> tuple[TypedSql, list[str]] | None:
    """The parameter of a lambda with the first of these names, and the remaining names."""
    value = tr.locals.get(names[0])
    return (value, names[1:]) if value is not None else None


def _qualified_column(tr: Translator, node: exp.Expr, names: list[str]) -> tuple[TypedSql, list[str]] | None:
    """A column after the name of its table, and the remaining names. Raises Refused if either is unknown."""
    if len(names) == 1:
        return None
    relation = tr.scope.relation(names[0])
    if relation is None:
        if names[0] not in tr.scope.aliases and tr.scope.find(names[0]) is None:
            known = [each.name for each in tr.scope.relations]
            message = f"unknown table or column `{names[0]}`"
            raise tr.refusal(node, "unknown-column", message, did_you_mean(names[0], known))
        return None
    if names[1] not in relation.columns:
        message = f"unknown column `{names[1]}` of `{names[0]}`"
        raise tr.refusal(node, "unknown-column", message, did_you_mean(names[1], relation.columns))
    is_named_element = len(names) > 2 and not names[2][:1].isdigit()
    if is_named_element and relation.placeholder is not None and names[1] in relation.whole:
        message = f"`{'.'.join(names)}` after ARRAY JOIN is not supported: ClickHouse reads it from the whole array"
        raise tr.refusal(node, "unsupported-syntax", message, f"write `{'.'.join(names[1:])}` for the element's")
    return read_column(tr, node, relation, names[1], node.meta.get(READING_KEY, "own")), names[2:]


def tuple_element(tr: Translator, node: exp.Expr, value: TypedSql, step: str) -> TypedSql:
    """One element of a tuple, by name or by number from 1. Raises Refused if there is none."""
    of = value.bare
    if isinstance(of, t.Array) and isinstance(of.of, t.Tuple):
        each = tuple_element(tr, node, typed_sql("` e`", of.of), step)
        return typed_sql(f"transform({value.sql}, ` e` -> {each.sql})", t.Array(each.type))
    if not isinstance(of, t.Tuple):
        raise tr.refusal(node, "wrong-argument-type", f"`.{step}` needs a Tuple, this is {value.type}")
    for place, (name, inner) in enumerate(of.fields, 1):
        if step in (name, str(place)):
            result = nullable_if_any(inner, [value])
            return TypedSql(f"{value.sql}.{quote_identifier(name or f'_{place}')}", result, value_type(inner))
    known = [name or str(place) for place, (name, _) in enumerate(of.fields, 1)]
    raise tr.refusal(node, "unknown-column", f"{of} has no element `{step}`", did_you_mean(step, known))
