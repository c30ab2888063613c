"""ANY JOIN where a key has several rows: one of them is taken, and the join is an ordinary one.

In: a Block, a Join node, its kind and the right table. Out: `Joined`. Called by joins. Invariant: a side of which
ClickHouse takes one row gives one whole row for each key, of those that the condition's filters leave.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.block import Block
from penstock.sql.derived import columns_read, derived_as, listed
from penstock.sql.join_form import Joined, both_sides, using_of
from penstock.sql.join_keys import LEFT, RIGHT, Condition
from penstock.sql.join_kinds import Kind
from penstock.sql.join_parts import Parts, parts_of
from penstock.sql.join_pick import picked
from penstock.sql.join_sides import after_join
from penstock.sql.scope import Relation
from penstock.sql.tables import Table
from penstock.sql.taken import Taken
from penstock.sql.value_types import quoted


def any_join(block: Block, node: exp.Join, kind: Kind, right: Table) -> Joined:
    """One row for each key of the sides that `kind` picks from. Raises Refused."""
    _check_filters(block, node, kind, right)
    if LEFT not in kind.picks:
        parts = parts_of(Condition(both_sides(block, right.relation), right.relation), node, kind)
        return _joined(block, (node, kind), right, parts)
    if block.environment.triggers:
        message = f"{kind.words} keeps one of the rows that trigger a view, which one depends on how they come in"
        raise block.translator.refused(node, "unsupported-view", message, "ANY LEFT JOIN, which keeps them all")
    rows = listed(block)
    block = derived_as(block, rows)
    parts = parts_of(Condition(both_sides(block, right.relation), right.relation), node, kind)
    columns = {
        name: replace(value, sql=f"{quoted(rows.alias)}.{quoted(name)}", constant=None)
        for name, value in rows.shown.items()
    }
    one = picked(block.source, columns, [key.left for key in parts.keys], parts.of(LEFT))
    return _joined(replace(block, source=f"({one}) AS {quoted(rows.alias)}"), (node, kind), right, parts)


def _check_filters(block: Block, node: exp.Join, kind: Kind, right: Table) -> None:
    """ClickHouse filters before it takes a row, where it can move the filter below the join. Raises Refused."""
    tree = block.tree
    if LEFT in kind.picks and tree.args.get("prewhere") is not None:
        hint = "the condition in ON, or on the left side in a SELECT of its own"
        raise block.translator.refused(node, "unsupported-clause", f"PREWHERE with {kind.words} is not supported", hint)
    if kind.picks != {LEFT, RIGHT}:
        return
    if any(each.args.get("kind") != "ARRAY" for each in _after(tree, node)):
        message = f"a JOIN after {kind.words} is not supported: it may change which row is taken"
        raise block.translator.refused(node, "unsupported-clause", message, "make it the last join")


def _after(tree: exp.Select, node: exp.Join) -> list[exp.Join]:
    joins = tree.args.get("joins") or []
    place = next((place for place, each in enumerate(joins) if each is node), len(joins))
    return list(joins[place + 1 :])


def _taken(kind: Kind, relations: tuple[Relation, ...], parts: Parts) -> Taken | None:
    """Where one row is taken of those that both sides have for a key."""
    if kind.picks != {LEFT, RIGHT}:
        return None
    nodes = (each for key in parts.keys for each in key.nodes if isinstance(each, exp.Column))
    keys = frozenset((each.text("table"), each.name) for each in nodes)
    return Taken(kind.words, keys, frozenset(each.name for each in relations))


def _joined(block: Block, form: tuple[exp.Join, Kind], right: Table, parts: Parts) -> Joined:
    node, kind = form
    table = _one_of_each(block, right, parts) if RIGHT in kind.picks else right.sql
    on = " AND ".join([*(key.test for key in parts.keys), *(each.sql for each in parts.filters)])
    relations = after_join(kind, block.translator.scope.relations, right.relation, using_of(node))
    return Joined(f"{block.source} {kind.spark} {table} ON {on}", relations, _taken(kind, relations, parts))


def _one_of_each(block: Block, right: Table, parts: Parts) -> str:
    read = columns_read(block, right.relation)
    columns = {name: value for name, value in right.relation.columns.items() if name in read}
    one = picked(right.sql, columns, [key.right for key in parts.keys], parts.of(RIGHT))
    return f"({one}) AS {quoted(right.relation.name)}"
