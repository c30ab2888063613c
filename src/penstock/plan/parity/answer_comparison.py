"""Compare two answers of an endpoint.

In: the rows of two answers, as Python values, and the types of the columns. Out: `AnswerDifference`. Invariant: as for
tables, how often a row occurs counts, its place does not, and rows that differ in nothing but close floats are close.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, unwrap_type
from penstock.plan.parity.comparable_values import TOLERANCES

Row = tuple[object, ...]
Columns = Sequence[tuple[str, Type]]


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """How two answers differ in the columns that both have."""

    columns: tuple[str, ...]
    only_left: tuple[Row, ...] = ()
    """The rows, in the order of `columns`, that one answer has more often; each as often as it has more."""
    only_right: tuple[Row, ...] = ()
    close: int = 0
    """How many rows differ in nothing but close floats."""
    reordered: bool = False
    """The rows are the same, in another order."""

    @property
    def is_same(self) -> bool:
        return not self.only_left and not self.only_right


@dataclass(slots=True)
class _Sides:
    left: list[Row] = field(default_factory=list)
    right: list[Row] = field(default_factory=list)


def compare_answers(
    left: tuple[Columns, Iterable[Row]], right: tuple[Columns, Iterable[Row]], ignored: frozenset[str] = frozenset()
) -> AnswerDifference:
    """Compare the columns of the same name, without the `ignored` ones."""
    names = tuple(name for name, _ in right[0] if name in dict(left[0]) and name not in ignored)
    one, other = _picked(left, names), _picked(right, names)
    keys_one, keys_other = [_key(row) for row in one], [_key(row) for row in other]
    if keys_one == keys_other:
        return AnswerDifference(names)
    more, fewer = Counter(keys_one), Counter(keys_other)
    only_left, only_right = _excess(one, keys_one, fewer), _excess(other, keys_other, more)
    types = dict(right[0])
    tolerances = [_tolerance(types[name]) for name in names]
    close, only_left, only_right = _take_close(only_left, only_right, tolerances)
    reordered = not (only_left or only_right or close)
    return AnswerDifference(names, tuple(only_left), tuple(only_right), close, reordered)


def _picked(answer: tuple[Columns, Iterable[Row]], names: Sequence[str]) -> list[Row]:
    places = {name: at for at, (name, _) in enumerate(answer[0])}
    return [tuple(row[places[name]] for name in names) for row in answer[1]]


def _excess(rows: Sequence[Row], keys: Sequence[Hashable], others: Mapping[Hashable, int]) -> list[Row]:
    """The rows that occur more often here than in the other answer."""
    left = dict(others)
    found = []
    for row, key in zip(rows, keys, strict=True):
        if left.get(key, 0) > 0:
            left[key] -= 1
        else:
            found.append(row)
    return found


def _key(value: object) -> Hashable:
    """A value that can be counted: NaN equals NaN, 0.0 equals -0.0, and true is not 1."""
    match value:
        case bool():
            return ("bool", value)
        case float():
            return "nan" if math.isnan(value) else value + 0.0
        case bytes() | bytearray():
            return bytes(value)
        case int() | Decimal() | str() | None:
            return value
        case Mapping():
            return ("map", tuple((_key(name), _key(each)) for name, each in value.items()))
        case Sequence():
            return ("list", tuple(map(_key, value)))
        case _:
            return repr(value)


def _tolerance(of: Type) -> float | None:
    bare = unwrap_type(of)
    return TOLERANCES[bare.bits] if isinstance(bare, t.Float) else None


def _take_close(
    left: list[Row], right: list[Row], tolerances: Sequence[float | None]
) -> tuple[int, list[Row], list[Row]]:
    """How many rows are close, and the rows of each side that are not. Rows that are the same but for floats are paired
    in the order of their floats."""
    floats = [at for at, tolerance in enumerate(tolerances) if tolerance is not None]
    if not floats:
        return 0, left, right
    groups: defaultdict[Hashable, _Sides] = defaultdict(_Sides)
    for row in left:
        groups[_without(row, floats)].left.append(row)
    for row in right:
        groups[_without(row, floats)].right.append(row)
    close, only_left, only_right = 0, list[Row](), list[Row]()
    for sides in groups.values():
        one = sorted(sides.left, key=lambda row: _float_order(row, floats))
        other = sorted(sides.right, key=lambda row: _float_order(row, floats))
        pairs = list(zip(one, other, strict=False))
        apart = [pair for pair in pairs if not all(_is_close(*pair, at, tolerances[at]) for at in floats)]
        close += len(pairs) - len(apart)
        only_left += [*(row for row, _ in apart), *one[len(pairs) :]]
        only_right += [*(row for _, row in apart), *other[len(pairs) :]]
    return close, only_left, only_right


def _without(row: Row, floats: Sequence[int]) -> Hashable:
    return tuple(_key(value) for at, value in enumerate(row) if at not in floats)


def _float_order(row: Row, floats: Sequence[int]) -> list[tuple[bool, bool, float]]:
    return [_one_float_order(row[at]) for at in floats]


def _one_float_order(value: object) -> tuple[bool, bool, float]:
    if not isinstance(value, (int, float, Decimal)):
        return (False, False, 0.0)
    number = float(value)
    return (True, True, 0.0) if math.isnan(number) else (True, False, number)


def _is_close(left: Row, right: Row, at: int, tolerance: float | None) -> bool:
    one, other = left[at], right[at]
    if _key(one) == _key(other):
        return True
    if not isinstance(one, (int, float, Decimal)) or not isinstance(other, (int, float, Decimal)):
        return False
    return math.isclose(float(one), float(other), rel_tol=tolerance or 0.0)
