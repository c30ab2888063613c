"""Subqueries that read columns of the SELECT around them: EXISTS, and an aggregate as a value.

In: the node and its SELECT, whose WHERE has `own = outer` among its conditions. Out: a `TypedSql`. The SELECT becomes
one that reads nothing from outside, and its rows are found by those equalities. Invariant: as in ClickHouse, a row
finds nothing if a column that the subquery reads of it is NULL, and an aggregate over no rows is NULL, `count()` too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.compiler.translator import CORRELATED, OutputColumns, Translator
from penstock.sql.expr.typed import NEVER, NULL, TypedSql, as_condition, nullable_if_any
from penstock.sql.operators.comparisons import as_comparable_pair
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.tree import call_name, is_aggregate

_UINT8 = t.Int(8, signed=False)
_VALUE = "__value"
_TABLE = quote_identifier(CORRELATED)
_CHANGING_ROWS = ("group", "having", "qualify", "offset", "distribute", "distinct", "order", "settings")
_CONSTANTS = (exp.Literal, exp.Boolean, exp.Null)
_OF_TYPES = ("isNull", "isNotNull", "isNullable", "isZeroOrNull", "toTypeName", "isConstant", "toColumnTypeName")
"""Functions that may look at nothing but the type."""
_HINT = "join it instead, or put the SELECT that it is compared with into FROM"


@dataclass(frozen=True, slots=True)
class Correlation:
    """A SELECT whose WHERE reads columns of the SELECT around it."""

    query: exp.Select
    rest: tuple[exp.Expr, ...]
    """The conditions that read nothing from outside."""
    keys: tuple[tuple[exp.Expr, exp.Expr], ...]
    """The equalities: the side of the subquery, and the side of the SELECT around it."""
    tests: tuple[exp.Expr, ...]
    """The conditions that read nothing of the subquery."""
    columns: tuple[exp.Column, ...]
    """The columns that are read from outside."""

    def select(self, shown: Sequence[exp.Expr]) -> exp.Select:
        """The SELECT of these columns and of the keys, without its conditions on what is outside."""
        query = self.query.copy()
        named = (_named(own, _key_name(place)) for place, (own, _) in enumerate(self.keys))
        query.set("expressions", [*shown, *named] or [_named(exp.Literal.number(1), CORRELATED)])
        query.set("where", exp.Where(this=exp.and_(*self.rest, copy=True)) if self.rest else None)
        query.set("limit", None)
        return query


def _named(node: exp.Expr, name: str) -> exp.Alias:
    return exp.Alias(this=node.copy(), alias=exp.to_identifier(name, quoted=True))


def _key_name(place: int) -> str:
    return f"{CORRELATED}{place}"


def correlation_of(tr: Translator, query: exp.Query) -> Correlation | None:
    """How a SELECT depends on the rows around it; None if it does not. A column of these rows is known by the name of
    its table. Raises Refused for a dependence that is not supported."""
    if not isinstance(query, exp.Select) or not tr.scope.relations:
        return None
    where = query.args.get("where")
    if where is None:
        return None
    outer = _outer_columns(tr, query, where)
    if not outer:
        return None
    _check_place(tr, outer[0])
    for shown in query.expressions:
        for column in _outer_columns(tr, query, shown):
            message = f"`{column.sql()}` of the SELECT around may be read in WHERE only"
            raise tr.refusal(column, "unsupported-syntax", message, _HINT)
    rest: list[exp.Expr] = []
    keys: list[tuple[exp.Expr, exp.Expr]] = []
    tests: list[exp.Expr] = []
    for condition in _conditions(where.this):
        if not _reads(condition, outer):
            rest.append(condition)
        elif all(any(column is each for each in outer) for column in condition.find_all(exp.Column)):
            tests.append(condition)
        else:
            keys.append(_equality(tr, condition, outer))
    for read in (*tests, *(outside for _, outside in keys)):
        check_no_array_join(tr, read)  # it would repeat the rows around
    return Correlation(query, tuple(rest), tuple(keys), tuple(tests), tuple(outer))


def _outer_columns(tr: Translator, query: exp.Select, part: exp.Expr) -> list[exp.Column]:
    """The columns of a part of a SELECT that name a table around the SELECT, and nothing within it."""
    found: list[exp.Column] = []
    known: dict[str, bool] = {}
    for column in part.find_all(exp.Column):
        if len(column.parts) < 2 or tr.scope.relation(column.parts[0].name) is None:
            continue
        around = list(_selects_around(query, column))
        if any(column.parts[0].name in _names(each) for each in around):
            continue
        shown = column.sql() if len(around) == 1 else f"{id(around[0])} {column.sql()}"
        if shown not in known:  # `a.x` may be the element `x` of an own column `a`
            known[shown] = not any(tr.subquery.compiles(_rows_with(each, column)) for each in around)
        if known[shown]:
            found.append(column)
    return found


def _selects_around(query: exp.Select, column: exp.Expr) -> Iterable[exp.Select]:
    """The SELECTs that a column stands in, from the inner one to the given one."""
    node: exp.Expr | None = column
    while node is not None and node is not query:
        node = node.parent
        if isinstance(node, exp.Select):
            yield node


def _names(query: exp.Select) -> set[str]:
    """The names that a SELECT gives to its tables and values, which hide those of the SELECT around it."""
    sources = {name for source in _sources(query) for name in (source.alias_or_name, source.name)}
    return sources | {each.alias for each in query.expressions if isinstance(each, exp.Alias)}


def _rows_with(query: exp.Select, shown: exp.Expr) -> exp.Select:
    """An expression over the rows of FROM, alone."""
    made = exp.Select(expressions=[shown.copy()])
    for key in ("with_", "from_"):
        clause = query.args.get(key)
        made.set(key, clause.copy() if clause is not None else None)
    made.set("joins", [each.copy() for each in query.args.get("joins") or []])
    return made


def _sources(query: exp.Select) -> Iterable[exp.Expr]:
    first = query.args.get("from_")
    return [each.this for each in ([first] if first is not None else []) + (query.args.get("joins") or [])]


def _conditions(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that AND joins."""
    inner = node.unnest()
    return _conditions(inner.this) + _conditions(inner.expression) if isinstance(inner, exp.And) else [inner]


