"""ASOF JOIN: to each row on the left the nearest row on the right with the same keys.

In: a Block, a Join node, its kind and the right table. Out: `Joined`. Called by joins. Invariant: both sides are
sorted together by the keys and the value to be near to, once; no row of a key meets every other one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.block import Block
from penstock.sql.derived import Listed, columns_read, listed
from penstock.sql.join_form import Joined, both_sides, using_of
from penstock.sql.join_keys import LEFT, RIGHT, Condition
from penstock.sql.join_kinds import Kind
from penstock.sql.join_parts import Key, Nearest, Parts, parts_of
from penstock.sql.join_pick import ROW, fields_of, order_of, row_of
from penstock.sql.join_sides import after_join
from penstock.sql.scope import Relation
from penstock.sql.tables import Table
from penstock.sql.typed import Typed
from penstock.sql.value_types import quoted

_NEAR, _SIDE = "`__near`", "`__side`"
_LEFT_SIDE, _RIGHT_SIDE = 1, {">=": 0, "<=": 0, ">": 2, "<": 2}
"""Of equal values the right side comes first where it may be taken, and last where it may not."""


@dataclass(frozen=True, slots=True)
class _Sides:
    """The right table, those of its columns that are read, by the names that they get, and the condition."""

    right: Table
    columns: Mapping[str, Typed]
    parts: Parts

    @property
    def nearest(self) -> Nearest:
        return self.parts.nearest[0]

    @property
    def keys(self) -> Mapping[str, Key]:
        """The keys of the condition, by the names that they get."""
        return {quoted(f"__key{place}"): key for place, key in enumerate(self.parts.keys)}

    def moved(self, alias: str) -> Relation:
        """The right relation as it is read from the result."""
        names = {value.sql: name for name, value in self.columns.items()}

        def of(value: Typed) -> Typed:
            name = names.get(value.sql, "__unread")
            return Typed(f"{quoted(alias)}.{quoted(name)}", value.type, value.spark)

        return self.right.relation.mapped(of)


def asof_join(block: Block, node: exp.Join, kind: Kind, right: Table) -> Joined:
    """Raises Refused."""
    tr = both_sides(block, right.relation)
    parts = parts_of(Condition(tr, right.relation), node, kind)
    if len(parts.nearest) != 1:
        found = "none" if not parts.nearest else "more than one"
        message = f"{kind.words} needs one inequality (<, <=, > or >=) of both sides in ON, there is {found}"
        raise tr.refused(node.args.get("on") or node, "invalid-join", message, "a.key = b.key AND a.time >= b.time")
    read = columns_read(block, right.relation)
    named = [value for name, value in right.relation.columns.items() if name in read]
    sides = _Sides(right, {f"r{place}": value for place, value in enumerate(named)}, parts)
    if block.environment.triggers:
        return _beside(block, (node, kind), sides)
    rows = listed(block)
    lefts = rows.moved(block.translator.scope.relations)
    inner = kind.spark == "INNER JOIN"
    shown = ", ".join([*(f"{quoted(name)}" for name in rows.shown), *fields_of(sides.columns)]) or "1 AS `one`"
    matched = f" AND {ROW} IS NOT NULL" if inner else ""
    sql = f"SELECT {shown} FROM ({_nearest(block, rows, sides)}) WHERE {_SIDE} = {_LEFT_SIDE}{matched}"
    relations = after_join(kind, lefts, sides.moved(rows.alias), using_of(node))
    return Joined(f"({sql}) AS {quoted(rows.alias)}", relations)


def _beside(block: Block, form: tuple[exp.Join, Kind], sides: _Sides) -> Joined:
    """For a view: its rows stay what they are, and are joined to what is nearest to each key and value among them.
    They are read twice, which no other left side may be: it could be another one each time. Raises Refused."""
    (node, kind), relations = form, block.translator.scope.relations
    if len(relations) != 1 or relations[0].placeholder is None:
        message = f"{kind.words} in a view needs the data source that triggers it, itself, on the left"
        raise block.translator.refused(node, "unsupported-view", message, "make it the first join of the view")
    alias = sides.right.relation.name
    rows = Listed(alias, {}, {})
    shown = ", ".join([*sides.keys, _NEAR, *fields_of(sides.columns)])
    where = f"{_SIDE} = {_LEFT_SIDE} AND {ROW} IS NOT NULL"
    table = f"(SELECT {shown} FROM ({_nearest(block, rows, sides, 'DISTINCT ')}) WHERE {where}) AS {quoted(alias)}"
    tests = [f"({key.left} {key.equal} {quoted(alias)}.{name})" for name, key in sides.keys.items()]
    on = " AND ".join([*tests, f"({_left_value(sides)} = {quoted(alias)}.{_NEAR})"])
    after = after_join(kind, relations, sides.moved(alias), using_of(node))
    return Joined(f"{block.source} {kind.spark} {table} ON {on}", after)


def _nearest(block: Block, rows: Listed, sides: _Sides, distinct: str = "") -> str:
    """The rows of both sides, each with the last of the right side up to its place."""
    earlier = sides.nearest.operator in (">", ">=")
    ties = order_of({name: Typed(f"{ROW}.{quoted(name)}", v.type, v.spark) for name, v in sides.columns.items()})
    order = f"{_NEAR} {'ASC' if earlier else 'DESC'} NULLS FIRST, {_SIDE} ASC NULLS LAST, {ties or ROW} DESC NULLS LAST"
    partition = ", ".join(sides.keys)
    frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    last = f"last_value({ROW}) IGNORE NULLS OVER (PARTITION BY {partition} ORDER BY {order} {frame})"
    shown = ", ".join([*map(quoted, rows.shown), *sides.keys, _NEAR, _SIDE, f"{last} AS {ROW}"])
    both = f"{_left_rows(block, rows, sides, distinct)} UNION ALL {_right_rows(rows, sides)}"
    return f"SELECT {shown} FROM ({both})"


def _left_rows(block: Block, rows: Listed, sides: _Sides, distinct: str) -> str:
    own = [f"{value.sql} AS {quoted(name)}" for name, value in rows.shown.items()]
    keys = [f"{key.left} AS {name}" for name, key in sides.keys.items()]
    near = [f"{_left_value(sides)} AS {_NEAR}", f"{_LEFT_SIDE} AS {_SIDE}", f"NULL AS {ROW}"]
    return f"SELECT {distinct}{', '.join([*own, *keys, *near])} FROM {block.source}"


def _left_value(sides: _Sides) -> str:
    """NULL where nothing may match the row: there is nothing before it."""
    tests = sides.parts.of(LEFT)
    return f"if({' AND '.join(tests)}, {sides.nearest.left}, NULL)" if tests else sides.nearest.left


def _right_rows(rows: Listed, sides: _Sides) -> str:
    """Those that may match a row: the others have no place among them."""
    near = sides.nearest
    own = [f"NULL AS {quoted(name)}" for name in rows.shown]
    keys = [f"{key.right} AS {name}" for name, key in sides.keys.items()]
    side = f"{_RIGHT_SIDE[near.operator]} AS {_SIDE}"
    shown = ", ".join([*own, *keys, f"{near.right} AS {_NEAR}", side, f"{row_of(sides.columns)} AS {ROW}"])
    tests = [f"{key.right} IS NOT NULL" for key in sides.parts.keys if key.equal == "="]
    tests = [*tests, f"{near.right} IS NOT NULL", *sides.parts.of(RIGHT)]
    return f"SELECT {shown} FROM {sides.right.sql} WHERE {' AND '.join(tests)}"
