"""ORDER BY keys: NULLs last and NaN before them, whatever the direction, as in ClickHouse.

In: Ordered nodes. Out: Spark SQL sort keys. Called by the order pass and windows. Invariant: NULLS
FIRST is kept where it is written.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed


def order_keys(tr: Translator, nodes: list[exp.Expr]) -> list[str]:
    """The keys of an ORDER BY."""
    return [key for node in nodes for key in sort_keys(tr.translate(node.this), node)]


def sort_keys(value: Typed, node: exp.Expr) -> list[str]:
    """One key; two where NaN must be put in its place."""
    descending, nulls_first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    direction = "DESC" if descending else "ASC"
    key = f"{value.sql} {direction} NULLS {'FIRST' if nulls_first else 'LAST'}"
    if isinstance(value.bare, t.Float) and value.constant is None and descending != nulls_first:
        rank = f"CASE WHEN {value.sql} IS NULL THEN 2 WHEN isnan({value.sql}) THEN 1 ELSE 0 END"
        return [f"{rank} {'ASC' if descending else 'DESC'}", key]
    return [key]
