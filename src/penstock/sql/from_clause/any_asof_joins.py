"""ANY JOIN and ASOF JOIN, rewritten as ordinary Spark joins.

An ANY JOIN reduces the sides of which ClickHouse takes one row for each key (`JoinKind.picks`) to one whole row for
each key, among the rows that pass the filters of ON; the choice does not depend on how the table is read: the least
row by its columns in order. An ASOF JOIN joins each left row to the nearest right row with the same keys: both sides
are unioned and sorted once by keys and value, so that no row of a key meets every other one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.expr.typed import TypedSql, replace_sql
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
    using_columns,
)
from penstock.sql.from_clause.join_kinds import JoinKind, relations_after_join
from penstock.sql.from_clause.tables import TableReference
from penstock.sql.spark_text import quote_identifier, string_literal

_ROW = "`__row`"
"""The column that holds a whole row as a struct."""
_NEAR, _SIDE = "`__near`", "`__side`"
_LEFT_SIDE, _RIGHT_SIDE = 1, {">=": 0, "<=": 0, ">": 2, "<": 2}
"""Sort order among equal values: a right row comes before the left row if the operator admits equality, else after."""
_WITHOUT_ORDER = ("MAP<", "VARIANT")
"""Parts of the names of Spark types that cannot be compared."""
_PLACEHOLDER_FIELD = "'one', 1"
"""The field of a struct without columns: Spark has no empty struct."""


def any_join(
    block: SelectBlock, form: tuple[exp.Join, JoinKind], right: TableReference, on: JoinCondition
) -> JoinResult:
    """An ANY JOIN: one row for each key of the sides in `kind.picks`. Raises Refused."""
    node, kind = form
    _check_filters(block, node, kind)
    if LEFT not in kind.picks:
        return _join_on_parts(block, form, right, split_condition(on, node, kind))
    if block.environment.triggers:
        message = f"{kind.words} keeps one of the rows that trigger a view, and which one depends on how they arrive"
        raise block.translator.refusal(node, "unsupported-view", message, "ANY LEFT JOIN, which keeps them all")
    rows = subquery_of_from(block)
    block = replace_from(block, rows)
    parts = split_condition(JoinCondition.over(block, right.relation), node, kind)
    columns = {
        name: replace_sql(value, f"{quote_identifier(rows.alias)}.{quote_identifier(name)}")
        for name, value in rows.shown.items()
    }
    one = _select_one_row_per_key(block.source, columns, [key.left for key in parts.keys], parts.filters_on(LEFT))
    return _join_on_parts(replace(block, source=f"({one}) AS {quote_identifier(rows.alias)}"), form, right, parts)


def _check_filters(block: SelectBlock, node: exp.Join, kind: JoinKind) -> None:
    """Raises Refused for a PREWHERE, which may change which row is taken.

    ClickHouse moves filters below the join if it can, and then takes a row among those that pass.
    """
    tree = block.tree
    if LEFT in kind.picks and tree.args.get("prewhere") is not None:
        hint = "the condition in ON, or on the left side in a SELECT of its own"
        raise block.translator.refusal(node, "unsupported-clause", f"PREWHERE with {kind.words} is not supported", hint)


def _filters_of_keys(kind: JoinKind, relations: tuple[ScopeTable, ...], parts: ConditionParts) -> AnyJoinRows | None:
    """What later filters may read if one row is taken for each key of both sides; None for other kinds."""
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
    one = _select_one_row_per_key(right.sql, columns, [key.right for key in parts.keys], parts.filters_on(RIGHT))
    return f"({one}) AS {quote_identifier(right.relation.name)}"


@dataclass(frozen=True, slots=True)
class _AsofSides:
    """The right side of an ASOF JOIN: its columns that are read, under new names, and the parts of the condition."""

    right: TableReference
    columns: Mapping[str, TypedSql]
    parts: ConditionParts

    @property
    def nearest(self) -> AsofInequality:
        """The inequality."""
        return self.parts.nearest[0]

    @property
    def keys(self) -> Mapping[str, EqualityKey]:
        """The keys of the condition by their new names."""
        return {quote_identifier(f"__key{place}"): key for place, key in enumerate(self.parts.keys)}

    def right_relation(self, alias: str) -> ScopeTable:
        """The right relation as it reads from the result of the join, whose alias is given."""
        names = {value.sql: name for name, value in self.columns.items()}

        def of(value: TypedSql) -> TypedSql:
            name = names.get(value.sql, "__unread")
            return TypedSql(f"{quote_identifier(alias)}.{quote_identifier(name)}", value.type, value.spark)

        return self.right.relation.map_columns(of)


def asof_join(
    block: SelectBlock, form: tuple[exp.Join, JoinKind], right: TableReference, on: JoinCondition
) -> JoinResult:
    """An ASOF JOIN. Raises Refused."""
    (node, kind), tr = form, on.tr
    parts = split_condition(on, node, kind)
    if len(parts.nearest) != 1:
        found = "none" if not parts.nearest else "more than one"
        message = f"{kind.words} needs one inequality (<, <=, > or >=) of both sides in ON, there is {found}"
        raise tr.refusal(node.args.get("on") or node, "invalid-join", message, "a.key = b.key AND a.time >= b.time")
    read = columns_read(block, right.relation)
    named = [value for name, value in right.relation.columns.items() if name in read]
    sides = _AsofSides(right, {f"r{place}": value for place, value in enumerate(named)}, parts)
    if block.environment.triggers:
        return _asof_join_of_view(block, form, sides)
    rows = subquery_of_from(block)
    lefts = rows.relations_inside(block.translator.scope.relations)
    inner = kind.spark == "INNER JOIN"
    shown = (
        ", ".join([*(f"{quote_identifier(name)}" for name in rows.shown), *_row_fields(sides.columns)]) or "1 AS `one`"
    )
    matched = f" AND {_ROW} IS NOT NULL" if inner else ""
    sql = f"SELECT {shown} FROM ({_nearest_rows(block, rows, sides)}) WHERE {_SIDE} = {_LEFT_SIDE}{matched}"
    relations = relations_after_join(kind, lefts, sides.right_relation(rows.alias), using_columns(node))
    return JoinResult(f"({sql}) AS {quote_identifier(rows.alias)}", relations)


def _asof_join_of_view(block: SelectBlock, form: tuple[exp.Join, JoinKind], sides: _AsofSides) -> JoinResult:
    """The join in a view, whose own rows are joined as they are to the nearest right row for each key and value.

    The left side is read twice. Only the data source that triggers the view may be: any other one could give other rows
    the second time. Raises Refused.
    """
    (node, kind), relations = form, block.translator.scope.relations
    if len(relations) != 1 or relations[0].placeholder is None:
        message = f"{kind.words} in a view needs the data source that triggers it, itself, on the left"
        raise block.translator.refusal(node, "unsupported-view", message, "make it the first join of the view")
    alias = sides.right.relation.name
    rows = FromSubquery(alias, {}, {})
    shown = ", ".join([*sides.keys, _NEAR, *_row_fields(sides.columns)])
    where = f"{_SIDE} = {_LEFT_SIDE} AND {_ROW} IS NOT NULL"
    nearest = _nearest_rows(block, rows, sides, "DISTINCT ")
    table = f"(SELECT {shown} FROM ({nearest}) WHERE {where}) AS {quote_identifier(alias)}"
    tests = [f"({key.left} {key.equal} {quote_identifier(alias)}.{name})" for name, key in sides.keys.items()]
    on = " AND ".join([*tests, f"({_left_value(sides)} = {quote_identifier(alias)}.{_NEAR})"])
    after = relations_after_join(kind, relations, sides.right_relation(alias), using_columns(node))
    return JoinResult(f"{block.source} {kind.spark} {table} ON {on}", after)


def _nearest_rows(block: SelectBlock, rows: FromSubquery, sides: _AsofSides, distinct: str = "") -> str:
    """The rows of both sides, each with the last right row up to its position in the sort order."""
    earlier = sides.nearest.operator in (">", ">=")
    ties = _row_order(
        {name: TypedSql(f"{_ROW}.{quote_identifier(name)}", v.type, v.spark) for name, v in sides.columns.items()}
    )
    order = (
        f"{_NEAR} {'ASC' if earlier else 'DESC'} NULLS FIRST, {_SIDE} ASC NULLS LAST, {ties or _ROW} DESC NULLS LAST"
    )
    partition = ", ".join(sides.keys)
    frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    last = f"last_value({_ROW}) IGNORE NULLS OVER (PARTITION BY {partition} ORDER BY {order} {frame})"
    shown = ", ".join([*map(quote_identifier, rows.shown), *sides.keys, _NEAR, _SIDE, f"{last} AS {_ROW}"])
    both = f"{_left_rows(block, rows, sides, distinct)} UNION ALL {_right_rows(rows, sides)}"
    return f"SELECT {shown} FROM ({both})"


def _left_rows(block: SelectBlock, rows: FromSubquery, sides: _AsofSides, distinct: str) -> str:
    own = [f"{value.sql} AS {quote_identifier(name)}" for name, value in rows.shown.items()]
    keys = [f"{key.left} AS {name}" for name, key in sides.keys.items()]
    near = [f"{_left_value(sides)} AS {_NEAR}", f"{_LEFT_SIDE} AS {_SIDE}", f"NULL AS {_ROW}"]
    return f"SELECT {distinct}{', '.join([*own, *keys, *near])} FROM {block.source}"


def _left_value(sides: _AsofSides) -> str:
    """The left value of the inequality, NULL if a filter excludes the row: then no right row precedes it."""
    tests = sides.parts.filters_on(LEFT)
    return f"if({' AND '.join(tests)}, {sides.nearest.left}, NULL)" if tests else sides.nearest.left


def _right_rows(rows: FromSubquery, sides: _AsofSides) -> str:
    """The right rows that may match. Others are left out, so that they are not taken for the nearest."""
    near = sides.nearest
    own = [f"NULL AS {quote_identifier(name)}" for name in rows.shown]
    keys = [f"{key.right} AS {name}" for name, key in sides.keys.items()]
    side = f"{_RIGHT_SIDE[near.operator]} AS {_SIDE}"
    shown = ", ".join([*own, *keys, f"{near.right} AS {_NEAR}", side, f"{_row_struct(sides.columns)} AS {_ROW}"])
    tests = [f"{key.right} IS NOT NULL" for key in sides.parts.keys if key.equal == "="]
    tests = [*tests, f"{near.right} IS NOT NULL", *sides.parts.filters_on(RIGHT)]
    return f"SELECT {shown} FROM {sides.right.sql} WHERE {' AND '.join(tests)}"


def _row_struct(columns: Mapping[str, TypedSql]) -> str:
    """The columns as one struct."""
    fields = ", ".join(f"{string_literal(name)}, {value.sql}" for name, value in columns.items())
    return f"named_struct({fields or _PLACEHOLDER_FIELD})"


def _row_order(columns: Mapping[str, TypedSql]) -> str | None:
    """What to compare rows by; None if Spark can compare the struct of the row itself."""
    if not any(_is_unorderable(value) for value in columns.values()):
        return None
    return _row_struct({name: _orderable_value(value) for name, value in columns.items()})


def _is_unorderable(value: TypedSql) -> bool:
    """Whether Spark cannot order such values."""
    return any(word in value.spark for word in _WITHOUT_ORDER)


def _orderable_value(value: TypedSql) -> TypedSql:
    return TypedSql(f"CAST({value.sql} AS STRING)", value.type, "STRING") if _is_unorderable(value) else value


def _row_fields(columns: Mapping[str, TypedSql]) -> list[str]:
    """The columns, read out of the struct of the row."""
    return [f"{_ROW}.{quote_identifier(name)} AS {quote_identifier(name)}" for name in columns]


def _select_one_row_per_key(
    source: str, columns: Mapping[str, TypedSql], keys: list[str], where: tuple[str, ...]
) -> str:
    """A SELECT of the least whole row for each key, among the rows that pass `where`."""
    row, order = _row_struct(columns), _row_order(columns)
    least = f"min({row})" if order is None else f"min_by({row}, {order})"
    kept = f" WHERE {' AND '.join(where)}" if where else ""
    rows = f"SELECT {least} AS {_ROW} FROM {source}{kept} GROUP BY {', '.join(keys)}"
    return f"SELECT {', '.join(_row_fields(columns)) or '1 AS `one`'} FROM ({rows})"
