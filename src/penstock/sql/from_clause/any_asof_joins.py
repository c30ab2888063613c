"""ANY JOIN where a key has several rows: one of them is taken, and the join is an ordinary one.

In: a Block, a Join node, its kind and the right table. Out: `Joined`. Called by joins. Invariant: a side of which
ClickHouse takes one row gives one whole row for each key, of those that the condition's filters leave.

ASOF JOIN: to each row on the left the nearest row on the right with the same keys.

In: a Block, a Join node, its kind and the right table. Out: `Joined`. Called by joins. Invariant: both sides are
sorted together by the keys and the value to be near to, once; no row of a key meets every other one.

One row for each key: which of several rows an ANY JOIN takes, and in which order ASOF sees equal ones.

In: a table's text, its columns and keys. Out: Spark SQL. Called by join_any and join_asof. Invariant: the values of
a row stay together, and the row is the same however the table is read: the least by its columns in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.block import SelectBlock
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.expr.typed import Typed
from penstock.sql.from_clause.from_subquery import FromSubquery, columns_read, replace_from, subquery_of_from
from penstock.sql.from_clause.join_condition import (
    LEFT,
    RIGHT,
    AsofInequality,
    ConditionParts,
    EqualityKey,
    JoinCondition,
    JoinResult,
    split_condition,
    translator_of_both_sides,
    using_columns,
)
from penstock.sql.from_clause.join_kinds import JoinKind, relations_after_join
from penstock.sql.from_clause.tables import TableReference
from penstock.sql.spark_text import quote_identifier, string_literal


def any_join(block: SelectBlock, node: exp.Join, kind: JoinKind, right: TableReference) -> JoinResult:
    """One row for each key of the sides that `kind` picks from. Raises Refused."""
    _check_filters(block, node, kind, right)
    if LEFT not in kind.picks:
        parts = split_condition(
            JoinCondition(translator_of_both_sides(block, right.relation), right.relation), node, kind
        )
        return _join_on_parts(block, (node, kind), right, parts)
    if block.environment.triggers:
        message = f"{kind.words} keeps one of the rows that trigger a view, which one depends on how they come in"
        raise block.translator.refused(node, "unsupported-view", message, "ANY LEFT JOIN, which keeps them all")
    rows = subquery_of_from(block)
    block = replace_from(block, rows)
    parts = split_condition(JoinCondition(translator_of_both_sides(block, right.relation), right.relation), node, kind)
    columns = {
        name: replace(value, sql=f"{quote_identifier(rows.alias)}.{quote_identifier(name)}", constant=None)
        for name, value in rows.shown.items()
    }
    one = select_one_row_per_key(block.source, columns, [key.left for key in parts.keys], parts.of(LEFT))
    return _join_on_parts(
        replace(block, source=f"({one}) AS {quote_identifier(rows.alias)}"), (node, kind), right, parts
    )


def _check_filters(block: SelectBlock, node: exp.Join, kind: JoinKind, right: TableReference) -> None:
    """ClickHouse filters before it takes a row, where it can move the filter below the join. Raises Refused."""
    tree = block.tree
    if LEFT in kind.picks and tree.args.get("prewhere") is not None:
        hint = "the condition in ON, or on the left side in a SELECT of its own"
        raise block.translator.refused(node, "unsupported-clause", f"PREWHERE with {kind.words} is not supported", hint)
    if kind.picks != {LEFT, RIGHT}:
        return
    if any(each.args.get("kind") != "ARRAY" for each in _joins_after(tree, node)):
        message = f"a JOIN after {kind.words} is not supported: it may change which row is taken"
        raise block.translator.refused(node, "unsupported-clause", message, "make it the last join")


def _joins_after(tree: exp.Select, node: exp.Join) -> list[exp.Join]:
    joins = tree.args.get("joins") or []
    place = next((place for place, each in enumerate(joins) if each is node), len(joins))
    return list(joins[place + 1 :])


def _filters_of_keys(kind: JoinKind, relations: tuple[ScopeTable, ...], parts: ConditionParts) -> AnyJoinRows | None:
    """Where one row is taken of those that both sides have for a key."""
    if kind.picks != {LEFT, RIGHT}:
        return None
    nodes = (each for key in parts.keys for each in key.nodes if isinstance(each, exp.Column))
    keys = frozenset((each.text("table"), each.name) for each in nodes)
    return AnyJoinRows(kind.words, keys, frozenset(each.name for each in relations))


def _join_on_parts(
    block: SelectBlock, form: tuple[exp.Join, JoinKind], right: TableReference, parts: ConditionParts
) -> JoinResult:
    node, kind = form
    table = _one_row_per_key(block, right, parts) if RIGHT in kind.picks else right.sql
    on = " AND ".join([*(key.test for key in parts.keys), *(each.sql for each in parts.filters)])
    relations = relations_after_join(kind, block.translator.scope.relations, right.relation, using_columns(node))
    return JoinResult(
        f"{block.source} {kind.spark} {table} ON {on}", relations, _filters_of_keys(kind, relations, parts)
    )


def _one_row_per_key(block: SelectBlock, right: TableReference, parts: ConditionParts) -> str:
    read = columns_read(block, right.relation)
    columns = {name: value for name, value in right.relation.columns.items() if name in read}
    one = select_one_row_per_key(right.sql, columns, [key.right for key in parts.keys], parts.of(RIGHT))
    return f"({one}) AS {quote_identifier(right.relation.name)}"


_NEAR, _SIDE = "`__near`", "`__side`"
_LEFT_SIDE, _RIGHT_SIDE = 1, {">=": 0, "<=": 0, ">": 2, "<": 2}
"""Of equal values the right side comes first where it may be taken, and last where it may not."""


@dataclass(frozen=True, slots=True)
class _AsofSides:
    """The right table, those of its columns that are read, by the names that they get, and the condition."""

    right: TableReference
    columns: Mapping[str, Typed]
    parts: ConditionParts

    @property
    def nearest(self) -> AsofInequality:
        return self.parts.nearest[0]

    @property
    def keys(self) -> Mapping[str, EqualityKey]:
        """The keys of the condition, by the names that they get."""
        return {quote_identifier(f"__key{place}"): key for place, key in enumerate(self.parts.keys)}

    def right_relation(self, alias: str) -> ScopeTable:
        """The right relation as it is read from the result."""
        names = {value.sql: name for name, value in self.columns.items()}

        def of(value: Typed) -> Typed:
            name = names.get(value.sql, "__unread")
            return Typed(f"{quote_identifier(alias)}.{quote_identifier(name)}", value.type, value.spark)

        return self.right.relation.mapped(of)


def asof_join(block: SelectBlock, node: exp.Join, kind: JoinKind, right: TableReference) -> JoinResult:
    """Raises Refused."""
    tr = translator_of_both_sides(block, right.relation)
    parts = split_condition(JoinCondition(tr, right.relation), node, kind)
    if len(parts.nearest) != 1:
        found = "none" if not parts.nearest else "more than one"
        message = f"{kind.words} needs one inequality (<, <=, > or >=) of both sides in ON, there is {found}"
        raise tr.refused(node.args.get("on") or node, "invalid-join", message, "a.key = b.key AND a.time >= b.time")
    read = columns_read(block, right.relation)
    named = [value for name, value in right.relation.columns.items() if name in read]
    sides = _AsofSides(right, {f"r{place}": value for place, value in enumerate(named)}, parts)
    if block.environment.triggers:
        return _asof_join_of_view(block, (node, kind), sides)
    rows = subquery_of_from(block)
    lefts = rows.relations_inside(block.translator.scope.relations)
    inner = kind.spark == "INNER JOIN"
    shown = (
        ", ".join([*(f"{quote_identifier(name)}" for name in rows.shown), *row_fields(sides.columns)]) or "1 AS `one`"
    )
    matched = f" AND {ROW} IS NOT NULL" if inner else ""
    sql = f"SELECT {shown} FROM ({_nearest_rows(block, rows, sides)}) WHERE {_SIDE} = {_LEFT_SIDE}{matched}"
    relations = relations_after_join(kind, lefts, sides.right_relation(rows.alias), using_columns(node))
    return JoinResult(f"({sql}) AS {quote_identifier(rows.alias)}", relations)


def _asof_join_of_view(block: SelectBlock, form: tuple[exp.Join, JoinKind], sides: _AsofSides) -> JoinResult:
    """For a view: its rows stay what they are, and are joined to what is nearest to each key and value among them.
    They are read twice, which no other left side may be: it could be another one each time. Raises Refused."""
    (node, kind), relations = form, block.translator.scope.relations
    if len(relations) != 1 or relations[0].placeholder is None:
        message = f"{kind.words} in a view needs the data source that triggers it, itself, on the left"
        raise block.translator.refused(node, "unsupported-view", message, "make it the first join of the view")
    alias = sides.right.relation.name
    rows = FromSubquery(alias, {}, {})
    shown = ", ".join([*sides.keys, _NEAR, *row_fields(sides.columns)])
    where = f"{_SIDE} = {_LEFT_SIDE} AND {ROW} IS NOT NULL"
    nearest = _nearest_rows(block, rows, sides, "DISTINCT ")
    table = f"(SELECT {shown} FROM ({nearest}) WHERE {where}) AS {quote_identifier(alias)}"
    tests = [f"({key.left} {key.equal} {quote_identifier(alias)}.{name})" for name, key in sides.keys.items()]
    on = " AND ".join([*tests, f"({_left_value(sides)} = {quote_identifier(alias)}.{_NEAR})"])
    after = relations_after_join(kind, relations, sides.right_relation(alias), using_columns(node))
    return JoinResult(f"{block.source} {kind.spark} {table} ON {on}", after)


def _nearest_rows(block: SelectBlock, rows: FromSubquery, sides: _AsofSides, distinct: str = "") -> str:
    """The rows of both sides, each with the last of the right side up to its place."""
    earlier = sides.nearest.operator in (">", ">=")
    fields = {name: Typed(f"{ROW}.{quote_identifier(name)}", v.type, v.spark) for name, v in sides.columns.items()}
    ties = row_order(fields)
    order = f"{_NEAR} {'ASC' if earlier else 'DESC'} NULLS FIRST, {_SIDE} ASC NULLS LAST, {ties or ROW} DESC NULLS LAST"
    partition = ", ".join(sides.keys)
    frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    last = f"last_value({ROW}) IGNORE NULLS OVER (PARTITION BY {partition} ORDER BY {order} {frame})"
    shown = ", ".join([*map(quote_identifier, rows.shown), *sides.keys, _NEAR, _SIDE, f"{last} AS {ROW}"])
    both = f"{_left_rows(block, rows, sides, distinct)} UNION ALL {_right_rows(rows, sides)}"
    return f"SELECT {shown} FROM ({both})"


def _left_rows(block: SelectBlock, rows: FromSubquery, sides: _AsofSides, distinct: str) -> str:
    own = [f"{value.sql} AS {quote_identifier(name)}" for name, value in rows.shown.items()]
    keys = [f"{key.left} AS {name}" for name, key in sides.keys.items()]
    near = [f"{_left_value(sides)} AS {_NEAR}", f"{_LEFT_SIDE} AS {_SIDE}", f"NULL AS {ROW}"]
    return f"SELECT {distinct}{', '.join([*own, *keys, *near])} FROM {block.source}"


def _left_value(sides: _AsofSides) -> str:
    """NULL where nothing may match the row: there is nothing before it."""
    tests = sides.parts.of(LEFT)
    return f"if({' AND '.join(tests)}, {sides.nearest.left}, NULL)" if tests else sides.nearest.left


def _right_rows(rows: FromSubquery, sides: _AsofSides) -> str:
    """Those that may match a row: the others have no place among them."""
    near = sides.nearest
    own = [f"NULL AS {quote_identifier(name)}" for name in rows.shown]
    keys = [f"{key.right} AS {name}" for name, key in sides.keys.items()]
    side = f"{_RIGHT_SIDE[near.operator]} AS {_SIDE}"
    shown = ", ".join([*own, *keys, f"{near.right} AS {_NEAR}", side, f"{row_struct(sides.columns)} AS {ROW}"])
    tests = [f"{key.right} IS NOT NULL" for key in sides.parts.keys if key.equal == "="]
    tests = [*tests, f"{near.right} IS NOT NULL", *sides.parts.of(RIGHT)]
    return f"SELECT {shown} FROM {sides.right.sql} WHERE {' AND '.join(tests)}"


ROW = "`__row`"
_WITHOUT_ORDER = ("MAP<", "VARIANT")


def row_struct(columns: Mapping[str, Typed]) -> str:
    """The columns as one value."""
    fields = ", ".join(f"{string_literal(name)}, {value.sql}" for name, value in columns.items())
    return f"named_struct({fields or _PLACEHOLDER_FIELD})"


_PLACEHOLDER_FIELD = "'one', 1"


def row_order(columns: Mapping[str, Typed]) -> str | None:
    """What tells rows apart; None where the row itself has an order."""
    if not any(_is_unorderable(value) for value in columns.values()):
        return None
    return row_struct({name: _orderable_value(value) for name, value in columns.items()})


def _is_unorderable(value: Typed) -> bool:
    """Whether Spark does not order such values."""
    return any(word in value.spark for word in _WITHOUT_ORDER)


def _orderable_value(value: Typed) -> Typed:
    return Typed(f"CAST({value.sql} AS STRING)", value.type, "STRING") if _is_unorderable(value) else value


def row_fields(columns: Mapping[str, Typed]) -> list[str]:
    """The columns again, out of the row."""
    return [f"{ROW}.{quote_identifier(name)} AS {quote_identifier(name)}" for name in columns]


def select_one_row_per_key(source: str, columns: Mapping[str, Typed], keys: list[str], where: tuple[str, ...]) -> str:
    """A SELECT of one whole row for each key."""
    row, order = row_struct(columns), row_order(columns)
    least = f"min({row})" if order is None else f"min_by({row}, {order})"
    kept = f" WHERE {' AND '.join(where)}" if where else ""
    rows = f"SELECT {least} AS {ROW} FROM {source}{kept} GROUP BY {', '.join(keys)}"
    return f"SELECT {', '.join(row_fields(columns)) or '1 AS `one`'} FROM ({rows})"
