"""AND, OR, NOT, xor, IS NULL, and the choice of a value by conditions: `? :`, if and multiIf; CASE is beside.

In: nodes, or values. Out: a Spark boolean that ClickHouse calls UInt8 (Bool where an operand is), or a value of the
common type of the branches. Invariant: conditions are numbers; Spark is given one type in all branches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.compiler.translator import Translator, refuse_intervals
from penstock.sql.expr.common_type import supertype, value_supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.kept_digits import with_kept_digits
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import (
    NEVER,
    NULL,
    TypedSql,
    as_condition,
    boolean,
    is_null,
    null_test,
    nullable_if_any,
)
from penstock.sql.operators.dynamic_values import all_dynamic, fixed_result, is_dynamic_value

_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)
_CONDITIONS = (t.Int, t.Float, t.Bool)


def translate_and_or(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of AND or OR."""
    left, right = tr.translate(node.this), tr.translate(node.expression)
    return join_conditions(tr, node, "AND" if isinstance(node, exp.And) else "OR", [left, right])


def join_conditions(tr: Translator, node: exp.Expr, word: str, values: list[TypedSql]) -> TypedSql:
    """Conditions joined by AND or OR. Raises Refused if one is no number."""
    check_conditions(tr, node, word, values)
    joined = _logical_value(f"({f' {word} '.join(map(as_condition, values))})", values)
    if any(isinstance(value.bare, t.Bool) and not value.nullable for value in values):
        return joined
    return replace(joined, type=nullable_if_any(t.Int(8, signed=False), values))  # Nullable(Bool) counts as no Bool


def join_by_xor(tr: Translator, node: exp.Expr, values: list[TypedSql]) -> TypedSql:
    """Whether an odd number of values is true. Raises Refused for a Decimal, as ClickHouse does."""
    if any(map(is_null, values)):
        return NULL
    check_conditions(tr, node, "xor", values)
    return _logical_value(reduce("({} <> {})".format, map(as_condition, values)), values)


def check_conditions(tr: Translator, node: exp.Expr, word: str, values: list[TypedSql]) -> None:
    """Raises Refused if a value is no integer, float or Bool."""
    for value in values:
        if not isinstance(value.bare, _CONDITIONS) and not is_null(value):
            hint = "its type is only known for each row: write `::Bool`" if is_dynamic_value(value) else None
            hint = "compare it: x != 0" if isinstance(value.bare, t.Decimal) else hint
            raise tr.refusal(node, "wrong-argument-type", f"{word} needs conditions, this is {value.type}", hint)


def _logical_value(sql: str, values: list[TypedSql]) -> TypedSql:
    """A UInt8, or a Bool where an operand is one."""
    of = t.Bool() if any(isinstance(value.bare, t.Bool) for value in values) else t.Int(8, signed=False)
    return TypedSql(sql, nullable_if_any(of, values), "BOOLEAN")


