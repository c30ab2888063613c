"""The condition of an ANY or ASOF JOIN taken apart: equalities of both sides, one inequality, filters of one side.

In: ON or USING. Out: `Parts`. Called by join_any and join_asof. Invariant: two values are equal as a key exactly
where the texts of it are the same for Spark, so that rows may be grouped by it; whatever is no part is refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.comparisons import OPERATORS, comparable
from penstock.sql.constants import adapt
from penstock.sql.join_form import using_of, using_pair
from penstock.sql.join_keys import EQUAL, LEFT, RIGHT, Condition, Pair
from penstock.sql.join_kinds import Kind
from penstock.sql.logic import connect
from penstock.sql.supertypes import supertype
from penstock.sql.typed import Typed, condition


@dataclass(frozen=True, slots=True)
class Key:
    """Two texts of one Spark type that are to be equal; `equal` is Spark's operator for it. `nodes` are what they were
    made of, both of ON or the one name of USING."""

    left: str
    right: str
    equal: str
    nodes: tuple[exp.Expr, ...]

    @property
    def test(self) -> str:
        return f"({self.left} {self.equal} {self.right})"


@dataclass(frozen=True, slots=True)
class Nearest:
    """The inequality of ASOF: of the right rows for which `left operator right`, the nearest one is taken."""

    left: str
    right: str
    operator: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition that reads one side, or no column at all (which counts as the left side)."""

    side: str
    sql: str


@dataclass(frozen=True, slots=True)
class Parts:
    """What a condition is made of."""

    keys: tuple[Key, ...]
    nearest: tuple[Nearest, ...]
    filters: tuple[Filter, ...]

    def of(self, side: str) -> tuple[str, ...]:
        """The filters of one side."""
        return tuple(each.sql for each in self.filters if each.side == side)


def parts_of(of: Condition, node: exp.Join, kind: Kind) -> Parts:
    """Raises Refused."""
    spread = len(of.tr.trace.spread)
    on = node.args.get("on")
    found = [_part(of, each, kind) for each in of.conjuncts(on)] if on is not None else _of_using(of, node, kind)
    keys = tuple(each for each in found if isinstance(each, Key))
    if not keys:
        message = f"{kind.words} needs an equality of both sides in ON"
        raise of.tr.refused(on or node, "invalid-join", message, "a.x = b.y AND …")
    if len(of.tr.trace.spread) > spread:
        message = f"arrayJoin in the condition of {kind.words} is not supported"
        raise of.tr.refused(node, "unsupported-clause", message, "ARRAY JOIN before the JOIN")
    nearest = tuple(each for each in found if isinstance(each, Nearest))
    return Parts(keys, nearest, tuple(each for each in found if isinstance(each, Filter)))


def _of_using(of: Condition, node: exp.Join, kind: Kind) -> list[Key | Nearest | Filter]:
    """The last column of ASOF is the one to be near to."""
    names = using_of(node)
    pairs = [using_pair(of.tr, node, name, of.right) for name in names]
    near = pairs[-1:] if kind.asof else []
    keys: list[Key | Nearest | Filter] = [
        Key(*_equal(of, node, pair), "=", (exp.column(name),))
        for name, pair in zip(names, pairs[: len(pairs) - len(near)], strict=False)
    ]
    return [*keys, *(_nearest(of, node, pair, ">=") for pair in near)]


def _part(of: Condition, node: exp.Expr, kind: Kind) -> Key | Nearest | Filter:
    pair = of.pair(node)
    if pair is None:
        return _filter(of, node, kind)
    values = _values(of, node, pair)
    if pair.kind in EQUAL:
        equal = "=" if pair.kind is exp.EQ else "<=>"
        return Key(*_equal(of, node, values), equal, (pair.left, pair.right))
    if not kind.asof:
        raise _of_both(of, node, kind)
    return _nearest(of, node, values, OPERATORS[pair.kind])


def _values(of: Condition, node: exp.Expr, pair: Pair) -> tuple[Typed, Typed]:
    return adapt(of.tr, node, of.tr.translate(pair.left), of.tr.translate(pair.right))


def _equal(of: Condition, node: exp.Expr, pair: tuple[Typed, Typed]) -> tuple[str, str]:
    """The texts of a key."""
    check_common(of, node, pair)
    kinds = {type(value.bare) for value in pair}
    if kinds & {t.Array, t.Tuple, t.Map} or (t.Enum in kinds and pair[0].bare != pair[1].bare):
        message = f"a key of {pair[0].type} and {pair[1].type} is not supported for ANY and ASOF"
        raise of.tr.refused(node, "unsupported-clause", message, "an equality of each of its parts, or of texts")
    return comparable(of.tr, node, *pair)


_ORDERED = (t.Int, t.Decimal, t.Bool, t.Date, t.DateTime, t.DateTime64)


def _nearest(of: Condition, node: exp.Expr, pair: tuple[Typed, Typed], operator: str) -> Nearest:
    if any(isinstance(value.bare, t.Float) for value in pair):
        message = "ASOF by floats is not supported: what ClickHouse finds beside NaN is not determinate"
        raise of.tr.refused(node, "unsupported-clause", message, "toDecimal64(…, 6) of both sides")
    wrong = next((value for value in pair if not isinstance(value.bare, _ORDERED)), None)
    if wrong is not None:
        message = f"ASOF needs numbers, dates or times in its inequality, this is {wrong.type}"
        raise of.tr.refused(node, "wrong-argument-type", message)
    check_common(of, node, pair)
    left, right = comparable(of.tr, node, *pair)
    return Nearest(left, right, operator)


def check_common(of: Condition, node: exp.Expr, pair: tuple[Typed, Typed]) -> None:
    """Raises Refused where ClickHouse has no type for both sides."""
    if supertype([value.type for value in pair]) is None:
        message = f"{pair[0].type} and {pair[1].type} have no common type"
        raise of.tr.refused(node, "no-common-type", message, "cast one of them")


def _filter(of: Condition, node: exp.Expr, kind: Kind) -> Filter:
    sides = of.sides(node)
    if len(sides) > 1:
        raise _of_both(of, node, kind)
    side = RIGHT if RIGHT in sides else LEFT
    if kind.asof and side == LEFT and node.find(exp.Query):
        message = f"a SELECT in a condition on the left side of {kind.words} is not supported"
        raise of.tr.refused(node, "unsupported-clause", message, "filter it in a SELECT of its own")
    value = of.tr.translate(node)
    connect(of.tr, node, "ON", [value])
    return Filter(side, condition(value))


def _of_both(of: Condition, node: exp.Expr, kind: Kind) -> Exception:
    """ClickHouse, too, looks at one side at a time (or takes the first row of the key and may lose it)."""
    message = f"{kind.words} takes equalities{' and one inequality' if kind.asof else ''} of both sides, not this"
    hint = "conditions of one side may stand beside them, others in WHERE"
    return of.tr.refused(node, "unsupported-clause", message, hint)
