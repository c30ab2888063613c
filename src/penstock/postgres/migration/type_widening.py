"""Whether a type has every value of another one, in the same form.

In: two types of Postgres. Out: whether a change from one to the other is a widening. Invariant: a text that Postgres
sends of the narrower type is a text of the wider one with the same meaning; in doubt the answer is no.
"""

from __future__ import annotations

from penstock.postgres.catalog.replicated_table import ReplicatedType
from penstock.postgres.catalog.store_types import numeric_digits

_INTEGERS = {"smallint": 5, "integer": 10, "bigint": 19}
"""The decimal digits that the values need."""
_TEXTS = ("character varying", "text")


def is_widening(before: ReplicatedType, after: ReplicatedType) -> bool:
    """Whether every value of `before` is a value of `after`."""
    one, other = before.stored, after.stored
    if one.labels is not None or other.labels is not None:
        return _labels_kept(one, other)
    if one.name in _INTEGERS:
        return _holds_digits(other, _INTEGERS[one.name], 0) or _INTEGERS.get(other.name, 0) >= _INTEGERS[one.name]
    if one.name in _TEXTS and other.name in _TEXTS:
        return other.typmod < 0 or 0 <= one.typmod <= other.typmod
    if one.name == "numeric" and other.name == "numeric":
        digits = numeric_digits(one)
        return other.typmod < 0 or (digits is not None and _holds_digits(other, digits[0] - digits[1], digits[1]))
    if (one.name, other.name) == ("real", "double precision"):
        return True
    return one.name == other.name and (one.typmod == other.typmod or other.typmod < 0)


def _labels_kept(one: ReplicatedType, other: ReplicatedType) -> bool:
    if one.labels is None:
        return False
    if other.labels is None:
        return other.name == "text"
    return {each.label for each in one.labels} <= {each.label for each in other.labels}


def _holds_digits(of: ReplicatedType, whole: int, fraction: int) -> bool:
    """Whether a numeric has so many digits before and behind the point."""
    if of.name != "numeric":
        return False
    digits = numeric_digits(of)
    return digits is None or (digits[1] >= fraction and digits[0] - digits[1] >= whole)
