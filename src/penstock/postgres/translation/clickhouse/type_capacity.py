"""Whether a type of ClickHouse holds every value of another one.

In: two types as ClickHouse spells them. Out: yes or no. Invariant: in doubt no.
"""

from __future__ import annotations

import re

_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "Int128", "Int256")
_DECIMAL = re.compile(r"Decimal\((\d+), (\d+)\)")
_TIME = re.compile(r"DateTime64\((\d)(?:, '([^']*)')?\)")


def holds_values(wide: str, narrow: str) -> bool:
    """Whether every value of `narrow`, NULL included, is one of `wide`."""
    if narrow.startswith("Nullable("):
        return "Nullable(" in wide and holds_values(wide, plain_type(narrow))
    one, other = plain_type(wide), narrow
    if one == other:
        return True
    if one in _INTEGERS and other in _INTEGERS:
        return _INTEGERS.index(one) >= _INTEGERS.index(other)
    if (one, other) == ("Float64", "Float32"):
        return True
    decimals = _DECIMAL.fullmatch(one), _DECIMAL.fullmatch(other)
    if decimals[0] and decimals[1]:
        (precision, scale), (less, fewer) = (tuple(map(int, each.groups())) for each in decimals if each)
        return scale >= fewer and precision - scale >= less - fewer
    times = _TIME.fullmatch(one), _TIME.fullmatch(other)
    return bool(times[0] and times[1] and int(times[0][1]) >= int(times[1][1]) and times[0][2] == times[1][2])


def plain_type(of: str) -> str:
    """A type without Nullable and LowCardinality."""
    for wrapper in ("LowCardinality(", "Nullable("):
        if of.startswith(wrapper):
            of = of[len(wrapper) : -1]
    return of
