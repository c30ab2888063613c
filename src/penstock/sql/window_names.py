"""The name ClickHouse gives to a column that is a window function: `sum(x) OVER (ORDER BY id ASC)`.

In: a Window node and what writes an expression. Out: a name. Called by column_names. Invariant: keys have their
direction written out, frames both bounds.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

Shown = Callable[[exp.Expr], str]


def window_name(node: exp.Expr, shown: Shown) -> str:
    """The call with its OVER."""
    alias, order, spec = (node.args.get(each) for each in ("alias", "order", "spec"))
    partition = node.args.get("partition_by") or []
    if alias is not None and not partition and order is None and spec is None:
        return f"{shown(node.this)} OVER {alias.name}"
    parts = [alias.name] if alias is not None else []
    if partition:
        parts.append(f"PARTITION BY {', '.join(map(shown, partition))}")
    if order is not None:
        parts.append(f"ORDER BY {', '.join(_key(each, shown) for each in order.expressions)}")
    if spec is not None:
        parts.append(_frame(spec, shown))
    return f"{shown(node.this)} OVER ({' '.join(parts)})"


def _key(node: exp.Expr, shown: Shown) -> str:
    direction = "DESC" if node.args.get("desc") else "ASC"
    return f"{shown(node.this)} {direction}{' NULLS FIRST' if node.args.get('nulls_first') else ''}"


def _frame(spec: exp.Expr, shown: Shown) -> str:
    start = _bound(spec.args.get("start"), spec.args.get("start_side"), shown)
    end = _bound(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), shown)
    return f"{spec.args.get('kind')} BETWEEN {start} AND {end}".upper()


def _bound(bound: object, side: object, shown: Shown) -> str:
    number = shown(bound) if isinstance(bound, exp.Expr) else str(bound)
    return f"{number} {side}" if side else number