def _reads(node: exp.Expr, outer: list[exp.Column]) -> bool:
    return any(column is each for column in node.find_all(exp.Column) for each in outer)


def _equality(tr: Translator, node: exp.Expr, outer: list[exp.Column]) -> tuple[exp.Expr, exp.Expr]:
    """The own side of an equality and the one outside."""
    sides = (node.this, node.expression) if isinstance(node, exp.EQ) else ()
    for own, outside in (sides, sides[::-1]) if sides else ():
        mixed = _reads(own, outer) or any(not _reads(column, outer) for column in outside.find_all(exp.Column))
        if not mixed and _reads(outside, outer) and not isinstance(outside.unnest(), exp.Tuple):
            return own, outside
    message = "a condition on columns of both the SELECT and the one around it must be an equality of the two"
    raise tr.refusal(node, "unsupported-syntax", message, _HINT)


def _check_place(tr: Translator, node: exp.Expr) -> None:
    """Raises Refused where ClickHouse takes no such subquery, or where the rows around it are grouped."""
    grouped = tr.scope.grouped and tr.place != "filter"
    if tr.locals or tr.scope.joining or grouped or tr.place not in ("select", "filter"):
        message = "a subquery with columns of the SELECT around it is supported in WHERE and in a SELECT without groups"
        raise tr.refusal(node, "unsupported-syntax", message, "compute it in a SELECT in FROM")


def check_no_array_join(tr: Translator, node: exp.Expr) -> None:
    """Raises Refused for an arrayJoin in an expression of EXISTS."""
    found = next((each for each in node.find_all(exp.Anonymous) if call_name(each) == "arrayJoin"), None)
    if found is not None:
        message = "arrayJoin is not supported here"
        raise tr.refusal(found, "unsupported-syntax", message, "ARRAY JOIN in a SELECT in FROM")


