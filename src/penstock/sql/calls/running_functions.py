"""runningDifference, neighbor and runningAccumulate: functions of the rows before and after in the order of a subquery.

`RUNNING_FORMS` maps each name to its `SpecialForm`. Invariant: the SELECT has FROM (a subquery with ORDER BY) and WHERE
and no other clause, or the call is refused: only then is the order of the rows known. ClickHouse starts over with each
block of rows, whose size is internal to it; here all rows are one block.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import unwrap_type
from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.calls.aggregate_calls import aggregate_call
from penstock.sql.compiler.translator import SpecialForm, Translator, call_arguments
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.overflow import lowest_64_bits
from penstock.sql.expr.spark_types import value_default, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.syntax.tree import call_name

_SETTING = "allow_deprecated_error_prone_window_functions"
_ROW_ORDER = "(ORDER BY monotonically_increasing_id())"
"""The order that the subquery's ORDER BY left: ids grow from partition to partition, and those are in that order."""
_SO_FAR = f" OVER {_ROW_ORDER[:-1]} ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)"
_ALLOWED_CLAUSES = ("expressions", "from_", "where", "settings", "with_")
"""Clauses that keep the order of the rows. LIMIT is none: ClickHouse applies it before these functions."""
_FARTHEST = 2**31 - 1


def _check_row_order(tr: Translator, node: exp.Anonymous, instead: str) -> None:
    """Raises Refused unless the order of the rows is known and the setting that allows the function is on; `instead` is
    the hint."""
    name = call_name(node)
    select = node.find_ancestor(exp.Select)
    from_ = select.args.get("from_") if select is not None else None
    if tr.place != "select" or tr.locals or select is None or from_ is None or not _is_ordered(from_.this):
        message = f"`{name}` needs rows in an order: a FROM with a subquery that ends with ORDER BY"
        raise tr.refusal(node, "misplaced-window", message, instead)
    if any(value for key, value in select.args.items() if key not in _ALLOWED_CLAUSES) or _changes_rows(select):
        message = f"`{name}` is supported in a SELECT with FROM and WHERE only"
        raise tr.refusal(node, "misplaced-window", message, instead)
    if _is_limited_outside(select.parent):
        message = f"`{name}` is not supported where a SELECT around has ORDER BY or LIMIT"
        raise tr.refusal(node, "misplaced-window", message, instead)
    if not _has_setting(node):
        message = f"`{name}` is deprecated: ClickHouse refuses it without SETTINGS {_SETTING} = 1"
        raise tr.refusal(node, "misplaced-window", message, instead)


def _is_ordered(source: object) -> bool:
    """Whether a FROM is a subquery with ORDER BY (without WITH FILL and WITH TOTALS, which add rows)."""
    if not isinstance(source, exp.Subquery) or not isinstance(source.this, exp.Select):
        return False
    inner = source.this
    group = inner.args.get("group")
    order = inner.args.get("order")
    plain = not source.args.get("joins") and not (group is not None and group.args.get("totals"))
    return plain and order is not None and order.find(exp.WithFill) is None


def _changes_rows(select: exp.Select) -> bool:
    """Whether the select list changes the number or order of rows: arrayJoin, or a window."""
    return any(
        isinstance(each, exp.Window) or call_name(each) == "arrayJoin"
        for item in select.expressions
        for each in item.find_all(exp.Window, exp.Anonymous, exp.Explode)
    )


def _is_limited_outside(around: exp.Expr | None) -> bool:
    """Whether a SELECT around has ORDER BY or LIMIT: ClickHouse may apply them before these functions see the rows."""
    while around is not None:
        if isinstance(around, exp.Query) and any(around.args.get(key) for key in ("order", "limit", "offset")):
            return True
        around = around.parent
    return False


def _has_setting(node: exp.Expr) -> bool:
    """Whether this SELECT or one around it sets the setting that allows these functions."""
    around: exp.Expr | None = node
    while around is not None:
        if any(_is_enabling_setting(setting) for setting in around.args.get("settings") or ()):
            return True
        around = around.parent
    return False


def _is_enabling_setting(setting: exp.Expr) -> bool:
    value = setting.expression if isinstance(setting, exp.EQ) else None
    return isinstance(setting, exp.EQ) and setting.this.name == _SETTING and value is not None and value.name == "1"


def _row_value(tr: Translator, node: exp.Expr) -> TypedSql:
    """The value of an argument in each row. Raises Refused for an aggregate or an interval."""
    before = tr.trace.aggregates
    tr.trace.windows += 1
    value = tr.at("window").translate(node)
    if tr.trace.aggregates != before or value.unit:
        message = "expected a value of each row, not an aggregate or an interval"
        raise tr.refusal(node, "misplaced-window", message, "a subquery")
    return value


