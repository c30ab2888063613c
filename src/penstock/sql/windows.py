"""Window functions and aggregates over a window.

In: Window nodes. Out: `Typed`. Called through HANDLERS. Invariant: a frame is written as given; the
default frame is the same in ClickHouse and Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.model.types import bare
from penstock.sql.aggregate_calls import aggregate_call
from penstock.sql.aggregates.combinators import called
from penstock.sql.ordering import order_keys
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed
from penstock.sql.value_types import value_type, value_zero

_UINT64 = t.Int(64, signed=False)
_ALL_ROWS = ("UNBOUNDED PRECEDING", "UNBOUNDED FOLLOWING")


@dataclass(frozen=True, slots=True)
class Over:
    """The text of an OVER clause and its frame, if one is written."""

    sql: str
    frame: tuple[str, str] | None
    without_frame: str


def window(tr: Translator, node: exp.Expr) -> Typed:
    call = node.this
    name = call_name(call)
    if name is None:
        raise tr.refused(node, "unsupported-syntax", "only a function can have OVER")
    if tr.place != "select":
        raise tr.refused(node, "misplaced-window", f"the window function `{name}` is not allowed here")
    tr.trace.windows += 1
    over = _over(tr.at("window"), node)
    if name in WINDOW_FUNCTIONS:
        return WINDOW_FUNCTIONS[name](tr.at("window"), call, over)
    aggregate = called(name)
    if aggregate is None or aggregate.form != "plain":
        known = list(WINDOW_FUNCTIONS)
        raise tr.refused(call, "unknown-function", f"`{name}` is no window function", did_you_mean(name, known))
    return aggregate_call(tr, call, aggregate, over.sql)


def _over(tr: Translator, node: exp.Expr) -> Over:
    window_node = node
    alias = node.args.get("alias")
    if alias is not None:
        if alias.name not in tr.scope.windows:
            hint = did_you_mean(alias.name, tr.scope.windows)
            raise tr.refused(alias, "unknown-window", f"unknown window `{alias.name}`", hint)
        window_node = tr.scope.windows[alias.name]
    parts = []
    keys = [tr.translate(each).sql for each in window_node.args.get("partition_by") or []]
    if keys:
        parts.append(f"PARTITION BY {', '.join(keys)}")
    order = window_node.args.get("order")
    if order is not None:
        parts.append(f"ORDER BY {', '.join(order_keys(tr, order.expressions))}")
    without = f" OVER ({' '.join(parts)})"
    frame, sql = _frame(tr, window_node)
    return Over(f" OVER ({' '.join([*parts, sql] if sql else parts)})", frame, without)


def _frame(tr: Translator, node: exp.Expr) -> tuple[tuple[str, str] | None, str]:
    spec = node.args.get("spec")
    if spec is None:
        return None, ""
    kind = str(spec.args.get("kind", "")).upper()
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude"):
        raise tr.refused(node, "unsupported-syntax", "only frames in ROWS or RANGE are supported")
    start = _bound(tr, spec.args.get("start"), spec.args.get("start_side"))
    end = _bound(tr, spec.args.get("end"), spec.args.get("end_side")) if spec.args.get("end") else "CURRENT ROW"
    return (start, end), f"{kind} BETWEEN {start} AND {end}"


def _bound(tr: Translator, bound: object, side: object) -> str:
    number = tr.translate(bound).sql if isinstance(bound, exp.Expr) else str(bound)
    return f"{number} {side}".upper() if side else number.upper()


def _ranking(spark_name: str, of: t.Type, spark: str) -> Callable[[Translator, exp.Expr, Over], Typed]:
    def build(tr: Translator, node: exp.Expr, over: Over) -> Typed:
        values = tr.all(list(node.expressions))
        return Typed(f"{spark_name}({', '.join(value.sql for value in values)}){over.without_frame}", of, spark)

    return build


def _neighbour(spark_name: str, frame: Literal["any", "whole"]) -> Callable[[Translator, exp.Expr, Over], Typed]:
    """lag and lead; the forms …InFrame only where the frame does not cut them off."""

    def build(tr: Translator, node: exp.Expr, over: Over) -> Typed:
        _, arguments = call_parts(node) if isinstance(node, exp.Anonymous) else ([], [])
        values = tr.all(arguments)
        wanted = (spark_name == "lag" and over.frame is None) or over.frame == _ALL_ROWS
        if not 1 <= len(values) <= 3 or (frame == "whole" and not wanted):
            message = f"`{call_name(node)}` is supported over all rows of its partition only"
            hint = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
            raise tr.refused(node, "unsupported-frame", message, hint)
        of = values[0].type
        offset = values[1].sql if len(values) > 1 else "1"
        default = f"CAST({values[2].sql} AS {value_type(of)})" if len(values) > 2 else value_zero(of)
        value = f"CAST({values[0].sql} AS {value_type(of)})"
        return Typed(f"{spark_name}({value}, {offset}, {default}){over.without_frame}", of, value_type(bare(of)))

    return build


WINDOW_FUNCTIONS: Mapping[str, Callable[[Translator, exp.Expr, Over], Typed]] = {
    "row_number": _ranking("row_number", _UINT64, "INT"),
    "rank": _ranking("rank", _UINT64, "INT"),
    "dense_rank": _ranking("dense_rank", _UINT64, "INT"),
    "percent_rank": _ranking("percent_rank", t.Float(64), "DOUBLE"),
    "ntile": _ranking("ntile", _UINT64, "INT"),
    "lag": _neighbour("lag", "any"),
    "lead": _neighbour("lead", "any"),
    "lagInFrame": _neighbour("lag", "whole"),
    "leadInFrame": _neighbour("lead", "whole"),
}
