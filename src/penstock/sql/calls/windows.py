"""Window functions, and aggregate functions over a window.

`translate_window` takes a call with OVER; `WINDOW_FUNCTIONS` are the functions that need OVER: ranks, offsets, values
of a frame. Invariant: an aggregate whose Spark form takes no OVER is refused; a row outside of the frame reads as
the default of the type, as in ClickHouse, not as NULL. Without a frame clause, ClickHouse and Spark use the same one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from sqlglot import exp

from penstock.errors import near_names_hint
from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.calls.aggregate_calls import aggregate_call
from penstock.sql.calls.window_frames import UNBOUNDED, OverClause, WindowFrame, read_over_clause
from penstock.sql.compiler.constants import known_integer
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.kept_digits import keep_digits
from penstock.sql.expr.spark_types import missing_value, value_default, value_type
from penstock.sql.expr.typed import TypedSql, as_spark
from penstock.sql.syntax.tree import call_name, call_parts

__all__ = ["WINDOW_FUNCTIONS", "find_window_function", "translate_window"]

_SKIP_NULLS = ("any", "anyLast", "first_value", "last_value", "lag", "lead")
"""Functions that Spark would let ignore NULLs. All but lag and lead do so in ClickHouse anyway; for those two
ClickHouse accepts IGNORE NULLS without any effect, so it is refused."""
WindowFunction: TypeAlias = Callable[[Translator, exp.Expr, OverClause], TypedSql]
_UINT64 = t.Int(64, signed=False)
_ALL_PEERS = WindowFrame("RANGE", -UNBOUNDED, UNBOUNDED)
_ALL_ROWS = WindowFrame("ROWS", -UNBOUNDED, UNBOUNDED)
_DEFAULT = WindowFrame("RANGE", -UNBOUNDED, 0)


def translate_window(tr: Translator, node: exp.Expr) -> TypedSql:
    """A call with OVER. Raises Refused."""
    wrapper = node.this
    call = wrapper.this if isinstance(wrapper, (exp.IgnoreNulls, exp.RespectNulls)) else wrapper
    name = call_name(call)
    if name is None:
        raise tr.refusal(node, "unsupported-syntax", "only a function can have OVER")
    if tr.place != "select":
        raise tr.refusal(node, "misplaced-window", f"the window function `{name}` is not allowed here")
    if isinstance(wrapper, exp.IgnoreNulls) and name not in _SKIP_NULLS[:4]:
        raise tr.refusal(node, "unsupported-syntax", f"IGNORE NULLS of `{name}` is not supported")
    tr.trace.windows += 1
    over = read_over_clause(tr.at("window"), node)
    if isinstance(wrapper, exp.RespectNulls):
        return _value_respecting_nulls(tr.at("window"), call, over)
    own = find_window_function(name)
    if own is not None:
        return own(tr.at("window"), call, over)
    return _aggregate_over(tr, call, over)


def _aggregate_over(tr: Translator, call: exp.Expr, over: OverClause) -> TypedSql:
    name = call_name(call) or ""
    aggregate = parse_aggregate_name(name)
    if aggregate is None or aggregate.form not in ("plain", "State", "Merge") or not isinstance(call, exp.Anonymous):
        known = list(WINDOW_FUNCTIONS)
        raise tr.refusal(call, "unknown-function", f"`{name}` is not a window function", near_names_hint(name, known))
    value = aggregate_call(tr, call, aggregate, over.sql)
    if over.sql not in value.sql or "(DISTINCT " in value.sql:
        raise tr.refusal(call, "unsupported-frame", f"`{name}` is not supported with OVER")
    return value


def _row_number(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
    _read_arguments(tr, node, 0, 0)
    return TypedSql(f"row_number(){over.without_frame}", _UINT64, "INT")


def _rank_form(spark_name: str) -> WindowFunction:
    def build(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
        _read_arguments(tr, node, 0, 0)
        if over.frame is not None and over.frame.kind != "RANGE":
            raise _refused_frame(tr, node, "no frame, or one in RANGE")
        return TypedSql(f"{spark_name}(){over.without_frame}" if over.ordered else "CAST(1 AS INT)", _UINT64, "INT")

    return build


def _relative_rank_form(spark_name: str, alone: int) -> WindowFunction:
    """percent_rank and cume_dist; `alone` is the value without an ORDER BY."""

    def build(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
        _read_arguments(tr, node, 0, 0)
        if over.frame not in (None, _ALL_PEERS):
            raise _refused_frame(tr, node, "no frame")
        sql = f"{spark_name}(){over.without_frame}" if over.ordered else f"CAST({alone} AS DOUBLE)"
        return TypedSql(sql, t.Float(64), "DOUBLE")

    return build


def _ntile(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
    (given,) = _read_arguments(tr, node, 1, 1)
    if over.frame not in (None, _ALL_ROWS):
        raise _refused_frame(tr, node, "no frame")
    buckets = _literal_number(tr, node, given, 1)
    return TypedSql(f"ntile({buckets}){over.without_frame}", _UINT64, "INT")


def _offset_form(spark_name: str) -> WindowFunction:
    """lag and lead: over the whole partition, so without a frame."""

    def build(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
        if over.frame is not None:
            raise _refused_frame(tr, node, "no frame")
        return _offset_value(tr, node, over, spark_name, "")

    return build


def _offset_in_frame_form(spark_name: str) -> WindowFunction:
    def build(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
        arguments = _read_arguments(tr, node, 1, 3)
        distance = _literal_number(tr, node, arguments[1], 0) if len(arguments) > 1 else 1
        frame = over.frame or _DEFAULT
        place = -distance if spark_name == "lag" else distance
        if frame.kind == "ROWS":
            inside = "" if frame.start <= place <= frame.end else "false"
        elif frame.start <= place <= frame.end and not frame.offsets:
            inside = ""
        elif frame == _DEFAULT:
            # Of the rows that follow, the default frame has only the peers of the current row.
            inside = f"row_number(){over.without_frame} + {distance} <= count(1){over.sql}"
        else:
            raise _refused_frame(tr, node, "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
        return _offset_value(tr, node, over, spark_name, inside)

    return build


def _offset_value(tr: Translator, node: exp.Expr, over: OverClause, spark_name: str, inside: str) -> TypedSql:
    """The value of another row.

    `inside` is the Spark condition that the row is in the frame: empty if it always is, "false" if it never is.
    """
    arguments = _read_arguments(tr, node, 1, 3)
    value = tr.translate(arguments[0])
    of = keep_digits(value).type
    distance = _literal_number(tr, node, arguments[1], 0) if len(arguments) > 1 else 1
    default = _default_value(tr, arguments[2], of) if len(arguments) > 2 else missing_value(of)
    spark = value_type(unwrap_type(of))
    if inside == "false":
        return TypedSql(default, value.type, spark)
    sql = f"{spark_name}(CAST({value.sql} AS {value_type(of)}), {distance}, {default}){over.without_frame}"
    return TypedSql(f"if({inside}, {sql}, {default})" if inside else sql, value.type, spark)


def _default_value(tr: Translator, node: exp.Expr, of: Type) -> str:
    """The default argument. Raises Refused if it would change the type of the result."""
    value = tr.translate(node)
    plain = of.of if isinstance(of, t.LowCardinality) else of
    if supertype([plain, value.type]) != plain:
        message = f"the default must be {plain}, this is {value.type}"
        raise tr.refusal(node, "wrong-argument-type", message, "cast it to the type of the first argument")
    return as_common_type(value, of)


def _nth_value(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
    first, second = _read_arguments(tr, node, 2, 2)
    place = _literal_number(tr, node, second, 1)
    value = tr.translate(first)
    kept = keep_digits(value)
    spark = value_type(kept.bare)
    sql = f"nth_value({as_spark(value, spark)}, {place}){over.sql}"
    sql = f"if(count(1){over.sql} >= {place}, {sql}, {missing_value(kept.type)})"
    return TypedSql(sql, value.type, spark)


def _value_respecting_nulls(tr: Translator, node: exp.Expr, over: OverClause) -> TypedSql:
    """first_value and last_value with RESPECT NULLS."""
    name = {"any": "first_value", "anyLast": "last_value"}.get(call_name(node) or "", call_name(node))
    if name not in ("first_value", "last_value"):
        raise tr.refusal(node, "unsupported-syntax", f"RESPECT NULLS of `{name}` is not supported")
    (given,) = _read_arguments(tr, node, 1, 1)
    value = tr.translate(given)
    kept = keep_digits(value)
    spark = value_type(kept.bare)
    sql = f"{name}({as_spark(value, spark)}){over.sql}"
    return TypedSql(f"if(count(1){over.sql} = 0, {value_default(kept.type)}, {sql})", value.type, spark)


def _read_arguments(tr: Translator, node: exp.Expr, low: int, high: int) -> list[exp.Expr]:
    parameters, arguments = call_parts(node)
    if parameters or not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        message = f"`{call_name(node)}` takes {expected} arguments, {len(arguments)} are given"
        raise tr.refusal(node, "wrong-argument-count", message)
    return arguments


def _literal_number(tr: Translator, node: exp.Expr, given: exp.Expr, least: int) -> int:
    number = known_integer(tr, given)
    if number is None or not least <= number < 2**31:
        message = f"`{call_name(node)}` needs a literal number from {least} here"
        raise tr.refusal(given, "wrong-argument-type", message)
    return number


def _refused_frame(tr: Translator, node: exp.Expr, hint: str) -> Exception:
    return tr.refusal(node, "unsupported-frame", f"`{call_name(node)}` is not supported with this frame", hint)


WINDOW_FUNCTIONS: Mapping[str, WindowFunction] = {
    "row_number": _row_number,
    "rank": _rank_form("rank"),
    "dense_rank": _rank_form("dense_rank"),
    "denseRank": _rank_form("dense_rank"),
    "percent_rank": _relative_rank_form("percent_rank", 0),
    "percentRank": _relative_rank_form("percent_rank", 0),
    "cume_dist": _relative_rank_form("cume_dist", 1),
    "ntile": _ntile,
    "lag": _offset_form("lag"),
    "lead": _offset_form("lead"),
    "lagInFrame": _offset_in_frame_form("lag"),
    "leadInFrame": _offset_in_frame_form("lead"),
    "nth_value": _nth_value,
}
_ANY_CASE = ("row_number", "rank", "dense_rank", "percent_rank", "ntile", "lag", "lead", "nth_value")
"""Names that ClickHouse takes in upper and lower case."""


def find_window_function(name: str) -> WindowFunction | None:
    """The function of a name, None if there is none."""
    return WINDOW_FUNCTIONS.get(name.lower() if name.lower() in _ANY_CASE else name)