def _difference_form(first: str) -> SpecialForm:
    """The difference to the last value that is not NULL.

    `first` says what the first row gets: zero (empty) or its own value.
    """

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        (argument,) = call_arguments(tr, node, 1, 1)
        _check_row_order(tr, node, "x - lagInFrame(x, 1, x) OVER (ORDER BY …)")
        value = _row_value(tr, argument)
        wide = _numeric_value(value)
        if wide is None:
            message = f"`{call_name(node)}` of {value.type} is not supported"
            raise tr.refusal(node, "wrong-argument-type", message, "numbers, Date and DateTime are")
        number, spark, of = wide
        last = f"lag({number}) IGNORE NULLS OVER {_ROW_ORDER}"
        missing = "CAST(0 AS {0})" if not first else "{1}"
        missing = missing.format(spark, number)
        difference = f"({number} - {last})"
        if spark == "DECIMAL(20,0)":
            difference, missing = lowest_64_bits(difference), lowest_64_bits(missing)
        sql = f"CASE WHEN {last} IS NOT NULL THEN {difference} WHEN {number} IS NOT NULL THEN {missing} END"
        return typed_sql(f"CAST({sql} AS {value_type(of)})", nullable_if_any(of, [value]))

    return form


def _numeric_value(value: TypedSql) -> tuple[str, str, t.Type] | None:
    """A value as a number wide enough for differences, its Spark type, and the type of the result; None if
    unsupported."""
    match value.bare:
        case t.Int(64) | t.Int(64, signed=False):
            return as_spark(value, "DECIMAL(20,0)"), "DECIMAL(20,0)", t.Int(64)
        case t.Int(bits):
            return as_spark(value, "BIGINT"), "BIGINT", t.Int(min(2 * bits, 64))
        case t.Bool():
            return as_spark(value, "BIGINT"), "BIGINT", t.Int(16)
        case t.Float():
            return as_spark(value, "DOUBLE"), "DOUBLE", t.Float(64)
        case t.Date(wide=False):
            return f"CAST(unix_date({value.sql}) AS BIGINT)", "BIGINT", t.Int(32)
        case t.DateTime():
            return f"unix_seconds({value.sql})", "BIGINT", t.Int(64)
        case _:
            return None


def _neighbor(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """neighbor(x, n[, default]): the value n rows later, or earlier if n is negative."""
    arguments = call_arguments(tr, node, 2, 3)
    _check_row_order(
        tr, node, "leadInFrame(x, n) OVER (ORDER BY … ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)"
    )
    value, distance = _row_value(tr, arguments[0]), tr.translate(arguments[1]).constant
    if not isinstance(distance, int) or isinstance(distance, bool) or abs(distance) > _FARTHEST:
        message = "the distance of `neighbor` must be a literal whole number"
        raise tr.refusal(arguments[1], "wrong-argument-type", message, "leadInFrame")
    of, default = value.type, value_default(value.type)
    if len(arguments) == 3:
        other = _row_value(tr, arguments[2])
        joint = supertype([value.type, other.type])
        if joint is None or isinstance(unwrap_type(joint), (t.Array, t.Map, t.Tuple)):
            message = f"`neighbor` of {value.type} with a default of {other.type} is not supported"
            raise tr.refusal(node, "wrong-argument-type", message, "cast one of them")
        of, default = joint, as_common_type(other, joint)
    here = as_common_type(value, of)
    if distance == 0:
        return typed_sql(here, of)
    function = "lead" if distance > 0 else "lag"
    return typed_sql(f"{function}({here}, {abs(distance)}, {default}) OVER {_ROW_ORDER}", of)


def _running_accumulate(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """runningAccumulate(state): the merged states of all rows so far."""
    (argument,) = call_arguments(tr, node, 1, 1)
    _check_row_order(tr, node, "…Merge(state) OVER (ORDER BY …)")
    of = _row_value(tr, argument).bare
    merge = (
        parse_aggregate_name(f"{of.function}Merge")
        if isinstance(of, t.AggregateFunction) and not of.parameters
        else None
    )
    if merge is None or not isinstance(of, t.AggregateFunction):
        raise tr.refusal(node, "wrong-argument-type", f"`runningAccumulate` of {of} is not supported", "sumState(…)")
    call = exp.Anonymous(this=f"{of.function}Merge", expressions=[argument])
    call.parent = node.parent
    value = aggregate_call(tr, call, merge, _SO_FAR)
    if _SO_FAR not in value.sql:
        raise tr.refusal(node, "wrong-argument-type", f"`runningAccumulate` of {of} is not supported", "sumState(…)")
    return value


RUNNING_FORMS: Mapping[str, SpecialForm] = {
    "runningDifference": _difference_form(""),
    "runningDifferenceStartingWithFirstValue": _difference_form("itself"),
    "neighbor": _neighbor,
    "runningAccumulate": _running_accumulate,
}
