"""pointInPolygon(point, polygon): whether a point lies in a polygon that is written as a literal.

Invariant: the polygon is one simple ring, checked as ClickHouse checks it (it raises for others); holes and several
polygons are refused. A point on the border makes the query fail: ClickHouse's answer for it depends on the grid of
cells into which it divides the polygon.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.translator import SpecialForm, Translator, call_arguments
from penstock.sql.expr.typed import TypedSql
from penstock.sql.functions.function import UINT8

_Point: TypeAlias = "tuple[Fraction, Fraction]"
_NUMBERS = (t.Int, t.Float)
_MOST_CORNERS = 200
"""A limit, because each side is compared with each other one when the SQL is compiled."""


def _point_in_polygon(tr: Translator, node: exp.Anonymous) -> TypedSql:
    point, corners = call_arguments(tr, node, 2, 2)
    value = tr.translate(point)
    fields = value.bare.fields if isinstance(value.bare, t.Tuple) else ()
    if len(fields) != 2 or not all(isinstance(of, _NUMBERS) for _, of in fields):
        message = f"the point of `pointInPolygon` must be a pair of numbers, this is {value.type}"
        raise tr.refusal(point, "wrong-argument-type", message, "(x, y) of numbers that are not Nullable")
    ring = [_read_corner(tr, corners, each) for each in (corners.expressions if isinstance(corners, exp.Array) else ())]
    ring = ring[:-1] if len(ring) > 1 and ring[0] == ring[-1] else ring
    if not 3 <= len(ring) <= _MOST_CORNERS:
        raise _refused_polygon(tr, corners, f"must be an array of 3 to {_MOST_CORNERS} literal points")
    if not _is_simple(ring):
        raise _refused_polygon(tr, corners, "has sides that cross or touch, or that fold back on themselves")
    names = [f"` p`.{name or f'_{place}'}" for place, (name, _) in enumerate(fields, 1)]
    pair = ", ".join(f"'{axis}', CAST({name} AS DOUBLE)" for axis, name in zip("xy", names, strict=True))
    bound = f"transform(array({value.sql}), ` p` -> named_struct({pair}))"
    return TypedSql(f"transform({bound}, ` p` -> {_inside_sql(ring)})[0]", UINT8, "BOOLEAN")


def _refused_polygon(tr: Translator, node: exp.Expr, what: str) -> Exception:
    return tr.refusal(node, "wrong-argument-type", f"the polygon of `pointInPolygon` {what}", "[(x, y), …]")


def _read_corner(tr: Translator, corners: exp.Expr, node: exp.Expr) -> _Point:
    values = [tr.translate(each).constant for each in node.expressions] if isinstance(node, exp.Tuple) else []
    numbers = [each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]
    if len(values) != 2 or len(numbers) != 2:
        raise _refused_polygon(tr, corners, f"must be an array of 3 to {_MOST_CORNERS} literal points")
    x, y = (Fraction(float(each)) for each in numbers)
    return x, y


def _is_simple(ring: Sequence[_Point]) -> bool:
    """Whether no two sides meet except neighbours, at their common corner."""
    sides = list(zip(ring, [*ring[1:], ring[0]], strict=True))
    if any(a == b for a, b in sides):
        return False
    for place, (a, b) in enumerate(sides):
        c = sides[(place + 1) % len(sides)][1]
        if _turn_direction(a, b, c) == 0 and _goes_back(a, b, c):
            return False
        others = sides[place + 2 : len(sides) - (place == 0)]
        if any(_sides_meet((a, b), other) for other in others):
            return False
    return True


def _turn_direction(a: _Point, b: _Point, c: _Point) -> int:
    """1 if the way from `a` over `b` to `c` turns left, -1 if it turns right, 0 if it is straight (the sign of the
    cross product)."""
    cross = (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
    return (cross > 0) - (cross < 0)


def _goes_back(a: _Point, b: _Point, c: _Point) -> bool:
    """Whether the way from `b` to `c` leads back towards `a`, all three on one line."""
    return (b[0] - a[0]) * (c[0] - b[0]) + (b[1] - a[1]) * (c[1] - b[1]) < 0


def _sides_meet(one: tuple[_Point, _Point], other: tuple[_Point, _Point]) -> bool:
    (a, b), (c, d) = one, other
    turns = (_turn_direction(a, b, c), _turn_direction(a, b, d), _turn_direction(c, d, a), _turn_direction(c, d, b))
    if turns[0] != turns[1] and turns[2] != turns[3]:
        return True
    return any(
        turn == 0 and _in_box(side, point)
        for turn, side, point in zip(turns, (one, one, other, other), (c, d, a, b), strict=True)
    )


def _in_box(side: tuple[_Point, _Point], point: _Point) -> bool:
    """Whether a point lies in the bounding box of a side."""
    return all(min(side[0][axis], side[1][axis]) <= point[axis] <= max(side[0][axis], side[1][axis]) for axis in (0, 1))


def _inside_sql(ring: Sequence[_Point]) -> str:
    """Spark SQL: whether the point ` p` is inside, by ray casting.

    A ray to the right of the point crosses an odd number of sides if the point is inside.
    """
    sides = ", ".join(_side_struct(a, b) for a, b in zip(ring, [*ring[1:], ring[0]], strict=True))
    x, y, a, b, c, d = "` p`.x", "` p`.y", "` e`.a", "` e`.b", "` e`.c", "` e`.d"
    cross = f"({c} - {a}) * ({y} - {b}) - ({d} - {b}) * ({x} - {a})"
    box = f"{x} BETWEEN least({a}, {c}) AND greatest({a}, {c}) AND {y} BETWEEN least({b}, {d}) AND greatest({b}, {d})"
    crossed = f"({b} > {y}) <> ({d} > {y}) AND if({d} > {b}, {cross} > 0D, {cross} < 0D)"
    array = f"array({sides})"
    border = f"exists({array}, ` e` -> {box} AND {cross} = 0D)"
    odd = f"size(filter({array}, ` e` -> {crossed})) % 2 = 1"
    failed = "raise_error('pointInPolygon of a point on the border of the polygon')"
    return f"CASE WHEN isnan({x}) OR isnan({y}) THEN false WHEN {border} THEN {failed} ELSE {odd} END"


def _side_struct(start: _Point, end: _Point) -> str:
    """A side of the polygon as a struct: `a`, `b` are the coordinates of its start, `c`, `d` of its end."""
    numbers = zip("abcd", (*start, *end), strict=True)
    fields = ", ".join(f"'{name}', {_double_literal(number)}" for name, number in numbers)
    return f"named_struct({fields})"


def _double_literal(number: Fraction) -> str:
    return f"{float(number)!r}D"


POLYGON_FORMS: Mapping[str, SpecialForm] = {"pointInPolygon": _point_in_polygon}
