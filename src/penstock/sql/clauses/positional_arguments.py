"""Keys of GROUP BY, ORDER BY and LIMIT BY: a number as the position of a column, a literal as a value.

Invariant: only a literal whole number is a position, and Spark never takes another key for one.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.expr.typed import TypedSql
from penstock.sql.syntax.problems import refusal

_NUMBER = re.compile(r"\(*-?[0-9]+\)*")


def resolve_position(block: SelectBlock, node: exp.Expr) -> exp.Expr:
    """The expression of the select list at a literal position; any other node itself. Raises Refused."""
    place = parse_whole_number(node.name) if isinstance(node, exp.Literal) and not node.args.get("is_string") else None
    if place is None:
        return node
    if not 1 <= place <= len(block.selected):
        message = f"position {place} is not in the select list of {len(block.selected)} columns"
        raise refusal(block.environment.text, node, "unknown-column", message)
    return block.selected[place - 1].node


def is_literal_key(value: TypedSql) -> bool:
    """Whether Spark would read the key as a literal, and a number as a position."""
    return value.constant is not None or _NUMBER.fullmatch(value.sql) is not None


def key_sql(value: TypedSql) -> str:
    """The Spark SQL of a key. A literal is cast, so that Spark does not read it as a position."""
    return f"CAST({value.sql} AS {value.spark})" if is_literal_key(value) else value.sql
