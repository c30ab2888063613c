"""What a message of the stream does to rows.

In: an Insert, Update or Delete and the table as it is at that place. Out: rows for packages. Invariants: an UPDATE that
changes the key is the end of one row and the beginning of another, in this order; no row leaves with a value missing
that nobody is told of. A large value that an UPDATE did not change is not in the stream. Where the old row is (REPLICA
IDENTITY FULL) it is taken from there. Else it is fetched from the table as it is now: if the value was changed since,
that change comes later in the stream with its value; if the row is gone, that comes, too, so the row is taken as
deleted already. From the place of the fetch on the store is as Postgres is.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from typing_extensions import assert_never

from penstock.errors import Failed
from penstock.postgres.capture.schemas.schema_tracker import TrackedTable
from penstock.postgres.capture.stream.pgoutput import Delete, Insert, Row, Unchanged, Update
from penstock.postgres.capture.unchanged_values import FetchedValues, Reason
from penstock.postgres.packages.package import Operation


class UnknownKey(Failed):
    """Rows of a table cannot be told from each other."""

    code = "unknown-key"


@dataclass(frozen=True, slots=True)
class RowChange:
    """What becomes of one row."""

    operation: Operation
    values: tuple[str | None, ...]
    key_only: bool = False
    lost: Mapping[str, Reason] = field(default_factory=dict)
    """Columns whose value cannot be had any more; something empty stands for it."""


class ValueSource(Protocol):
    """Fetches the values that a row of the stream lacks, as they are now; None: the row is gone."""

    def __call__(self, table: TrackedTable, row: Row, lsn: int) -> FetchedValues | None: ...


def row_changes(
    message: Insert | Update | Delete, table: TrackedTable, lsn: int, fetch: ValueSource
) -> Iterator[RowChange]:
    """The changes of a message at a place in the log. Raises UnknownKey, and what `fetch` raises."""
    match message:
        case Insert(new=new):
            yield RowChange("insert", _complete(new, table))
        case Update(new=new, old=old, old_kind=kind):
            _check_key(table)
            if old is not None:  # a large key is in the old row, too, of which only the key is sent
                new = _filled(new, old, range(len(new)) if kind == "O" else table.key)
            if old is not None and table.key_of(old) != table.key_of(new):
                yield RowChange("delete", _known(old), kind == "K")
            yield _updated(new, table, lsn, fetch)
        case Delete(old=old, old_kind=kind):
            _check_key(table)
            yield RowChange("delete", _known(old), kind == "K")
        case _:
            assert_never(message)


def _check_key(table: TrackedTable) -> None:
    if not table.key:
        raise UnknownKey(
            f"a row of {table.schema.table} was changed, and the table has no key to tell which",
            hint="give it a primary key, or a replica identity by an index; then `cdc remove` and `cdc add` it",
        )


def _updated(new: Row, table: TrackedTable, lsn: int, fetch: ValueSource) -> RowChange:
    if not any(isinstance(each, Unchanged) for each in new):
        return RowChange("update", _complete(new, table))
    found = fetch(table, new, lsn)
    if found is None:
        return RowChange("delete", _known(new), key_only=True)
    values = tuple(found.values[at] if isinstance(each, Unchanged) else each for at, each in enumerate(new))
    return RowChange("update", values, lost=found.lost)


def _filled(new: Row, old: Row, places: Container[int]) -> Row:
    """The new row with the values of the old one where they are unchanged."""
    return tuple(
        before if isinstance(each, Unchanged) and at in places else each
        for at, (each, before) in enumerate(zip(new, old, strict=True))
    )


def _complete(row: Row, table: TrackedTable) -> tuple[str | None, ...]:
    if any(isinstance(each, Unchanged) for each in row):
        raise Failed(f"a new row of {table.schema.table} lacks a value, which Postgres does not do")
    return _known(row)


def _known(row: Row) -> tuple[str | None, ...]:
    """The values; one that was not sent is NULL here, of a row of which only the key counts."""
    return tuple(None if isinstance(each, Unchanged) else each for each in row)
