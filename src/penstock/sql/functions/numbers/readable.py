"""Numbers as readable strings: toDecimalString, formatReadableSize, formatReadableTimeDelta, bar

ClickHouse computes in doubles, and prints two digits of exactly that double. So it is here: a double below 1000 has few
enough binary digits for an integer of its least steps.
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
_UNITS_OF_FLOATS = {
    "formatReadableSize": (1024, (*(f" {unit}" for unit in _BINARY_UNITS), " ZiB", " YiB")),
    "formatReadableDecimalSize": (1000, (*_DECIMAL_UNITS, " ZB", " YB")),
    "formatReadableQuantity": (
        1000,
        (
            *(*_QUANTITIES, " sextillion", " septillion", " octillion", " nonillion", " decillion", " undecillion"),
            *(" duodecillion", " tredecillion", " quattuordecillion", " quindecillion", " sexdecillion"),
            *(" septendecillion", " octodecillion", " novemdecillion", " vigintillion"),
        ),
    ),
}
"""For each function the factor between units, and the units that a float may reach."""
_TIME_UNITS: tuple[tuple[int, str], ...] = (
    (31536000, "year"),
    (2635200, "month"),
    (86400, "day"),
    (3600, "hour"),
    (60, "minute"),
    (1, "second"),
)
_MOST_DIGITS, _MOST_DIGITS_OF_FLOATS = 77, 60
_WIDTH, _WIDEST = 80, 1000
"""Of a bar: how wide it is by default, and at most."""
_FULL = "repeat('█', CAST(floor(` w`) AS INT))"
_REST = "element_at(array('', '▏', '▎', '▍', '▌', '▋', '▊', '▉'), CAST(floor((` w` - floor(` w`)) * 8D) AS INT) + 1)"
_FINITE = "` w` < double('Infinity')"
_BLOCKS = f"if({_FINITE}, concat({_FULL}, {_REST}), raise_error('the width of a bar must not be NaN'))"
"""The bar of so many blocks."""
_COUNTS_SECONDS = "` v` + 1D > ` v`"
"""Whether a double is not so large that a second more is the same double, of which ClickHouse shows the first unit."""


def _to_decimal_string(values: Sequence[TypedSql]) -> TypedSql:
    """With so many digits after the point, at least as many as the type has."""
    value, digits = values[0], literal_integer(values[1], "the number of digits")
    of = value.bare
    if isinstance(of, t.Float):
        return _fixed_point(value, digits)
    whole = 20 if isinstance(of, (t.Int, t.Bool)) else of.precision - of.scale if isinstance(of, t.Decimal) else 0
    if not whole:
        raise BadArguments(f"`toDecimalString` of {value.type} is not supported", "toDecimal128(…, digits)")
    least = max(of.scale, 1) if isinstance(of, t.Decimal) else 0
    if not least <= digits <= _MOST_DIGITS:
        raise BadArguments(f"`toDecimalString` of {value.type} takes {least} to {_MOST_DIGITS} digits here", "round")
    kept = max(of.scale if isinstance(of, t.Decimal) else 0, min(digits, 37 - whole))
    shown = f"CAST(CAST({value.sql} AS DECIMAL({min(38, whole + 1 + kept)},{kept})) AS STRING)"
    zeros = f"{'' if kept else '.'}{'0' * (digits - kept)}"
    return typed_sql(f"concat({shown}, '{zeros}')" if digits > kept else shown, nullable_if_any(STRING, [value]))


def _fixed_point(value: TypedSql, digits: int) -> TypedSql:
    if not 0 <= digits <= _MOST_DIGITS_OF_FLOATS:
        raise BadArguments(f"`toDecimalString` of {value.type} takes 0 to {_MOST_DIGITS_OF_FLOATS} digits", "round")
    return typed_sql(f"penstock_fixed_point({as_spark(value, 'DOUBLE')}, {digits})", nullable_if_any(STRING, [value]))


def _format_readable_size(values: Sequence[TypedSql]) -> TypedSql:
    value = values[0]
    if not isinstance(value.bare, t.Int):
        return _readable_float("formatReadableSize", value)
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
            return _readable_float(name, value)
        number = number_sql(value)
        begin = f"named_struct('v', abs(CAST({number} AS DOUBLE)), 'i', 1)"
        step = "if(` s`.v >= 1000D, named_struct('v', ` s`.v / 1000D, 'i', ` s`.i + 1), ` s`)"
        found = f"aggregate(sequence(1, {len(units) - 1}), {begin}, (` s`, ` k`) -> {step})"
        digits = f"CAST(CAST(` s`.v * {2**52}D AS BIGINT) AS DECIMAL(19,0)) * 100BD + {2**51}BD"
        cents = bind_once(f"({digits}) DIV {2**52}BD", "` c`", _number_with_unit(f"{number} < 0", units))
        return typed_sql(bind_once(found, "` s`", cents), nullable_if_any(STRING, [value]))

    return Function(name, (1, 1), ("number",), build)


def _readable_float(name: str, value: TypedSql) -> TypedSql:
    """A float, or a Decimal as one. Below 1 a step is 2**-62; what is less than 2**-10 is shown as 0.00."""
    if not isinstance(value.bare, (t.Float, t.Decimal)):
        raise BadArguments(f"`{name}` of {value.type} is not supported", "toInt64")
    factor, units = _UNITS_OF_FLOATS[name]
    step = f"if(` s`.v >= {factor}D, named_struct('v', ` s`.v / {factor}D, 'i', ` s`.i + 1), ` s`)"
    found = f"aggregate(sequence(1, {len(units) - 1}), named_struct('v', abs(` v`), 'i', 1), (` s`, ` k`) -> {step})"

    def rounded(bits: int) -> str:
        steps = f"CAST(CAST(` s`.v * {2**bits}D AS BIGINT) AS DECIMAL(19,0))"
        return f"({steps} * 100BD + {2 ** (bits - 1)}BD) DIV {2**bits}BD"

    too_large = f"raise_error('{name} of a number of {factor}{units[-1]} and more')"
    cents = f"CASE WHEN ` s`.v < 1D THEN {rounded(62)} WHEN ` s`.v < {factor}D THEN {rounded(52)} ELSE {too_large} END"
    shown = bind_once(cents, "` c`", _number_with_unit("startswith(CAST(` v` AS STRING), '-')", units))
    infinite = (
        f"WHEN abs(` v`) = double('Infinity') THEN concat(if(` v` < 0D, '-inf', 'inf'), {string_literal(units[-1])})"
    )
    odd = f"WHEN isnan(` v`) THEN {string_literal(f'nan{units[0]}')} {infinite}"
    text = f"CASE WHEN ` v` IS NULL THEN NULL {odd} ELSE {bind_once(found, '` s`', shown)} END"
    return typed_sql(bind_once(as_spark(value, "DOUBLE"), "` v`", text), nullable_if_any(STRING, [value]))


def _number_with_unit(negative: str, units: Sequence[str]) -> str:
    names = f"array({', '.join(map(string_literal, units))})[` s`.i - 1]"
    digits = "CAST(` c` DIV 100 AS STRING), '.', lpad(CAST(` c` % 100 AS STRING), 2, '0')"
    return f"concat(if({negative}, '-', ''), {digits}, {names})"


def _format_time_delta(values: Sequence[TypedSql]) -> TypedSql:
    """An optional argument names the largest unit. A month has 30.5 days, as in ClickHouse."""
    value = values[0]
    if not isinstance(value.bare, (t.Int, t.Float, t.Decimal)):
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
    shown = f"concat(if({number} < 0, '-', ''), if({_COUNTS_SECONDS}, {exact}, {large}))"
    if isinstance(value.bare, t.Float):
        odd = f"WHEN isnan(` v`) THEN 'nan' WHEN ` v` = double('Infinity') THEN if({number} < 0, '-inf', 'inf')"
        shown = f"CASE {odd} ELSE {shown} END"
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
