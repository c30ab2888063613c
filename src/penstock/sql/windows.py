"""Window functions and aggregates over a window.

In: Window nodes. Out: `Typed`. Called through HANDLERS. Invariant: an aggregate whose Spark form takes no OVER is
refused; the default frame is the same in ClickHouse and Spark.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.aggregate_calls import aggregate_call
from penstock.sql.aggregates.combinators import called
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name
from penstock.sql.typed import Typed
from penstock.sql.window_frames import Over, over_of
from penstock.sql.window_functions import WINDOW_FUNCTIONS, respecting_nulls

__all__ = ["WINDOW_FUNCTIONS", "window"]

_SKIP_NULLS = ("any", "anyLast", "first_value", "last_value", "lag", "lead")
"""IGNORE NULLS is what they do; of lag and lead it changes nothing in ClickHouse, so it is refused."""


def window(tr: Translator, node: exp.Expr) -> Typed:
    wrapper = node.this
    call = wrapper.this if isinstance(wrapper, (exp.IgnoreNulls, exp.RespectNulls)) else wrapper
    name = call_name(call)
    if name is None:
        raise tr.refused(node, "unsupported-syntax", "only a function can have OVER")
    if tr.place != "select":
        raise tr.refused(node, "misplaced-window", f"the window function `{name}` is not allowed here")
    if isinstance(wrapper, exp.IgnoreNulls) and name not in _SKIP_NULLS[:4]:
        raise tr.refused(node, "unsupported-syntax", f"IGNORE NULLS of `{name}` is not supported")
    tr.trace.windows += 1
    over = over_of(tr.at("window"), node)
    if isinstance(wrapper, exp.RespectNulls):
        return respecting_nulls(tr.at("window"), call, over)
    if name in WINDOW_FUNCTIONS:
        return WINDOW_FUNCTIONS[name](tr.at("window"), call, over)
    return _aggregate(tr, call, over)


def _aggregate(tr: Translator, call: exp.Expr, over: Over) -> Typed:
    name = call_name(call) or ""
    aggregate = called(name)
    if aggregate is None or aggregate.form != "plain" or not isinstance(call, exp.Anonymous):
        known = list(WINDOW_FUNCTIONS)
        raise tr.refused(call, "unknown-function", f"`{name}` is no window function", did_you_mean(name, known))
    value = aggregate_call(tr, call, aggregate, over.sql)
    if over.sql not in value.sql or "(DISTINCT " in value.sql:
        raise tr.refused(call, "unsupported-frame", f"`{name}` is not supported with OVER")
    return value
