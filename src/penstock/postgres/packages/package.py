"""Packages: changes of one table of exactly one schema, in the order in which they were committed.

In: rows of the stream, or read from a table. Out: frozen values that every store and broker takes. Invariants: the rows
of a package have the same columns; a row is known for ever by its position (the LSN of its commit, and its ordinal in
the transaction), and a package may end behind any row, since a restart can tell by the position what is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, Union

from penstock.model.cursor import Position
from penstock.postgres.catalog.replicated_table import QualifiedName

FIRST_READ = (1, 0)
"""The part of a reading, and the number in it, of its first row."""
Operation = Literal["insert", "update", "delete", "read"]
"""`read` is a row that was read from the table, not from the stream."""


@dataclass(frozen=True, slots=True)
class PackageColumn:
    """A column of a package."""

    name: str
    type: str
    """The name of the type of its values: that of a domain is the one it is based on."""
    typmod: int = -1
    is_key: bool = False


@dataclass(frozen=True, slots=True)
class PackageSchema:
    """What all rows of a package look like."""

    table: QualifiedName
    columns: tuple[PackageColumn, ...]
    fingerprint: str | None = None
    """Of the table's schema (`catalog/fingerprint.py`), where the catalog of that moment is known."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.columns)


@dataclass(frozen=True, slots=True)
class PackageRow:
    """A row as it is after a change, or was when it was deleted."""

    position: Position
    """The LSN of its commit, and its ordinal in the transaction; of a row that was read also the number of its part."""
    version: int
    """The LSN of the change itself: of two changes of a row the later one has the greater."""
    operation: Operation
    values: tuple[str | None, ...]
    """As Postgres writes them as text; None for NULL."""
    key_only: bool = False
    """Whether only the values of the key are known, as of a deleted row."""

    @property
    def is_deleted(self) -> bool:
        return self.operation == "delete"


@dataclass(frozen=True, slots=True)
class RowPackage:
    """Rows for a store."""

    source: str
    """Who sends it: positions of one source are compared."""
    store: str
    """The name of the table in the stores."""
    schema: PackageSchema
    upto: Position
    rows: tuple[PackageRow, ...]
    after: Position | None = None
    """The position of the last row before; None: it is the first package of its source."""
    as_of: int | None = None
    """Of rows that were read from the table: an LSN at which it had them so; None: not known."""
    behind: tuple[str, Position] | None = None
    """Another source of the table, and its position that is to be stored before: a TRUNCATE of there, which comes late,
    would remove rows that were read after it."""

    def following(self, stored: Position | None) -> RowPackage:
        """What of it comes after a position."""
        kept = tuple(each for each in self.rows if stored is None or each.position > stored)
        return replace(self, rows=kept, after=stored)

    def part(self, rows: Sequence[PackageRow], after: Position | None) -> RowPackage:
        """A package of some of its rows, which follow a position."""
        return replace(self, rows=tuple(rows), upto=rows[-1].position, after=after)


@dataclass(frozen=True, slots=True)
class TruncatePackage:
    """All rows of before are gone."""

    source: str
    store: str
    table: QualifiedName
    upto: Position
    version: int
    after: Position | None = None

    def following(self, stored: Position | None) -> TruncatePackage:
        """The same, after a position."""
        return replace(self, after=stored)


Package: TypeAlias = Union[RowPackage, TruncatePackage]


def begins_reading(package: RowPackage) -> bool:
    """Whether it has the first rows that were read from a table: with those behind them they are all that it has."""
    first = package.rows[0]
    return first.operation == "read" and first.position[2:] == FIRST_READ


def part_since(package: Package, since: int) -> Package | None:
    """What of a package was changed, or read, at an LSN or behind it; None if nothing was."""
    match package:
        case TruncatePackage():
            return package if package.version >= since else None
        case RowPackage():
            rows = tuple(each for each in package.rows if each.version >= since)
            return replace(package, rows=rows) if rows else None