def correlated_exists(tr: Translator, node: exp.Expr, found: Correlation) -> TypedSql:
    """EXISTS (SELECT … WHERE own = outer AND …). Raises Refused."""
    _check_clauses(tr, found, ("group", "having", "qualify", "offset", "distribute", "distinct", "order"))
    limit = found.query.args.get("limit")
    if limit is not None and (not limit.expression or limit.expression.name in ("", "0")):
        _refuse_clause(tr, limit)
    if any(is_aggregate(each) for shown in found.query.expressions for each in shown.find_all(exp.Anonymous)):
        message = "EXISTS of an aggregate over columns of the SELECT around it is not supported: it is always true"
        raise tr.refusal(found.query, "unsupported-syntax", message, "leave EXISTS out")
    for shown in found.query.expressions:
        check_no_array_join(tr, shown)  # ClickHouse counts the rows before it
    lefts = [tr.translate(outside) for _, outside in found.keys]
    # the select list is compiled too, so that unknown names in it are problems
    sql, columns = tr.subquery(found.select([] if _is_plain_list(found.query) else found.query.expressions))
    if len(columns) < len(lefts):
        return TypedSql(NEVER, _UINT8, "BOOLEAN")  # a problem of it is reported
    shown = columns[len(columns) - len(lefts) :]
    _check_kinds(tr, found, lefts, shown)
    exists = f"EXISTS ({_rows_found(tr, node, '1', lefts, (sql, shown))})" if lefts else f"EXISTS ({sql})"
    return TypedSql(f"({' AND '.join([*_tests(tr, found), exists])})", _UINT8, "BOOLEAN")


def _is_plain_list(query: exp.Select) -> bool:
    return all(isinstance(each, (exp.Star, exp.Literal)) for each in query.expressions)


def correlated_value(tr: Translator, node: exp.Expr, found: Correlation) -> TypedSql:
    """(SELECT aggregate(…) … WHERE own = outer AND …) as a value. Raises Refused."""
    _check_value(tr, node, found)
    shown = found.query.expressions
    lefts = [tr.translate(outside) for _, outside in found.keys]
    query = found.select([_named(shown[0].unalias(), _VALUE)])
    query.set("group", exp.Group(expressions=[own.copy() for own, _ in found.keys]))
    sql, columns = tr.subquery(query)
    if len(columns) <= len(lefts):
        return NULL  # a problem of it is reported
    (_, value), *keys = columns
    _check_kinds(tr, found, lefts, tuple(keys))
    if isinstance(value.bare, (t.Array, t.Map, t.Tuple, t.Dynamic, t.Json, t.AggregateFunction)):
        message = f"a subquery with columns of the SELECT around it cannot be {value.type}"
        raise tr.refusal(node, "unsupported-syntax", message, _HINT)
    value_of_rows = f"any_value({_TABLE}.`{_VALUE}`)"
    one = f"({_rows_found(tr, node, value_of_rows, lefts, (sql, tuple(keys)))})"
    tests = _tests(tr, found)
    made = f"if({' AND '.join(tests)}, {one}, NULL)" if tests else one
    return TypedSql(made, nullable_if_any(value.type, [NULL]), value.spark)


def _rows_found(
    tr: Translator, node: exp.Expr, shown: str, lefts: list[TypedSql], rows: tuple[str, OutputColumns]
) -> str:
    """The SELECT of the rows whose keys equal those of the row around. Spark makes a join by these equalities of it; of
    `NOT IN` with several keys it would compare each row with each."""
    sql, columns = rows
    keys = [replace(key, sql=f"{_TABLE}.{quote_identifier(name)}") for name, key in columns]
    equal = (f"{a} = {b}" for a, b in (as_comparable_pair(tr, node, *pair) for pair in zip(lefts, keys, strict=True)))
    return f"SELECT {shown} FROM ({sql}) AS {_TABLE} WHERE {' AND '.join(equal)}"


def _check_value(tr: Translator, node: exp.Expr, found: Correlation) -> None:
    """Raises Refused for a subquery that may not have one row for each row around."""
    shown = found.query.expressions
    _check_clauses(tr, found, (*_CHANGING_ROWS, "limit"))
    if len(shown) != 1 or not any(is_aggregate(each) for each in shown[0].find_all(exp.Anonymous)):
        message = "a subquery with columns of the SELECT around it must be one aggregate, or it may have several rows"
        raise tr.refusal(node, "unsupported-syntax", message, "any(…), max(…), or a JOIN")
    where = found.query.args["where"]
    if any(not column.table and column.name == shown[0].alias for column in where.find_all(exp.Column)):
        message = f"`{shown[0].alias}` is an aggregate here, which WHERE cannot read"
        raise tr.refusal(node, "misplaced-aggregate", message, "give it another name")
    if not found.keys:
        message = "a subquery as a value needs an equality of its own column and one of the SELECT around it"
        raise tr.refusal(node, "unsupported-syntax", message, _HINT)
    fixed = [each.this.sql() for each in (*found.rest, *found.tests) if _is_fixed(each)]
    for condition in (*found.rest, *found.tests):
        if len(set(fixed)) < len(fixed) or _may_be_constant(tr, found, condition):
            message = (
                "a condition that reads no column is not supported in a subquery with columns of the SELECT around it"
            )
            raise tr.refusal(condition, "unsupported-syntax", message, "if(condition, (SELECT …), …)")


