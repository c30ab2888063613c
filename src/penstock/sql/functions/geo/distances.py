"""Distances on the Earth: greatCircleDistance, greatCircleAngle, geoDistance, pointInEllipses

As ClickHouse's src/Functions/greatCircleDistance.cpp: cosines and metrics come from tables of 1024 entries with linear
interpolation between them; here each entry is computed. Doubles only: for Float32 ClickHouse's tables are rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from penstock.model import types as t
from penstock.sql.expr.bind_once import bind_once
from penstock.sql.expr.typed import TypedSql, as_spark, nullable_if_any, typed_sql
from penstock.sql.functions.function import FLOAT64, MAX_ARGUMENTS, UINT8, BadArguments, Function

_TABLE_SIZE, _ASIN_TABLE_SIZE = 1024, 512
_EARTH_DIAMETER = 2.0 * 6371007.180918475
_LATITUDE = f"(({{i}}) * {pi / _TABLE_SIZE!r}D - {pi * 0.5!r}D)"
_FLAT_DEGREES = 13
"""Degrees of longitude up to which ClickHouse computes on a plane."""
_COSINE = f"cos({2 * pi!r}D * ({{i}}) / {_TABLE_SIZE}D)"
_SPHERE = f"cos({_LATITUDE})"


def _table_index(y: str) -> str:
    """The index of the table entry before a number; 0 if it is NaN or infinite."""
    return f"if(abs({y}) < 9.0E18D, CAST({y} AS BIGINT), 0L)"


def _interpolate(entry: str, y: str, place: str) -> str:
    """The line from one entry of a table to the next. `entry` is a template of the index `i`."""
    one, other = entry.format(i=place), entry.format(i=f"{place} + 1")
    return f"({one} + ({other} - {one}) * {y})"


def _square(sql: str) -> str:
    return f"({sql} * {sql})"


def _distance_function(name: str) -> Function:
    def build(values: Sequence[TypedSql]) -> TypedSql:
        if not any(value.bare == FLOAT64 for value in values):
            raise BadArguments(f"`{name}` without a Float64 is not supported", "toFloat64(…)")
        if any(isinstance(value.bare, (t.Decimal, t.Bool)) for value in values):
            raise BadArguments(f"`{name}` of decimals and Bools is not supported", "toFloat64(…)")
        names = ("a", "b", "c", "d")
        degrees = ", ".join(f"'{n}', {as_spark(v, 'DOUBLE')}" for n, v in zip(names, values, strict=True))
        pair = f"named_struct('x', {_angle_between('a', 'c')}, 'y', {_angle_between('b', 'd')})"
        formula = f"if(` d`.x < {_FLAT_DEGREES}D, {_flat_distance(name)}, {_haversine_distance(name)})"
        sql = bind_once(f"named_struct({degrees})", "` g`", bind_once(pair, "` d`", formula))
        nulls = " OR ".join(f"{value.sql} IS NULL" for value in values if value.nullable)
        return typed_sql(f"if({nulls}, NULL, {sql})" if nulls else sql, nullable_if_any(FLOAT64, list(values)))

    return Function(name, (4, 4), ("number",), build, exact=False)


def _angle_between(one: str, other: str) -> str:
    """The difference of two angles in degrees, the shorter way round."""
    return bind_once(
        f"abs(` g`.{one} - ` g`.{other})", "` x`", "if(` x` > 180D AND NOT isnan(` x`), 360D - ` x`, ` x`)"
    )


def _flat_distance(name: str) -> str:
    """Up to 13 degrees of longitude: on a plane, with the metric of the latitude in the middle."""
    latitude, longitude = (_interpolate(entry, "(` m` - ` i`)", "` i`") for entry in _METRICS[name])
    if "{i}" not in _METRICS[name][0]:
        latitude = _METRICS[name][0]
    root = f"sqrt({latitude} * ` d`.y * ` d`.y + {longitude} * ` d`.x * ` d`.x)"
    middle = f"(` g`.b + ` g`.d + 180D) * {_TABLE_SIZE}D / 360D"
    return bind_once(middle, "` m`", bind_once(f"{_table_index('` m`')} & {_TABLE_SIZE - 1}L", "` i`", root))


def _haversine_distance(name: str) -> str:
    """The haversine formula with sines and cosines from a table of cosines (a sine is a cosine a quarter further)."""
    half, whole = f"{pi / 360.0!r}D", f"{pi / 180.0!r}D"
    angles = ((f"` d`.y * {half}", 256), (f"` d`.x * {half}", 256), (f"` g`.b * {whole}", 0), (f"` g`.d * {whole}", 0))
    turned = ", ".join(
        f"named_struct('y', abs({angle}) * {_TABLE_SIZE / pi / 2.0!r}D, 'q', {quarter}L)" for angle, quarter in angles
    )
    placed = (
        f"transform(array({turned}), ` e` -> named_struct('y', ` e`.y, 'p', {_table_index('` e`.y')}, 'q', ` e`.q))"
    )
    masked = f"((` e`.p - ` e`.q) & {_TABLE_SIZE - 1}L)"
    waves = f"transform({placed}, ` e` -> {_interpolate(_COSINE, '(` e`.y - ` e`.p)', masked)})"
    square = "` w`[0] * ` w`[0] + ` w`[2] * ` w`[3] * (` w`[1] * ` w`[1])"
    scale = 360.0 / pi if name == "greatCircleAngle" else _EARTH_DIAMETER
    return f"({scale!r}D * {bind_once(bind_once(waves, '` w`', square), '` h`', _asin_sqrt())})"


def _asin_sqrt() -> str:
    """asin(sqrt(h)): a series for small h, a table for most, the function itself near 1."""
    h = "` h`"
    root = f"sqrt({h})"
    series = (
        f"{root} + {h} * {root} * 0.166666666666666D + {h} * {h} * {root} * 0.075D "
        f"+ {h} * {h} * {h} * {root} * 0.044642857142857D"
    )
    place = f"CAST({h} * {_ASIN_TABLE_SIZE}D AS BIGINT)"
    entry = f"asin(sqrt(({{i}}) / {_ASIN_TABLE_SIZE}D))"
    table = bind_once(place, "` i`", _interpolate(entry, f"({h} * {_ASIN_TABLE_SIZE}D - ` i`)", "` i`"))
    return f"CASE WHEN {h} < 0.122D THEN {series} WHEN {h} < 0.948D THEN {table} ELSE asin({root}) END"


def _point_in_ellipses(values: Sequence[TypedSql]) -> TypedSql:
    """A point, then the centre and the two semi-axes of each ellipse, which must be literals."""
    if len(values) % 4 != 2:
        raise BadArguments("`pointInEllipses` takes a point and four numbers for each ellipse")
    if any(value.bare != FLOAT64 or value.nullable for value in values):
        raise BadArguments("the arguments of `pointInEllipses` must be Float64", "toFloat64(…), assumeNotNull(…)")
    numbers = [value.constant for value in values[2:]]
    if any(not isinstance(number, float) for number in numbers):
        raise BadArguments("the ellipses of `pointInEllipses` must be literals", "10.0")
    ellipses = [[value.sql for value in values[place : place + 4]] for place in range(2, len(values), 4)]
    if any(not float(number or 0) > 0 for place, number in enumerate(numbers) if place % 4 > 1):
        raise BadArguments("the half axes of `pointInEllipses` must be above 0")
    tests = [
        f"` x` BETWEEN {x} - {a} AND {x} + {a} AND ` y` BETWEEN {y} - {b} AND {y} + {b} "
        f"AND (` x` - {x}) / {a} * ((` x` - {x}) / {a}) + (` y` - {y}) / {b} * ((` y` - {y}) / {b}) <= 1D"
        for x, y, a, b in ellipses
    ]
    found = bind_once(values[0].sql, "` x`", bind_once(values[1].sql, "` y`", f"({' OR '.join(tests)})"))
    return TypedSql(found, UINT8, "BOOLEAN")


_METRICS = {
    "greatCircleAngle": ("1D", _square(_SPHERE)),
    "greatCircleDistance": (
        f"{(_EARTH_DIAMETER * pi / 360.0) ** 2!r}D",
        _square(f"({_EARTH_DIAMETER * pi / 360!r}D * {_SPHERE})"),
    ),
    "geoDistance": (
        _square(f"(111132.09D - 566.05D * cos(2D * {_LATITUDE}) + 1.2D * cos(4D * {_LATITUDE}))"),
        _square(f"(111415.13D * cos({_LATITUDE}) - 94.55D * cos(3D * {_LATITUDE}) + 0.12D * cos(5D * {_LATITUDE}))"),
    ),
}
"""The squared lengths of a degree of latitude and of longitude, in metres (degrees for the angle), by latitude."""

FUNCTIONS: tuple[Function, ...] = (
    *map(_distance_function, _METRICS),
    Function("pointInEllipses", (6, MAX_ARGUMENTS), ("number",), _point_in_ellipses),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
