"""The values of a WITH FILL key as numbers that ascend, and the step from one to the next.

In: a key's `Typed` and the nodes of STEP. Out: `Ruler`, `Step`. Called by passes.filling. Invariant: numbers and
values are the same set, one to one; a descending key has its numbers negated.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.dates import shift, zone_of
from penstock.sql.fill_sql import Step
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed
from penstock.sql.whole_numbers import typed_number, whole

_SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}
_SHORTEST = {"DAY": 82800, "WEEK": 601200, "MONTH": 2415600, "QUARTER": 7689600, "YEAR": 31532400}
"""The least seconds of a unit, on a zone's clock as well."""
_FINE = {"MILLISECOND": 1000, "MICROSECOND": 1}
_DATE_UNITS = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


@dataclass(frozen=True, slots=True)
class Ruler:
    """How a key's values are counted: days of a Date, seconds of a DateTime, microseconds of a DateTime64."""

    key: Typed
    descending: bool

    @property
    def supported(self) -> bool:
        of = self.key.bare
        return isinstance(of, (t.Int, t.Bool, t.Date, t.DateTime, t.DateTime64)) or of == t.Float(64)

    def number(self, sql: str) -> str:
        match self.key.bare:
            case t.Float():
                number = f"CAST({sql} AS DOUBLE)"
            case t.Date():
                number = f"CAST(unix_date({sql}) AS BIGINT)"
            case t.DateTime():
                number = f"unix_seconds({sql})"
            case t.DateTime64():
                number = f"unix_micros({sql})"
            case _:
                number = f"CAST({sql} AS BIGINT)"
        return f"(- {number})" if self.descending else number

    def value(self, number: str) -> str:
        number = f"(- {number})" if self.descending else number
        match self.key.bare:
            case t.Float():
                return number
            case t.Date():
                return f"date_from_unix_date(CAST({number} AS INT))"
            case t.DateTime():
                return f"timestamp_seconds({number})"
            case t.DateTime64():
                return f"timestamp_micros({number})"
            case t.Bool():
                return f"({number} <> 0L)"
            case _:
                return f"CAST({number} AS {'INT' if self.key.spark == 'BOOLEAN' else self.key.spark})"

    def literal(self, number: int) -> str | None:
        """A bound that is a literal; None where the type does not have it."""
        of = self.key.bare
        signed = -number if self.descending else number
        match of:
            case t.Float():
                return f"CAST({signed} AS DOUBLE)"
            case t.Int():
                return f"CAST({signed} AS BIGINT)" if of.low <= number <= min(of.high, 2**63 - 1) else None
            case t.Bool() | t.Date(wide=False) | t.DateTime():
                bits = {t.Bool: 8, t.Date: 16}.get(type(of), 32)
                return f"CAST({signed} AS BIGINT)" if 0 <= number < 2**bits else None
            case _:
                return None

    def bound(self, value: Typed) -> str | None:
        """A bound of another kind; None where it has another type."""
        have, want = value.bare, self.key.bare
        if value.nullable:
            return None
        match want:
            case t.Int():
                fits = isinstance(have, t.Int) and want.low <= have.low and have.high <= want.high
            case t.Float():
                fits = isinstance(have, (t.Int, t.Float))
            case t.DateTime64(precision):
                fits = isinstance(have, t.DateTime64) and have.precision == precision
            case _:
                fits = type(have) is type(want) and (not isinstance(want, t.Date) or have == want)
        return self.number(value.sql) if fits else None


