"""What Iceberg's statistics say of all values that a table has stored in a column.

In: counts of rows and of NULLs, the least and the greatest value. Out: whether no row has NULL, and whether all values
are within a range. Invariant: what is not known of one file is not known of the column, so a claim is answered with yes
only if no row can contradict it. Rows that were removed from a file since only make fewer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from penstock.model.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """One physical column, in all data files of a snapshot."""

    rows: int
    nulls: int | None
    """How many rows have NULL; None if a file does not say."""
    low: int | None = None
    high: int | None = None
    """The least and the greatest value: of a date the days since 1970, of a decimal its digits as a whole number. None
    if a file does not say, and where values are no such numbers: bounds of texts may be cut off."""

    @property
    def is_never_null(self) -> bool:
        return self.nulls == 0

    def is_within(self, low: int, high: int) -> bool:
        """Whether every value that is not NULL is in the range, ends included."""
        if self.nulls == self.rows:
            return True
        return self.low is not None and self.high is not None and low <= self.low and self.high <= high


@dataclass(frozen=True, slots=True)
class StoredValues:
    """The columns of a table as they are in one snapshot."""

    files: int
    columns: Mapping[str, StoredColumn] = field(default_factory=dict)
    """By physical column; one of which files say nothing is left out."""
    is_whole: bool = False
    """No row was ever removed from the table: what holds of its rows held of each row that a view has read of it."""


@dataclass(frozen=True, slots=True)
class StoredClaim:
    """What a plan takes for granted of all rows that a live table has stored, since statistics prove it. Rows arrive
    after a plan is made, so it has to hold once more of those that there are when the plan is carried out."""

    source: str
    """The data source, by its name in the next version."""
    name: str
    """Its column."""
    table: str
    column: str
    """The physical table and column."""
    never_null: bool = False
    low: int | None = None
    high: int | None = None
    """The range of its values, in the units of `StoredColumn`; None where any value will do."""
    whole: bool = False
    """It also has to hold of rows that views have read and that are gone: there must be none."""

    def is_proved_by(self, stored: StoredValues) -> bool:
        found = stored.columns.get(self.column)
        if found is None or (self.whole and not stored.is_whole):
            return False
        if self.never_null and not found.is_never_null:
            return False
        return self.low is None or self.high is None or found.is_within(self.low, self.high)
