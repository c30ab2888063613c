"""Random expressions composed by types: each argument is a column, or a call that gives what fits there.

In: a source of choices, and how much each function weighs. Out: `Composed`, an expression with the cells it covers.
Invariant: what is given out compiles.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from random import Random

from tests.differential.typed.every_type import COLUMNS
from tests.differential.typed.signatures import (
    KINDS_OF_COLUMNS,
    Signature,
    all_signatures,
    family,
    result_types,
    strings_like,
)

from penstock.model.types import Type

DEEPEST = 2
MOST_TRIED = 12
MOST_CHARACTERS = 700
LAST_DIGIT = frozenset(
    {
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
        *("exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "pow", "cbrt", "hypot"),
        *("greatCircleDistance", "greatCircleAngle", "geoDistance", "cosineDistance", "L2Distance", "L2Norm"),
        *("LpDistance", "LpNorm", "L1Distance", "L1Norm", "L2SquaredDistance", "L2SquaredNorm", "dotProduct"),
    }
)
"""Functions whose last digits may differ ("Known differences"): nothing is computed from them."""
Cell = tuple[str, str]
"""A function and the column or, in brackets, the function that its argument came from."""


@dataclass(frozen=True)
class Composed:
    """An expression over the table of every type."""

    sql: str
    gives: Type
    cells: frozenset[Cell]


@dataclass(frozen=True)
class Composer:
    """Makes expressions. `weights` are by function, 1 for those it does not name."""

    random: Random
    weights: Mapping[str, int] = field(default_factory=dict)

    def scalar(self) -> Composed:
        """A call of any function, with calls in it."""
        return self._checked(lambda: self._filled(self._signature(all_signatures().of), DEEPEST - 1))

    def aggregate(self) -> Composed:
        """A call of an aggregate over expressions, or of a function over that."""
        if self.random.random() < 0.35:
            return self._checked(self._over_aggregate)
        return self._checked(lambda: self._filled(self._signature(all_signatures().aggregates), DEEPEST - 1))

    def _checked(self, make: object) -> Composed:
        for _ in range(MOST_TRIED):
            sql, cells = make()  # type: ignore[operator]
            if len(sql) > MOST_CHARACTERS:
                continue
            (gives,) = result_types([sql])
            if gives is not None:
                return Composed(sql, gives, frozenset(cells))
        return Composed("1", family_one(), frozenset())

    def _signature(self, of: Mapping[str, Sequence[Signature]]) -> Signature:
        names, totals = _totals(tuple(of), tuple(sorted(self.weights.items())))
        (name,) = self.random.choices(names, cum_weights=totals)
        return self.random.choice(of[name])

    def _filled(self, signature: Signature, depth: int) -> tuple[str, set[Cell]]:
        arguments, cells = [], set()
        for column in signature.columns:
            inner = self._inner(column) if depth > 0 and self.random.random() < 0.55 else None
            if inner is None:
                chosen = self._column(column)
                arguments.append(chosen)
                cells.add((signature.form.name, chosen))
                continue
            sql, within = self._filled(inner, depth - 1 if self.random.random() < 0.5 else 0)
            arguments.append(sql)
            cells |= within | {(signature.form.name, f"({inner.form.name})")}
        return signature.form.call(arguments), cells

    def _column(self, name: str) -> str:
        if self.random.random() < 0.1:
            return self.random.choice(KINDS_OF_COLUMNS)
        return self.random.choice(strings_like(name)) if name in COLUMNS else name

    def _inner(self, column: str) -> Signature | None:
        """A call that gives what the column holds."""
        wanted = family(COLUMNS[column].type)
        other = wanted.removeprefix("?") if "?" in wanted else f"?{wanted}"
        giving = all_signatures().giving.get(other if self.random.random() < 0.3 else wanted)
        if not giving:
            return None
        made = self._signature(giving)
        return None if made.form.name in LAST_DIGIT else made

    def _over_aggregate(self) -> tuple[str, set[Cell]]:
        aggregate = self._signature(all_signatures().aggregates)
        inside, cells = self._filled(aggregate, 0)
        wanted = family(aggregate.gives)
        outer = all_signatures().taking.get(wanted)
        if not outer:
            return inside, cells
        signature = self._signature(outer)
        arguments = [inside, *(f"min({each})" for each in signature.columns[1:])]
        return signature.form.call(arguments), cells | {(signature.form.name, f"({aggregate.form.name})")}


@lru_cache(maxsize=8)
def _totals(names: tuple[str, ...], weights: tuple[tuple[str, int], ...]) -> tuple[tuple[str, ...], tuple[int, ...]]:
    by_name = dict(weights)
    return names, tuple(accumulate(by_name.get(name.split("-")[0], 1) for name in names))


def family_one() -> Type:
    """The type of `1`."""
    (of,) = result_types(["1"])
    assert of is not None
    return of
