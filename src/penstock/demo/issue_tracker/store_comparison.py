"""A table of a store compared with the one of Postgres.

In: rows of both, as texts, by the same columns. Out: a `StoreComparison`. Invariant: a row is lost, doubled or too much
by its key; a value is wrong if its row is there and the value is another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

Line = tuple["str | None", ...]


@dataclass(frozen=True, slots=True)
class StoreComparison:
    """How a table of a store differs."""

    store: str
    table: str
    rows: int
    expected: int
    lost: int = 0
    doubled: int = 0
    """Rows whose key is there more than once or not in Postgres, and changes that were stored more than once."""
    wrong: tuple[str, ...] = ()
    """The column of each value that is another one."""

    @property
    def is_equal(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """What is compared."""

    store: str
    name: str
    columns: tuple[str, ...]
    key: int
    """So many of its first columns are its key."""


def compare_table(table: ComparedTable, expected: Iterable[Line], found: Iterable[Line], twice: int) -> StoreComparison:
    """Compare all rows. `twice` is how many changes the store has more than once."""
    wanted = {line[: table.key]: line for line in expected}
    there = [*found]
    counts = Counter(line[: table.key] for line in there)
    lost = sum(key not in counts for key in wanted)
    extra = sum(count - (key in wanted) for key, count in counts.items())
    return StoreComparison(
        table.store,
        table.name,
        len(there),
        len(wanted),
        lost,
        extra + twice,
        _wrong_values(table.columns, wanted, there),
    )


def _wrong_values(columns: Sequence[str], wanted: Mapping[Line, Line], there: Sequence[Line]) -> tuple[str, ...]:
    key = len(next(iter(wanted), ()))
    return tuple(
        name
        for line in there
        if (right := wanted.get(line[:key])) is not None
        for name, one, other in zip(columns, right, line, strict=True)
        if one != other
    )


def value_text(value: object) -> str | None:
    """A value of Postgres, Penstock or ClickHouse as the same text."""
    match value:
        case None:
            return None
        case bool():
            return str(int(value))
        case datetime():
            return value.replace(tzinfo=None).isoformat(" ", "microseconds")
        case _:
            return str(value)
