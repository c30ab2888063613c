"""What has to hold of the stored values of a column so that each of them is a value of its new type.

In: a column in both versions, and what Iceberg's statistics say of the live table. Out: `Proof`: the claim and the
sentence that proves it, or None. Invariant: where a claim holds, a cast to the new type gives every stored value and
fails for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal as Number

from penstock.model.datasource import Column
from penstock.model.quick_dataclass import dataclass
from penstock.model.stored_values import StoredClaim, StoredColumn, StoredValues
from penstock.model.types import (
    AggregateFunction,
    Date,
    Decimal,
    Int,
    SimpleAggregateFunction,
    Type,
    is_nullable,
    unwrap_type,
)
from penstock.plan.diff.changes import join_words

_DAYS = (0, 2**16 - 1)
"""The days of a Date, from 1970-01-01 on."""
_MOST_DIGITS = 18
"""Of a Decimal whose range fits 64 bits, as a claim is stored."""
_MERGED = (AggregateFunction, SimpleAggregateFunction)
"""Types of columns that the engine merges: what it makes of stored values is no longer what is stored."""


@dataclass(frozen=True, slots=True)
class Proof:
    """A claim that the statistics prove."""

    claim: StoredClaim
    files: int
    """The data files that they are of."""
    values: str = ""
    """From where to where the values are; empty if that does not matter."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the live values of a column are."""

    source: str
    """The data source, by its name in the next version."""
    table: str
    column: str
    """The physical table and column."""


def prove_values_fit(place: Place, origin: Column, column: Column, stored: StoredValues) -> Proof | None:
    """The proof that each value that is stored of `origin` is one of the type of `column`; None where there is none."""
    never_null = is_nullable(origin.type) and not is_nullable(column.type)
    have, want = unwrap_type(origin.type), unwrap_type(column.type)
    if isinstance(origin.type, _MERGED) or isinstance(column.type, _MERGED):
        return None
    bounds = _range(have, want) if have != want else None
    if have != want and bounds is None:
        return None
    low, high = bounds or (None, None)
    claim = StoredClaim(place.source, column.name, place.table, place.column, never_null, low, high)
    if not claim.is_proved_by(stored):
        return None
    return Proof(claim, stored.files, _values_text(stored.columns[claim.column], have) if have != want else "")


def _range(have: Type, want: Type) -> tuple[int, int] | None:
    """The range in which a value of one type is the same value of another; None where a range does not tell."""
    match have, want:
        case Int(), Int():
            return want.low, want.high
        case Decimal(_, scale), Decimal(digits, same) if scale == same and digits <= _MOST_DIGITS:
            return 1 - 10**digits, 10**digits - 1
        case Date(), Date() if not want.wide:
            return _DAYS
        case _:
            return None


def proofs_text(proofs: Sequence[Proof]) -> str:
    """The claims and what proves them, as a part of a sentence; empty if there are none."""
    by_source: dict[str, list[Proof]] = {}
    for each in proofs:
        by_source.setdefault(each.claim.source, []).append(each)
    return "; ".join(_proofs_of_one(source, found) for source, found in by_source.items())


def _proofs_of_one(source: str, proofs: Sequence[Proof]) -> str:
    count = proofs[0].files
    if not count:
        return f"`{source}` has no row yet"
    files = f"{count:,} file{'' if count == 1 else 's'}"
    nulls = join_words(dict.fromkeys(f"`{each.claim.name}`" for each in proofs if each.claim.never_null))
    counted = f"no row of `{source}` has NULL in {nulls}: Iceberg counts 0 in {files}" if nulls else ""
    ranges = join_words(f"`{each.claim.name}` {each.values}" for each in proofs if each.values)
    found = f"Iceberg has {ranges} in {files} of `{source}`" if ranges else ""
    return "; ".join(filter(None, (counted, found)))


def obstacle_text(place: Place, origin: Column, column: Column, stored: StoredValues) -> str:
    """What the statistics say against it, as a part of a sentence; empty if they say nothing."""
    found = stored.columns.get(place.column)
    if found is None:
        return ""
    if is_nullable(origin.type) and not is_nullable(column.type) and found.nulls:
        return f"Iceberg counts {found.nulls:,} NULL{'' if found.nulls == 1 else 's'} in it"
    have, want = unwrap_type(origin.type), unwrap_type(column.type)
    values = _values_text(found, have) if _range(have, want) is not None else ""
    return f"Iceberg has values {values} in it" if values else ""


def _values_text(found: StoredColumn, of: Type) -> str:
    """From where to where the values of a type are; empty if that is not known."""
    if found.nulls == found.rows:
        return "with NULL only"
    if found.low is None or found.high is None:
        return ""
    return f"from {_value_text(found.low, of)} to {_value_text(found.high, of)}"


def _value_text(value: int, of: Type) -> str:
    """A stored value as people write it."""
    match of:
        case Date():
            return str(date(1970, 1, 1) + timedelta(days=value))
        case Decimal(_, scale):
            return str(Number(value).scaleb(-scale))
        case _:
            return str(value)
