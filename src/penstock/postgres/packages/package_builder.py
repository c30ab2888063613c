"""Collects the rows of one table into a package.

In: rows of one schema after the other. Out: packages. Invariant: a package has rows of one schema and is bounded in
rows, bytes and age, so that neither memory nor a call to a store grows with a transaction.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from penstock.model.cursor import Position
from penstock.postgres.packages.package import PackageRow, PackageSchema, RowPackage

OVERHEAD = 64
"""Bytes of a row beside its values."""


@dataclass(frozen=True, slots=True)
class PackageLimits:
    """How large and how old a package becomes at most."""

    rows: int = 5_000
    bytes: int = 4 * 2**20
    seconds: float = 1.0


@dataclass(slots=True)
class PackageBuilder:
    """The rows of one table that are not in a package yet."""

    source: str
    store: str
    limits: PackageLimits
    whole: Position | None = None
    """The first package ends at this position if its rows come there: it is one that was sent before."""
    confirmable: int = 0
    """The LSN that may be confirmed while its rows wait: the end of the last commit before the first of them."""
    _schema: PackageSchema | None = None
    _rows: list[PackageRow] = field(default_factory=list)
    _bytes: int = 0
    _began: float = 0.0

    @property
    def is_empty(self) -> bool:
        return not self._rows

    @property
    def is_full(self) -> bool:
        if self.is_partial:
            return False
        return self.whole is not None or len(self._rows) >= self.limits.rows or self._bytes >= self.limits.bytes

    def is_old(self) -> bool:
        """Whether its first row has waited long enough."""
        return bool(self._rows) and not self.is_partial and time.monotonic() - self._began >= self.limits.seconds

    @property
    def is_partial(self) -> bool:
        """Whether rows of the package that was sent before are still to come."""
        return self.whole is not None and (not self._rows or self._rows[-1].position < self.whole)

    def fits(self, schema: PackageSchema) -> bool:
        """Whether rows of this schema may be added to those that wait."""
        return not self._rows or self._schema == schema

    def add(self, schema: PackageSchema, row: PackageRow, confirmable: int) -> None:
        """Add a row whose schema fits. `confirmable` is the end of the last commit before its transaction."""
        assert self.fits(schema), "the caller has taken the rows of the former schema"
        if not self._rows:
            self._schema, self._began, self.confirmable = schema, time.monotonic(), confirmable
        self._rows.append(row)
        self._bytes += OVERHEAD + sum(len(each) for each in row.values if each is not None)

    def take(self) -> RowPackage:
        """The package of all rows that wait, of which there is at least one."""
        assert self._schema is not None
        assert self._rows
        made = RowPackage(self.source, self.store, self._schema, self._rows[-1].position, tuple(self._rows))
        self._rows, self._bytes, self.whole = [], 0, None
        return made