def translate_not(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of NOT."""
    value = tr.translate(node.this)
    if is_null(value):
        return NULL
    found = fixed_result([value], _negation_of_number) if is_dynamic_value(value) else None
    if found is not None:
        return found
    check_conditions(tr, node, "NOT", [value])
    return _logical_value(f"(NOT {as_condition(value)})", [value])


def _negation_of_number(values: Sequence[TypedSql]) -> TypedSql | None:
    """Whether a number is 0, as a UInt8; None for any other value."""
    return boolean(f"(NOT {as_condition(values[0])})") if isinstance(values[0].bare, _NUMBERS) else None


def translate_is_null(tr: Translator, node: exp.Expr) -> TypedSql:
    """`x IS NULL`. Raises Refused for IS with anything but NULL."""
    value = tr.translate(node.this)
    if not isinstance(node.expression, exp.Null):
        raise tr.refusal(node, "unsupported-syntax", "only IS NULL and IS NOT NULL are supported")
    return null_test(value)


def translate_ternary(tr: Translator, node: exp.Expr) -> TypedSql:
    """`condition ? a : b`."""
    values = [tr.translate(node.args["true"]), tr.translate(node.args["false"])]
    return choose_value(tr, node, [tr.translate(node.this)], values)


def _branch_type(tr: Translator, node: exp.Expr, tests: list[TypedSql], values: list[TypedSql]) -> Type | None:
    """The common type of branches, None if there is none. It has the time zone of the first one; but of two branches,
    a condition that ClickHouse computes before it reads rows leaves the chosen one, if that reads a column. Raises
    Refused where it is not known which that is. Columns are in backquotes in Spark SQL."""
    of = value_supertype(values)
    first, second = values[0], values[1]
    replaced = len(tests) == 1 and "`" in second.sql and first.nullable == second.nullable
    if not replaced or "`" in tests[0].sql or is_null(tests[0]) or of == supertype((second.type, first.type)):
        return of
    if tests[0].sql == NEVER or tests[0].constant is not None:
        return second.type if tests[0].sql == NEVER or tests[0].constant == 0 else of
    message = "the time zone of the result depends on a condition that reads no column"
    raise tr.refusal(node, "no-common-type", message, "convert the branches to one time zone by toTimeZone")


def choose_value(tr: Translator, node: exp.Expr, tests: list[TypedSql], values: list[TypedSql]) -> TypedSql:
    """The value of the first true test, otherwise the last value; all values as their common type. Raises Refused if
    they have none."""
    return with_kept_digits(values, lambda given: _choose_value(tr, node, tests, given))


def _choose_value(tr: Translator, node: exp.Expr, tests: list[TypedSql], values: list[TypedSql]) -> TypedSql:
    units = {value.unit for value in values}
    if len(units) == 1 and None not in units:
        chosen_number = choose_value(tr, node, tests, [replace(value, unit=None) for value in values])
        return replace(chosen_number, unit=units.pop())
    refuse_intervals(tr, node, values)
    values = all_dynamic(values) or values
    of = _branch_type(tr, node, tests, values)
    if of is None:
        types = ", ".join(dict.fromkeys(str(value.type) for value in values))
        raise tr.refusal(node, "no-common-type", f"there is no common type of {types}", "cast one of them")
    _refuse_variants(tr, node, values, of)
    spark = value_type(of)
    shown = [as_common_type(value, of) for value in values]
    _check_tests(tr, node, tests)
    _check_decimals(tr, node, values)
    if len(tests) == 1:
        return TypedSql(f"if({as_condition(tests[0])}, {shown[0]}, {shown[1]})", of, spark)
    branches = " ".join(f"WHEN {as_condition(test)} THEN {sql}" for test, sql in zip(tests, shown, strict=False))
    return TypedSql(f"CASE {branches} ELSE {shown[-1]} END", of, spark)


def _refuse_variants(tr: Translator, node: exp.Expr, values: list[TypedSql], of: Type) -> None:
    """Raises Refused for NULL beside arrays or maps, which have none: ClickHouse makes a Variant of them."""
    if isinstance(unwrap_type(of), (t.Array, t.Map)) and any(map(is_null, values)):
        other = "map()" if isinstance(unwrap_type(of), t.Map) else "[]"
        message = f"NULL or {of} is a Variant in ClickHouse, which is not supported"
        raise tr.refusal(node, "no-common-type", message, f"give {other} in the place of NULL, also by ELSE")


def _check_tests(tr: Translator, node: exp.Expr, tests: list[TypedSql]) -> None:
    """Raises Refused for the condition of a choice that is neither a UInt8 nor a Bool, as ClickHouse does."""
    for test in tests:
        if not is_null(test) and not isinstance(test.bare, t.Bool) and test.bare != t.Int(8, signed=False):
            message = f"a condition must be a UInt8 or a Bool, this is {test.type}"
            raise tr.refusal(node, "wrong-argument-type", message, "compare it: x != 0")


def _check_decimals(tr: Translator, node: exp.Expr, values: list[TypedSql]) -> None:
    """Raises Refused for a choice between Decimals of several scales, as ClickHouse does."""
    scales = {value.bare.scale for value in values if isinstance(value.bare, t.Decimal)}
    if len(scales) > 1:
        message = "a choice between Decimals of different scales is not defined"
        raise tr.refusal(node, "no-common-type", message, "cast them to one scale: toDecimal64(x, 4)")