def step_of(tr: Translator, key: exp.Expr, ruler: Ruler, node: exp.Expr | None) -> Step:
    """STEP, or one unit in the direction of the order. Raises Refused."""
    if node is None:
        return _counted(tr, key, ruler, -1 if ruler.descending else 1)
    number = whole(tr, node)
    if number is not None:
        return _counted(tr, node, ruler, number)
    value = tr.translate(node)
    if value.unit is not None:
        if not isinstance(value.constant, int):
            raise _refused(tr, node, "STEP takes a literal number of units")
        return _interval(tr, node, ruler, (value.constant, value.unit))
    if isinstance(value.bare, t.Float) and isinstance(ruler.key.bare, t.Float):
        return _fraction(tr, node, ruler, value)
    raise _refused(tr, node, f"STEP takes a whole number or an INTERVAL for {ruler.key.type}")


def _refused(tr: Translator, node: exp.Expr, message: str) -> Exception:
    return tr.refused(node, "unsupported-fill", message)


def _checked(tr: Translator, node: exp.Expr, ruler: Ruler, number: float) -> None:
    if number == 0 or (number < 0) != ruler.descending:
        raise _refused(tr, node, "STEP must go in the direction of the order, and not be 0")


def _counted(tr: Translator, node: exp.Expr, ruler: Ruler, number: int) -> Step:
    _checked(tr, node, ruler, number)
    if isinstance(ruler.key.bare, t.Float):
        return _repeated(f"{abs(number)}D")
    return Step(f"{abs(number) * (1_000_000 if isinstance(ruler.key.bare, t.DateTime64) else 1)}L")


def _fraction(tr: Translator, node: exp.Expr, ruler: Ruler, value: Typed) -> Step:
    """Floats are added up one by one, so that they are rounded as in ClickHouse."""
    negative = isinstance(node, exp.Neg)
    constant = tr.translate(node.this).constant if negative else typed_number(node) or value.constant
    if not isinstance(constant, float):
        raise _refused(tr, node, "STEP takes a literal number")
    _checked(tr, node, ruler, -constant if negative else constant)
    return _repeated(f"{abs(constant)!r}D")


def _repeated(step: str) -> Step:
    return Step(
        following=lambda before: f"({before} + {step})",
        at_most=lambda distance: f"CAST(ceil({distance} / {step}) AS INT) + 2",
    )


def _interval(tr: Translator, node: exp.Expr, ruler: Ruler, given: tuple[int, str]) -> Step:
    number, unit = given
    of = ruler.key.bare
    _checked(tr, node, ruler, number)
    if isinstance(of, t.Date) and unit in _DATE_UNITS:
        days = abs(number) * _SECONDS.get(unit, 0) // 86400
        return Step(f"{days}L") if days else _moved(ruler, given)
    micros = isinstance(of, t.DateTime64)
    if isinstance(of, t.DateTime64) and unit in _FINE:
        if abs(number) * _FINE[unit] % 10 ** (6 - of.precision) == 0:
            return Step(f"{abs(number) * _FINE[unit]}L")
    elif isinstance(of, (t.DateTime, t.DateTime64)) and unit in (*_SECONDS, *_DATE_UNITS):
        if unit in _DATE_UNITS and (zone_of(of) or unit not in _SECONDS):
            return _moved(ruler, given)
        return Step(f"{abs(number) * _SECONDS[unit] * (1_000_000 if micros else 1)}L")
    raise _refused(tr, node, f"STEP of {unit.lower()}s is not supported over {ruler.key.type}")


def _moved(ruler: Ruler, given: tuple[int, str]) -> Step:
    """Steps of no fixed length: each value is made of the one before, as a month's end stays lost once cut."""
    number, unit = given
    amount = Typed(f"{number}L", t.Int(64, signed=True), "BIGINT", number)
    least = _SHORTEST[unit] * abs(number)
    ticks = {t.Date: 1, t.DateTime: 86400, t.DateTime64: 86400 * 1_000_000}[type(ruler.key.bare)] * least // 86400

    def following(before: str) -> str:
        held = Typed(ruler.value(before), ruler.key.bare, ruler.key.spark)
        return ruler.number(shift(held, amount, unit, 1).sql)

    return Step(following=following, at_most=lambda distance: f"CAST({distance} div {ticks}L AS INT) + 2")
