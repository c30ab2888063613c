"""A destination that goes on where its store lacks a column, and keeps the values aside.

In: packages. Out: those packages at the store, without the columns that it lacks; the whole rows where they are kept.
Invariants: rows are kept before the store has them without a value, so that no value is anywhere only in this process;
each package is tried whole first, so that a column that was made meanwhile is filled at once. A column of the key is
never left out.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from penstock.crash_points import crash_point
from penstock.postgres.delivery.destination import Delivered, Destination, ForwardingDestination, StoreLacksColumns
from penstock.postgres.packages.package import Package, PackageRow, PackageSchema, RowPackage

log = logging.getLogger("penstock.cdc")


class AsideRows(Protocol):
    """Where whole rows are kept whose store lacks a column."""

    def may_keep(self, store: str) -> bool:
        """Whether a row of a table may come twice, since the later version takes the place of the former."""

    def keep(self, consumer: str, package: RowPackage, columns: Collection[str]) -> None:
        """Keep the rows of a package durably; those that are kept stay once. Raises Failed, Unavailable."""

    def alone(self, consumer: str, store: str) -> AbstractContextManager[None]:
        """A block in which nobody sends rows of the table that were kept. Raises Failed, Unavailable."""

    def forget_table(self, consumer: str, store: str) -> None:
        """The rows of a table are gone from Postgres. Raises Failed, Unavailable."""


class ForgettingDestination(ForwardingDestination):
    """A store, and where rows of it are kept: those of before a TRUNCATE are kept no more, so that no replay brings
    them back; also where none are kept any more, since the setting was changed."""

    def __init__(self, store: Destination, aside: AsideRows):
        super().__init__(store)
        self._aside = aside

    def deliver(self, package: Package) -> Delivered:
        """Raises what the store raises."""
        if isinstance(package, RowPackage):
            return self._store.deliver(package)
        with self._aside.alone(self.name, package.store):
            self._aside.forget_table(self.name, package.store)
            return self._store.deliver(package)


class KeepingDestination(ForwardingDestination):
    """A store, and where rows are kept that it has only a part of."""

    def __init__(self, store: Destination, aside: AsideRows):
        super().__init__(ForgettingDestination(store, aside))
        self._aside = aside
        self._told: set[tuple[str, tuple[str, ...]]] = set()

    def deliver(self, package: Package) -> Delivered:
        """Raises StoreLacksColumns for a column of the key and for a table without one, and what the store raises."""
        if not isinstance(package, RowPackage):
            return self._store.deliver(package)
        try:
            return self._store.deliver(package)
        except StoreLacksColumns as error:
            lacking = error.columns
            if not _may_leave_out(package.schema, lacking) or not self._aside.may_keep(package.store):
                raise
        known = [each for each in package.rows if not each.key_only]
        if known:
            self._aside.keep(self.name, package.part(known, package.after), lacking)
        crash_point("cdc.kept")
        if (package.store, lacking) not in self._told:
            self._told.add((package.store, lacking))
            log.warning("%s has no column for %s: rows go on, and are kept", package.store, ", ".join(lacking))
        return self._store.deliver(without_columns(package, lacking))


def without_columns(package: RowPackage, columns: Collection[str]) -> RowPackage:
    """The package without some of its columns."""
    places = [at for at, each in enumerate(package.schema.columns) if each.name not in columns]
    schema = replace(package.schema, columns=tuple(package.schema.columns[at] for at in places), fingerprint=None)
    rows = tuple(_row_of(each, places) for each in package.rows)
    return replace(package, schema=schema, rows=rows)


def _row_of(row: PackageRow, places: Collection[int]) -> PackageRow:
    return replace(row, values=tuple(row.values[at] for at in places))


def _may_leave_out(schema: PackageSchema, columns: Collection[str]) -> bool:
    """Whether these are columns of the table that only rows have values in, and not what tells them apart."""
    return bool(columns) and {*columns} <= {each.name for each in schema.columns if not each.is_key}
