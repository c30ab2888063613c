"""Numbers as readable strings: toDecimalString, formatReadableSize, formatReadableTimeDelta, bar

Only integers and decimals are accepted: the digits of doubles could differ from ClickHouse's. Where ClickHouse computes
in doubles (formatReadableQuantity), the digits printed are those of exactly that double.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_if_long, bind_once
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, number_sql, typed_sql, unless_null
from penstock.sql.functions.arguments import literal_integer, literal_string
from penstock.sql.functions.function import STRING, BadArguments, Function
from penstock.sql.spark_text import string_literal

_BINARY_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL_UNITS = (" B", " KB", " MB", " GB", " TB", " PB", " EB")
_QUANTITIES = ("", " thousand", " million", " billion", " trillion", " quadrillion", " quintillion")
_TIME_UNITS: tuple[tuple[int, str], ...] = (
    (31536000, "year"),
    (2635200, "month"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
    (1, "second"),
)
_WIDTH, _WIDEST = 80, 1000
"""Of a bar: how wide it is by default, and at most."""
_FULL = "repeat('█', CAST(floor(` w`) AS INT))"
_REST = "element_at(array('', '▏', '▎', '▍', '▌', '▋', '▊', '▉'), CAST(floor((` w` - floor(` w`)) * 8D) AS INT) + 1)"
_FINITE = "` w` < double('Infinity')"
_BLOCKS = f"if({_FINITE}, concat({_FULL}, {_REST}), raise_error('the width of a bar must not be NaN'))"
"""The bar of so many blocks."""
_FIRST_INEXACT = "9007199254740992D"
"""2**53: from here on neighbouring integers are the same double. ClickHouse shows the first unit and stops."""


def _to_decimal_string(values: Sequence[TypedSql]) -> TypedSql:
    """With so many digits after the point, at least as many as the type has."""
    value, digits = values[0], literal_integer(values[1], "the number of digits")
    of = value.bare
    whole = 20 if isinstance(of, t.Int) else of.precision - of.scale if isinstance(of, t.Decimal) else 0
    if not whole:
        raise BadArguments(f"`toDecimalString` of {value.type} is not supported", "toDecimal128(…, digits)")
    least = max(of.scale, 1) if isinstance(of, t.Decimal) else 0
    if not least <= digits <= 37 - whole:
        raise BadArguments(f"`toDecimalString` of {value.type} takes {least} to {37 - whole} digits here", "round")
    shown = f"CAST(CAST({value.sql} AS DECIMAL({whole + 1 + digits},{digits})) AS STRING)"
    return typed_sql(shown, nullable_if_any(STRING, [value]))


def _format_readable_size(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if not isinstance(value.bare, t.Int):
        raise BadArguments(f"`formatReadableSize` of {value.type} is not supported", "toInt64")
    number = f"CAST({value.sql} AS DECIMAL(38,0))" if value.bare.bits < 64 else _rounded_to_double(value)
    return typed_sql(bind_if_long(number, _size_with_unit), nullable_if_any(STRING, [value]))


def _rounded_to_double(value: TypedSql) -> str:
    """The integer rounded to a double and back, as ClickHouse computes with doubles."""
    return f"CAST(CAST({value.sql} AS DOUBLE) AS DECIMAL(38,0))"


def _size_with_unit(n: str) -> str:
    """The CASE over the powers of 1024; cents are computed in decimals and rounded half up."""

    def shown(power: int) -> str:
        cents = f"(abs({n}) * 200 + {1024**power}) DIV {2 * 1024**power}"
        text = f"concat(CAST({cents} DIV 100 AS STRING), '.', lpad(CAST(({cents}) % 100 AS STRING), 2, '0'))"
        return (
            f"concat(if({n} < 0, '-', ''), {text.replace(cents + ' DIV', f'({cents}) DIV')}, ' {_BINARY_UNITS[power]}')"
        )

    tests = " ".join(
        f"WHEN abs({n}) < {1024 ** (power + 1)} THEN {shown(power)}" for power in range(len(_BINARY_UNITS) - 1)
    )
    return f"CASE {tests} WHEN {n} IS NOT NULL THEN {shown(len(_BINARY_UNITS) - 1)} END"


def _readable_function(name: str, units: Sequence[str]) -> Function:
    """Two digits after the point. A double from 1 to 1000 has at most 52 binary digits after the point, so an integer
    of 2**-52 units holds it exactly."""

    def build(values: Sequence[TypedSql]) -> TypedSql:
        value = values[0]
        if not isinstance(value.bare, t.Int):
            raise BadArguments(f"`{name}` of {value.type} is not supported", "toInt64")
        number = number_sql(value)
        begin = f"named_struct('v', abs(CAST({number} AS DOUBLE)), 'i', 1)"
        step = "if(` s`.v >= 1000D, named_struct('v', ` s`.v / 1000D, 'i', ` s`.i + 1), ` s`)"
        found = f"aggregate(sequence(1, {len(units) - 1}), {begin}, (` s`, ` k`) -> {step})"
        digits = f"CAST(CAST(` s`.v * {2**52}D AS BIGINT) AS DECIMAL(19,0)) * 100BD + {2**51}BD"
        cents = bind_once(f"({digits}) DIV {2**52}BD", "` c`", _number_with_unit(number, units))
        return typed_sql(bind_once(found, "` s`", cents), nullable_if_any(STRING, [value]))

    return Function(name, (1, 1), ("number",), build)


def _number_with_unit(number: str, units: Sequence[str]) -> str:
    names = f"array({', '.join(map(string_literal, units))})[` s`.i - 1]"
    digits = "CAST(` c` DIV 100 AS STRING), '.', lpad(CAST(` c` % 100 AS STRING), 2, '0')"
    return f"concat(if({number} < 0, '-', ''), {digits}, {names})"


def _format_time_delta(values: Sequence[TypedSql]) -> TypedSql:
    """An optional argument names the largest unit. A month has 30.5 days, as in ClickHouse."""
    value = values[0]
    if not isinstance(value.bare, t.Int) or value.bare == t.Int(64, signed=False):
        raise BadArguments(f"`formatReadableTimeDelta` of {value.type} is not supported", "toInt64")
    spans = _TIME_UNITS
    if len(values) > 1:
        unit = literal_string(values[1], "the largest unit of `formatReadableTimeDelta`")
        names = [f"{name}s" for _, name in _TIME_UNITS]
        if unit not in names:
            raise BadArguments("the largest unit of `formatReadableTimeDelta` is not known", ", ".join(names))
        spans = _TIME_UNITS[names.index(unit) :]
    sizes = ", ".join(f"named_struct('n', {size}L, 'u', ' {name}')" for size, name in spans)
    counted = "concat(CAST(` s`.n DIV ` e`.n AS STRING), ` e`.u, if(` s`.n DIV ` e`.n = 1, '', 's'))"
    parts = f"if(` s`.n < ` e`.n, ` s`.p, concat(` s`.p, array({counted})))"
    step = f"named_struct('n', ` s`.n % ` e`.n, 'p', {parts})"
    begin = "named_struct('n', CAST(` v` AS BIGINT), 'p', CAST(array() AS ARRAY<STRING>))"
    exact = f"aggregate(array({sizes}), {begin}, (` s`, ` e`) -> {step}, ` s` -> {_join_with_and('` s`.p')})"
    size, name = spans[0]
    large = f"concat(CAST(CAST(floor(` v` / {size}D) AS BIGINT) AS STRING), ' {name}s')"
    number = number_sql(value)
    shown = f"concat(if({number} < 0, '-', ''), if(` v` < {_FIRST_INEXACT}, {exact}, {large}))"
    sql = bind_once(f"abs(CAST({number} AS DOUBLE))", "` v`", shown)
    return typed_sql(sql, nullable_if_any(STRING, [value]))


def _join_with_and(parts: str) -> str:
    several = f"concat(array_join(slice({parts}, 1, size({parts}) - 1), ', '), ' and ', element_at({parts}, -1))"
    return f"CASE WHEN size({parts}) > 1 THEN {several} ELSE coalesce(try_element_at({parts}, 1), '0 seconds') END"


def _bar(values: Sequence[TypedSql]) -> TypedSql:
    """A bar of blocks, to an eighth of one: empty up to the least value, of the full width from the greatest on."""
    width = values[3].constant if len(values) > 3 else _WIDTH
    if not isinstance(width, (int, float)) or not 1 <= width <= _WIDEST:
        raise BadArguments(f"the width of a bar must be a literal from 1 to {_WIDEST}")
    number, low, high = (as_spark(value, "DOUBLE") for value in values[:3])

    def drawn(x: str, least: str, greatest: str) -> str:
        odd = [f"isnan({sql})" for sql, of in zip((x, least, greatest), values, strict=False) if _may_be_nan(of)]
        empty = " OR ".join([*odd, f"{x} <= {least}"])
        part = f"({x} - {least}) / ({greatest} - {least}) * {float(width)!r}D"
        share = f"CASE WHEN {empty} THEN 0D WHEN {x} >= {greatest} THEN {float(width)!r}D ELSE {part} END"
        return bind_once(share, "` w`", _BLOCKS)

    sql = bind_if_long(
        number, lambda x: bind_if_long(low, lambda least: bind_if_long(high, lambda most: drawn(x, least, most)))
    )
    return typed_sql(unless_null(sql, *values[:3]), nullable_if_any(STRING, list(values)))


def _may_be_nan(value: TypedSql) -> bool:
    return isinstance(value.bare, t.Float) and (value.constant is None or value.constant != value.constant)


FUNCTIONS: tuple[Function, ...] = (
    Function("toDecimalString", (2, 2), ("number", "constant"), _to_decimal_string),
    Function("formatReadableSize", (1, 1), ("number",), _format_readable_size),
    _readable_function("formatReadableQuantity", _QUANTITIES),
    _readable_function("formatReadableDecimalSize", _DECIMAL_UNITS),
    Function("formatReadableTimeDelta", (1, 2), ("number", "constant"), _format_time_delta),
    Function("bar", (3, 4), ("number",), _bar),
)
ALIASES: dict[str, str] = {"FORMAT_BYTES": "formatReadableSize"}
ANY_CASE: tuple[str, ...] = ("FORMAT_BYTES", "toDecimalString")
