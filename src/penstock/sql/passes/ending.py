"""Passes: ORDER BY, LIMIT BY, LIMIT and OFFSET.

In: a block with its columns. Out: its sort keys and limits. Called by transpile. Invariant: limits are
whole numbers known when the SQL is compiled.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.sql.block import Block, LimitBy
from penstock.sql.ordering import sort_keys
from penstock.sql.passes.projection import at_position
from penstock.sql.problems import refused
from penstock.sql.typed import Typed


def order(block: Block) -> Block:
    clause = block.tree.args.get("order")
    keys: list[str] = []
    for node in clause.expressions if clause is not None else []:
        with block.environment.report.collecting():
            value = block.translator.tracing().translate(at_position(block, node.this))
            keys += sort_keys(_no_literal(value), node)
    return replace(block, order=tuple(keys))


def _no_literal(value: Typed) -> Typed:
    """Spark would read a literal number as a position."""
    return replace(value, sql=f"CAST({value.sql} AS {value.spark})") if value.constant is not None else value


def limit_by(block: Block) -> Block:
    clause = block.tree.args.get("distribute")
    if clause is None:
        return block
    count, skip, *keys = (each.this for each in clause.expressions)
    shown: list[str] = []
    for key in keys:
        with block.environment.report.collecting():
            shown.append(_no_literal(block.translator.tracing().translate(at_position(block, key))).sql)
    with block.environment.report.collecting():
        return replace(block, limit_by=LimitBy(_number(block, count), _number(block, skip), tuple(shown)))
    return block


def limit(block: Block) -> Block:
    sql = ""
    for key, word in (("limit", "LIMIT"), ("offset", "OFFSET")):
        clause = block.tree.args.get(key)
        if clause is not None:
            with block.environment.report.collecting():
                sql += f" {word} {_number(block, clause.expression)}"
    return replace(block, limit=sql)


def _number(block: Block, node: exp.Expr) -> int:
    value = block.translator.tracing().translate(node).constant
    if not isinstance(value, int) or value < 0:
        raise refused(block.environment.text, node, "invalid-limit", "expected a literal number from 0")
    return value
