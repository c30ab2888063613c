"""ORDER BY keys. ClickHouse puts NULL last and NaN before it, whatever the direction.

In: nodes of ORDER BY keys. Out: Spark SQL sort keys. Invariant: a written NULLS FIRST is kept; values that the two
engines order differently are refused.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.json_documents import DYNAMIC_HINT, is_json
from penstock.sql.expr.sort_order import ORDER_HINT, contains_stored_as_text, nested_key, order_key
from penstock.sql.expr.typed import TypedSql


def order_keys(tr: Translator, nodes: list[exp.Expr]) -> list[str]:
    """The Spark sort keys of an ORDER BY."""
    return [key for node in nodes for value in sort_values(tr, node, node.this) for key in sort_keys(value, node)]


def sort_values(tr: Translator, ordered: exp.Expr, node: exp.Expr) -> list[TypedSql]:
    """The values of one key: a tuple that is written out is ordered by its elements. Raises Refused."""
    if isinstance(node, exp.Tuple):
        return [value for part in node.expressions for value in sort_values(tr, ordered, part)]
    if isinstance(node, exp.Collate):
        raise tr.refusal(node, "unsupported-clause", "COLLATE is not supported", "ORDER BY sorts by bytes")
    value = tr.translate(node)
    check_orderable(tr, node, value)
    if contains_stored_as_text(value.type):
        message = f"the order of {value.type} is not supported"
        raise tr.refusal(ordered, "wrong-argument-type", message, ORDER_HINT)
    return [value]


def check_orderable(tr: Translator, node: exp.Expr, value: TypedSql) -> None:
    """Raises Refused for types that Spark cannot order."""
    if _has_part(value, (t.Map, t.AggregateFunction, t.Json, t.Dynamic)):
        message = f"{value.type} cannot be ordered or partitioned by"
        raise tr.refusal(node, "wrong-argument-type", message, _hint_for(value))


def check_hashable(tr: Translator, node: exp.Expr, value: TypedSql) -> None:
    """Raises Refused for types by which rows cannot be grouped or made distinct: Spark compares maps by the order of
    their entries, or not at all."""
    if _has_part(value, (t.Map, t.AggregateFunction, t.Dynamic)):
        message = f"rows cannot be compared by {value.type}"
        raise tr.refusal(node, "wrong-argument-type", message, _hint_for(value))


def check_distinguishable(tr: Translator, node: exp.Expr, value: TypedSql) -> None:
    """Raises Refused for types by which rows cannot be made distinct. ClickHouse groups by no Dynamic, but tells its
    values apart; those of documents are equal as Spark has them."""
    if not (isinstance(value.bare, t.Dynamic) and not value.bare.also):
        check_hashable(tr, node, value)


def _has_part(value: TypedSql, kinds: tuple[type[Type], ...]) -> bool:
    return any(isinstance(part, kinds) for part in (value.bare, *_nested_types(value.bare)))


def _hint_for(value: TypedSql) -> str:
    if isinstance(value.bare, t.Dynamic):
        return DYNAMIC_HINT
    if isinstance(value.bare, t.AggregateFunction):
        return f"use {value.bare.function}Merge(…) or finalizeAggregation(…): a state has no order"
    return "use toString(…) of it" if is_json(value.type) else "use mapKeys(…), mapValues(…) or toString(…) of it"


def _nested_types(of: Type) -> Iterator[Type]:
    """The types inside an array or a tuple, at any depth."""
    inner = [of.of] if isinstance(of, t.Array) else [each for _, each in of.fields] if isinstance(of, t.Tuple) else []
    for each in inner:
        yield each
        yield from _nested_types(unwrap_type(each))


def sort_keys(value: TypedSql, node: exp.Expr) -> list[str]:
    """One Spark sort key; two where NaN must be put in its place."""
    descending, nulls_first = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
    direction = "DESC" if descending else "ASC"
    # Without NULLs the key is plain, so that Spark can reuse the sort of a window or a join.
    nulls = f" NULLS {'FIRST' if nulls_first else 'LAST'}" if value.nullable else ""
    if isinstance(value.bare, (t.Array, t.Tuple)):
        key = nested_key(value.type, value.sql, "least" if descending != nulls_first else "greatest")
        return [f"{key} {direction}"]
    key = f"{order_key(value.type, value.sql)} {direction}{nulls}"
    if isinstance(value.bare, t.Float) and value.constant is None and descending != nulls_first:
        rank = f"CASE WHEN {value.sql} IS NULL THEN 2 WHEN isnan({value.sql}) THEN 1 ELSE 0 END"
        return [f"{rank} {'ASC' if descending else 'DESC'}", key]
    return [key]
