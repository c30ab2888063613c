"""ORDER BY keys: NULLs last and NaN before them, whatever the direction, as in ClickHouse.

In: Ordered nodes. Out: Spark SQL sort keys. Called by the order pass and windows. Invariant: NULLS
FIRST is kept where it is written; what the two engines order differently is refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.sort_order import ORDER_HINT as KEPT_HINT
from penstock.sql.expr.sort_order import contains_stored_as_text, order_key
from penstock.sql.expr.typed import Typed


def order_keys(tr: Translator, nodes: list[exp.Expr]) -> list[str]:
    """The keys of an ORDER BY."""
    return [key for node in nodes for value in sort_values(tr, node, node.this) for key in sort_keys(value, node)]


def sort_values(tr: Translator, ordered: exp.Expr, node: exp.Expr) -> list[Typed]:
    """The values of one key: a tuple that is written out is ordered by its parts."""
    if isinstance(node, exp.Tuple):
        return [value for part in node.expressions for value in sort_values(tr, ordered, part)]
    if isinstance(node, exp.Collate):
        raise tr.refused(node, "unsupported-clause", "COLLATE is not supported", "ORDER BY sorts by bytes")
    value = tr.translate(node)
    check_orderable(tr, node, value)
    _check_nested_order(tr, ordered, value)
    return [value]


def check_orderable(tr: Translator, node: exp.Expr, value: Typed) -> None:
    """Raises Refused for what Spark has no order of."""
    if any(isinstance(part, (t.Map, t.AggregateFunction)) for part in (value.bare, *_nested_types(value.bare))):
        message = f"{value.type} cannot be ordered or partitioned by"
        raise tr.refused(node, "wrong-argument-type", message, "mapKeys(…), mapValues(…) or toString(…) can")


def check_hashable(tr: Translator, node: exp.Expr, value: Typed) -> None:
    """Raises Refused for what rows cannot be told apart by: Spark takes maps of another order for equal, or none."""
    if any(isinstance(part, (t.Map, t.AggregateFunction, t.Json)) for part in (value.bare, *_nested_types(value.bare))):
        message = f"rows cannot be told apart by {value.type}"
        hint = "mapKeys(…), mapValues(…) or toString(…) of it can be used"
        raise tr.refused(node, "wrong-argument-type", message, hint)


def _check_nested_order(tr: Translator, ordered: exp.Expr, value: Typed) -> None:
    """Inside of an array or a tuple Spark has NULL first and NaN last when ascending, ClickHouse has both last,
    whatever the direction."""
    descending = bool(ordered.args.get("desc"))
    if contains_stored_as_text(value.type):
        message = f"the order of {value.type} is not supported"
        raise tr.refused(ordered, "wrong-argument-type", message, KEPT_HINT)
    for part in _nested_types(value.bare):
        if (is_nullable(part) and not descending) or (isinstance(unwrap_type(part), t.Float) and descending):
            message = f"the order of {value.type} differs where it holds NULL or NaN"
            raise tr.refused(ordered, "wrong-argument-type", message, "sort by its parts")


def _nested_types(of: Type) -> Iterator[Type]:
    """The types inside of an array or a tuple, at any depth."""
    inner = [of.of] if isinstance(of, t.Array) else [each for _, each in of.fields] if isinstance(of, t.Tuple) else []
    for each in inner:
        yield each
        yield from _nested_types(unwrap_type(each))


def sort_keys(value: Typed, node: exp.Expr) -> list[str]:
    """One key; two where NaN must be put in its place."""
    descending, nulls_first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    direction = "DESC" if descending else "ASC"
    # Spark's own place for NULLs is kept where none can be: then a sort that a window or a join needed serves too.
    nulls = f" NULLS {'FIRST' if nulls_first else 'LAST'}" if value.nullable else ""
    key = f"{order_key(value.type, value.sql)} {direction}{nulls}"
    if isinstance(value.bare, t.Float) and value.constant is None and descending != nulls_first:
        rank = f"CASE WHEN {value.sql} IS NULL THEN 2 WHEN isnan({value.sql}) THEN 1 ELSE 0 END"
        return [f"{rank} {'ASC' if descending else 'DESC'}", key]
    return [key]