def _may_be_constant(tr: Translator, found: Correlation, condition: exp.Expr) -> bool:
    """Whether a condition reads no column, and is not the constant 1. Where one is false, ClickHouse reads nothing from
    outside, and the aggregate is that of no rows instead of NULL."""
    nodes = list(condition.walk(prune=lambda each: isinstance(each, exp.Query)))
    columns = [each for each in nodes if isinstance(each, exp.Column)]
    if all(not column.table and column.name in tr.scope.aliases for column in columns):
        same = (
            isinstance(condition, exp.EQ) and condition.this == condition.expression
        )  # `1 = 1`, as templates write it
        return not same and not tr.translate(condition).constant
    if any(isinstance(each.parent, (exp.And, exp.Or)) and isinstance(each, _CONSTANTS) for each in nodes):
        return True
    if not any(isinstance(each, (exp.Is, exp.Null)) or call_name(each) in _OF_TYPES for each in nodes):
        return False
    if condition in found.tests:
        return "`" not in tr.translate(condition).sql
    probe = _rows_with(found.query, _named(condition, _VALUE))
    return "`" not in tr.subquery(probe)[0].partition(f" AS `{_VALUE}`")[0] or _has_null(nodes)


def _is_fixed(condition: exp.Expr) -> bool:
    """Whether a condition sets one value: two of the same column are always false."""
    return isinstance(condition, exp.EQ) and isinstance(condition.expression, exp.Literal)


def _has_null(nodes: Iterable[exp.Expr]) -> bool:
    """Whether NULL is written otherwise than after IS."""
    return any(isinstance(each, exp.Null) and not isinstance(each.parent, exp.Is) for each in nodes)


def _tests(tr: Translator, found: Correlation) -> list[str]:
    """What must hold of the row around: its own conditions, and that no column that is read is NULL."""
    bare = {id(outside.unnest()) for _, outside in found.keys}
    read = (tr.translate(column) for column in found.columns if id(column) not in bare)
    given = dict.fromkeys(f"{value.sql} IS NOT NULL" for value in read if value.nullable)
    tests = (tr.translate(test) for test in found.tests)
    return [*given, *(f"coalesce({as_condition(test)}, false)" for test in tests)]


def _check_clauses(tr: Translator, found: Correlation, refused: Iterable[str]) -> None:
    for key in refused:
        clause = found.query.args.get(key)
        if clause is not None and clause != []:
            _refuse_clause(tr, clause if isinstance(clause, exp.Expr) else found.query)


def _refuse_clause(tr: Translator, clause: exp.Expr) -> None:
    name = clause.key.upper()
    message = f"{name} is not supported in a subquery with columns of the SELECT around it"
    raise tr.refusal(clause, "unsupported-clause", message, _HINT)


def _check_kinds(tr: Translator, found: Correlation, lefts: list[TypedSql], own: OutputColumns) -> None:
    """Raises Refused for keys that a join finds by other rules than `=`: floats, and types of two kinds."""
    for (_, outside), left, (_, right) in zip(found.keys, lefts, own, strict=True):
        if not _is_one_kind(left.bare, right.bare):
            message = f"rows of a subquery cannot be found by {left.type} = {right.type}"
            raise tr.refusal(
                outside, "wrong-argument-type", message, "convert both to one type: integers, texts, times"
            )


def _is_one_kind(left: Type, right: Type) -> bool:
    both = (left, right)
    if all(isinstance(of, t.Int) for of in both):
        return True
    if isinstance(left, (t.Float, t.Array, t.Map, t.Tuple, t.Dynamic, t.Json, t.AggregateFunction)):
        return False
    return left == right
