"""The operators + - * / % DIV, for numbers, dates, times and intervals.

In: binary nodes, or two values. Out: `TypedSql`. Invariant: operands are cast to the Spark type of the result first, so
nothing overflows below 64 bits; a result of 64 bits wraps around, as in ClickHouse.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.translator import Translator
from penstock.sql.conversions.dates import time_of_text
from penstock.sql.conversions.numbers import wrap_integer
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.common_type import arithmetic_type
from penstock.sql.expr.fine_times import as_microseconds, move_fine_time
from penstock.sql.expr.json_documents import DYNAMIC_HINT
from penstock.sql.expr.moved_times import add_interval
from penstock.sql.expr.overflow import TWO_63, TWO_64, int64_arithmetic, lowest_64_bits
from penstock.sql.expr.overflow import WIDE_TYPE as _WIDE
from penstock.sql.expr.spark_types import FINE_TIME, is_fine_time, value_type
from penstock.sql.expr.typed import TypedSql, as_spark, is_null, nullable_if_any, typed_sql
from penstock.sql.operators import literals
from penstock.sql.operators.comparisons import are_tuples_of_one_length, tuple_elements
from penstock.sql.operators.decimal_arithmetic import decimal_arithmetic, decimal_unit, whole_quotient
from penstock.sql.operators.dynamic_values import dynamic_result, is_dynamic_value
from penstock.sql.operators.literals import make_tuple
from penstock.sql.syntax.problems import Refused
from penstock.sql.syntax.tree import call_name

ARITHMETIC_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "intDiv",
}
_UINT64 = t.Int(64, signed=False)
_TIMES = (t.Date, t.DateTime, t.DateTime64)


def translate_arithmetic(tr: Translator, node: exp.Expr) -> TypedSql:
    """A binary node. Raises Refused as `apply_operator`."""
    symbol = ARITHMETIC_OPERATORS[type(node)]
    steps = interval_steps(tr, node.expression, symbol) if symbol in "+-" else []
    if len(steps) < 2:
        return apply_operator(tr, node, symbol, (tr.translate(node.this), tr.translate(node.expression)))
    value = tr.translate(node.this)
    for sign, step in steps:
        value = apply_operator(tr, node, sign, (value, tr.translate(step)))
    return value


def interval_steps(tr: Translator, node: exp.Expr, sign: str) -> list[tuple[str, exp.Expr]]:
    """The intervals of a sum such as `(INTERVAL 1 MONTH - INTERVAL 1 DAY)` or `INTERVAL '1 day 2 hour'`, each with the
    sign by which it is added: ClickHouse adds them one after another. None for anything else."""
    match node:
        case exp.Paren() | exp.Alias():
            return interval_steps(tr, node.this, sign)
        case exp.Column() if not node.table and node.name in tr.scope.aliases and node.name not in tr.resolving:
            return interval_steps(tr.inside(node.name), tr.scope.aliases[node.name], sign)
        case exp.Add() | exp.Sub():
            first = interval_steps(tr, node.this, sign)
            flipped = ("-" if sign == "+" else "+") if isinstance(node, exp.Sub) else sign
            second = interval_steps(tr, node.expression, flipped)
            return [*first, *second] if first and second else []
        case exp.Interval():
            return [(sign, each) for each in literals.split_interval(node)]
        case exp.Anonymous() if (call_name(node) or "").startswith("toInterval"):
            return [(sign, node)]
        case _:
            return []


def apply_operator(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """Two values under an operator. Raises Refused if ClickHouse has no such operation."""
    left, right = _texts_as_times(operator, *pair)
    moved = _of_parts(tr, node, operator, pair) or _time_arithmetic(operator, left, right)
    if moved is not None:
        return moved
    if left.unit or right.unit:
        message = f"`{operator}` of an interval needs a date or time as the other operand"
        raise tr.refusal(node, "wrong-argument-type", message, "add the intervals one by one")
    if is_null(left) or is_null(right):
        return TypedSql("NULL", left.type if is_null(left) else right.type, "VOID")
    of = arithmetic_type(operator, left.bare, right.bare)
    if of is None:
        message = f"`{operator}` is not defined for {left.type} and {right.type}"
        raise tr.refusal(node, "wrong-argument-type", message, "cast one of them")
    if is_64_bit_integer(of) and any(value.spark == _WIDE for value in pair) and operator in "+-*":
        return _uint64_arithmetic(operator, pair, of)
    if of == _UINT64 and _fits_bigint(operator, pair):
        sql = f"({as_spark(left, 'BIGINT')} {operator} {as_spark(right, 'BIGINT')})"
        return TypedSql(sql, nullable_if_any(of, pair), "BIGINT")
    if of == t.Int(64) and operator in "+-*":
        return int64_arithmetic(operator, left, right)
    result = nullable_if_any(of, pair)
    if isinstance(of, t.Decimal):
        return decimal_arithmetic(operator, pair, of, result)
    return typed_sql(_plain_arithmetic(operator, left, right, of), result)


def _of_parts(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql | None:
    """Values of any type, and tuples; None for all others. Raises Refused."""
    if any(map(is_dynamic_value, pair)):
        return _apply_by_type(tr, node, operator, pair)
    if any(isinstance(value.bare, t.Tuple) and not is_null(value) for value in pair):
        return _tuple_arithmetic(tr, node, operator, pair)
    return None


def _tuple_arithmetic(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """Two tuples, element by element; their product is the sum of those of the elements. A tuple and a number: each
    element with it. Raises Refused for anything else."""
    left, right = pair
    numbers = [isinstance(value.bare, (t.Int, t.Float, t.Decimal)) and not value.nullable for value in pair]
    both = are_tuples_of_one_length(left, right) and not left.nullable and not right.nullable
    pairs: list[tuple[TypedSql, TypedSql]] = []
    if both and operator in "+-*":
        pairs = list(zip(tuple_elements(left), tuple_elements(right), strict=True))
    elif numbers[1] and not left.nullable and operator in ("*", "/", "%", "intDiv"):
        pairs = [(each, right) for each in tuple_elements(left)]
    elif numbers[0] and not right.nullable and operator == "*":
        pairs = [(left, each) for each in tuple_elements(right)]
    if not pairs:
        message = f"`{operator}` is not defined for {left.type} and {right.type}"
        raise tr.refusal(node, "wrong-argument-type", message, "write it for each element")
    found = [apply_operator(tr, node, operator, each) for each in pairs]
    product = both and operator == "*"
    return reduce(lambda a, b: apply_operator(tr, node, "+", (a, b)), found) if product else make_tuple(found)


def _apply_by_type(tr: Translator, node: exp.Expr, operator: str, pair: tuple[TypedSql, TypedSql]) -> TypedSql:
    """Values whose types are only known for each row. Raises Refused where no type has such an operation."""

    def apply(values: Sequence[TypedSql]) -> TypedSql | None:
        try:
            return apply_operator(tr, node, operator, (values[0], values[1]))
        except Refused:
            return None

    found = dynamic_result(pair, apply)
    if found is None:
        message = f"`{operator}` is not supported for {pair[0].type} and {pair[1].type}"
        raise tr.refusal(node, "wrong-argument-type", message, DYNAMIC_HINT)
    return found


def is_64_bit_integer(of: t.Type) -> bool:
    """Whether a type is a 64-bit integer."""
    return isinstance(of, t.Int) and of.bits == 64


def _uint64_arithmetic(operator: str, pair: tuple[TypedSql, TypedSql], of: t.Type) -> TypedSql:
    """With a UInt64 operand: computed in decimals, whose lowest 64 bits are used."""
    left, right = (as_spark(value, _WIDE) for value in pair)
    sql = f"{left} {operator} {right}"
    if operator == "*" and not any(_keeps_product_in_decimal(value) for value in pair):
        sql = _uint64_product(left, right)
    if of == _UINT64:
        return typed_sql(f"CAST(pmod({sql}, {TWO_64}) AS {_WIDE})", nullable_if_any(of, pair))
    return typed_sql(lowest_64_bits(sql), nullable_if_any(of, pair))


def _keeps_product_in_decimal(value: TypedSql) -> bool:
    """Whether a product of this value and a UInt64 has at most the 38 digits of a decimal."""
    if isinstance(value.constant, int):
        return abs(value.constant) < 2**61
    return isinstance(value.bare, t.Bool) or (isinstance(value.bare, t.Int) and value.bare.bits < 64)


def _uint64_product(left: str, right: str) -> str:
    """Where a product has too many digits, the product of the operands read as signed has the same lowest 64 bits."""

    def signed(v: str) -> str:
        return f"if({v} >= {TWO_63}, {v} - {TWO_64}, {v})"

    def formula(a: str, b: str) -> str:
        return f"coalesce(try_multiply({a}, {b}), {signed(a)} * {signed(b)})"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: formula(a, b)))


def _fits_bigint(operator: str, pair: tuple[TypedSql, TypedSql]) -> bool:
    """Whether a UInt64 result can be kept as a BIGINT: results of counts and sums can, columns are decimals."""
    small = all(value.spark in ("INT", "BIGINT") for value in pair)
    return small and (operator == "+" or (operator == "*" and any(value.bare == _UINT64 for value in pair)))


def _plain_arithmetic(operator: str, left: TypedSql, right: TypedSql, of: t.Type) -> str:
    spark = value_type(of)
    if operator == "/":
        return divide_floats(as_spark(left, "DOUBLE"), as_spark(right, "DOUBLE"), right)
    if operator == "intDiv" and isinstance(of, t.Int) and is_float_division(left, right):
        return divide_to_integer((left, right), of, "raise_error('intDiv by zero')")
    if operator == "intDiv" and isinstance(of, t.Int) and is_decimal_division(left, right):
        return whole_quotient((left, right), of)
    if operator == "intDiv":
        left, right = as_signed_operands(left, right)
    if operator in ("intDiv", "%") and isinstance(of, t.Int):
        wide = _common_integer(left, right)
        sign = "DIV" if operator == "intDiv" else "%"
        return f"CAST(({as_spark(left, wide)} {sign} {as_spark(right, wide)}) AS {spark})"
    if operator == "%":
        return _float_remainder(as_spark(left, "DOUBLE"), as_spark(right, "DOUBLE"))
    result = f"({as_spark(left, spark)} {operator} {as_spark(right, spark)})"
    return f"CAST({result} AS {spark})" if spark.startswith("DECIMAL") else result


def is_decimal_division(left: TypedSql, right: TypedSql) -> bool:
    """Whether one of the operands of intDiv is a Decimal."""
    return isinstance(left.bare, t.Decimal) or isinstance(right.bare, t.Decimal)


def is_float_division(left: TypedSql, right: TypedSql) -> bool:
    """Whether one of the operands of intDiv is a float."""
    return isinstance(left.bare, t.Float) or isinstance(right.bare, t.Float)


def divide_to_integer(pair: tuple[TypedSql, TypedSql], of: t.Int, without_quotient: str) -> str:
    """intDiv of floats, or of one and a Decimal: their quotient without its fraction, an integer of its size.

    Where ClickHouse has no quotient (by zero, or the least integer by -1), it is the SQL `without_quotient`. Infinite
    operands, NaN, and a quotient that is not between the least and the greatest integer make the query fail.
    """
    wide = any(each.bare == t.Float(64) or isinstance(each.bare, t.Decimal) for each in pair)
    left, right = (as_spark(each, "DOUBLE") if wide else f"CAST({as_spark(each, 'FLOAT')} AS DOUBLE)" for each in pair)
    dividend = pair[0].bare
    least = f"{float(dividend.low)!r}D" if isinstance(dividend, t.Int) and dividend.signed else None
    too_large = f"raise_error('the quotient of intDiv does not fit into {of}')"

    def cut(q: str) -> str:
        within = f"{q} < {float(of.high)!r}D AND {q} > {float(of.low)!r}D"
        return f"if({within}, CAST({q} AS {value_type(of)}), if({q} IS NULL, NULL, {too_large}))"

    def formula(a: str, b: str) -> str:
        quotient = f"try_divide({a}, {b})" if wide else f"CAST(CAST(try_divide({a}, {b}) AS FLOAT) AS DOUBLE)"
        none = f"{b} = 0" if least is None else f"{b} = 0 OR ({b} = -1 AND {a} = {least})"
        unbounded = " OR ".join(
            f"{each} IN (double('Infinity'), double('-Infinity'), double('NaN'))" for each in (a, b)
        )
        infinite = "raise_error('intDiv of a number that is infinite or NaN')"
        whole = bind_if_long(quotient, cut)
        return f"CASE WHEN {none} THEN {without_quotient} WHEN {unbounded} THEN {infinite} ELSE {whole} END"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: formula(a, b)))


def as_signed_operands(left: TypedSql, right: TypedSql) -> tuple[TypedSql, TypedSql]:
    """The operands of intDiv. Where only one is signed, ClickHouse reads the bits of the other one as a signed
    number: of its own size, or of the size of the dividend if that is larger."""
    a, b = (each.bare if isinstance(each.bare, t.Int) else t.Int(8, signed=False) for each in (left, right))
    if a.signed == b.signed:
        return left, right
    return _as_signed(left, a, a.bits), _as_signed(right, b, max(a.bits, b.bits))


def _as_signed(value: TypedSql, have: t.Int, bits: int) -> TypedSql:
    of = t.Int(bits)
    known = isinstance(value.constant, int) and value.constant <= of.high
    if have.signed or have.bits < bits or known:
        return value
    number = as_spark(value, "BIGINT") if value.spark == "BOOLEAN" else value.sql
    return typed_sql(bind_if_long(number, lambda v: wrap_integer(v, value.spark, of)), nullable_if_any(of, [value]))


def _float_remainder(left: str, right: str) -> str:
    """The remainder after a whole quotient, rounded to a double at each step: ClickHouse's %, not C's fmod."""

    def rest(a: str, b: str) -> str:
        fraction = f"coalesce(nullif({a} / {b} % 1D, double('NaN')), 0D)"  # an infinite quotient has none
        return f"if({b} = 0, double('NaN') + {a}, {a} - ({a} / {b} - {fraction}) * {b})"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: rest(a, b)))


def _common_integer(left: TypedSql, right: TypedSql) -> str:
    wide = {left.spark, right.spark}
    return next((spark for spark in ("DECIMAL(20,0)", "BIGINT") if spark in wide), "INT")


def divide_floats(left: str, right: str, divisor: TypedSql) -> str:
    """Floating-point division as in IEEE 754: infinity or NaN where the divisor is 0, with the sign of that 0, which
    only a float can have (Spark's csc is 1 / sin(x), which keeps it)."""
    if isinstance(divisor.constant, (int, float)) and divisor.constant != 0:
        return f"({left} / {right})"

    def safe(a: str, b: str) -> str:
        infinity = f"csc({b})" if isinstance(divisor.bare, t.Float) else "double('Infinity')"
        return f"if({b} = 0, {a} * {infinity}, {a} / {b})"

    return bind_if_long(left, lambda a: bind_if_long(right, lambda b: safe(a, b)))


def _texts_as_times(operator: str, left: TypedSql, right: TypedSql) -> tuple[TypedSql, TypedSql]:
    """The operands; a text beside an interval is a time: `'2024-01-31' - INTERVAL 1 DAY`."""
    if operator in "+-" and right.unit and isinstance(left.bare, t.String):
        return time_of_text(left, right.unit), right
    if operator == "+" and left.unit and isinstance(right.bare, t.String):
        return left, time_of_text(right, left.unit)
    return left, right


def _time_arithmetic(operator: str, left: TypedSql, right: TypedSql) -> TypedSql | None:
    """A date or time plus or minus an interval or a number, or the difference of two; None for other operands."""
    if operator not in "+-":
        return None
    if operator == "+" and isinstance(right.bare, _TIMES) and (left.unit or not isinstance(left.bare, _TIMES)):
        return _time_arithmetic("+", right, left)
    if not isinstance(left.bare, _TIMES):
        return None
    if isinstance(right.bare, _TIMES):
        return _time_difference(left, right) if operator == "-" else None
    if is_fine_time(left.bare):
        return _move_fine_time(operator, left, right)
    return _moved_time(left, right, 1 if operator == "+" else -1)


def _moved_time(time: TypedSql, step: TypedSql, sign: int) -> TypedSql | None:
    """A date or time moved by an interval, or by a number of days or seconds."""
    of_date = isinstance(time.bare, t.Date)
    if step.unit:
        return (
            None
            if of_date and step.unit in ("MILLISECOND", "MICROSECOND")
            else add_interval(time, step, step.unit, sign)
        )
    return add_interval(time, step, "DAY" if of_date else "SECOND", sign) if isinstance(step.bare, t.Int) else None


def _move_fine_time(operator: str, time: TypedSql, step: TypedSql) -> TypedSql | None:
    """A time of more than six digits plus or minus an interval or a number of seconds."""
    if _time_arithmetic(operator, as_microseconds(time), step) is None:
        return None
    return move_fine_time(time, lambda micros: _time_arithmetic(operator, micros, step) or micros)


def _time_difference(left: TypedSql, right: TypedSql) -> TypedSql | None:
    """Days between dates, seconds between times, as Int32 (which wraps around after 68 years)."""
    of = nullable_if_any(t.Int(32), [left, right])
    if left.bare == right.bare == t.Date():  # ClickHouse has no difference of two Date32.
        return TypedSql(f"datediff({left.sql}, {right.sql})", of, "INT")
    if isinstance(left.bare, t.DateTime) and isinstance(right.bare, t.DateTime):
        seconds = f"unix_seconds({left.sql}) - unix_seconds({right.sql})"
        return TypedSql(f"CAST(shiftright(shiftleft({seconds}, 32), 32) AS INT)", of, "INT")
    if isinstance(left.bare, (t.DateTime, t.DateTime64)) and isinstance(right.bare, (t.DateTime, t.DateTime64)):
        return _datetime64_difference(left, right)
    return None


def _datetime64_difference(left: TypedSql, right: TypedSql) -> TypedSql:
    """Seconds as a decimal, with as many fraction digits as the finer operand."""
    if FINE_TIME in (left.spark, right.spark):
        return _fine_difference(left, right)
    scale = max(each.bare.precision if isinstance(each.bare, t.DateTime64) else 0 for each in (left, right))
    micros = f"CAST(unix_micros({left.sql}) - unix_micros({right.sql}) AS DECIMAL(18,0))"
    of = t.Decimal(18, scale)
    return typed_sql(f"CAST({micros} * {decimal_unit(6)} AS DECIMAL(18,{scale}))", nullable_if_any(of, [left, right]))


def _fine_difference(left: TypedSql, right: TypedSql) -> TypedSql:
    scale = max(each.bare.precision if isinstance(each.bare, t.DateTime64) else 0 for each in (left, right))
    seconds = f"{as_spark(left, FINE_TIME)} - {as_spark(right, FINE_TIME)}"
    return typed_sql(f"CAST({seconds} AS DECIMAL(18,{scale}))", nullable_if_any(t.Decimal(18, scale), [left, right]))
