"""A destination that stops at changes which its store carries out where they stand in Postgres' log.

In: packages. Out: those that may go, at the store. Invariant: whether rows may go is asked before each package, so that
none of a form behind the change is stored before the store has the change, and none of before after it.
"""

from __future__ import annotations

from typing import Protocol

from penstock.errors import Conflict, Failed
from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.catalog.schema_form import schema_form
from penstock.postgres.delivery.destination import Delivered, Destination, ForwardingDestination
from penstock.postgres.packages.package import Package, PackageSchema, RowPackage


class WaitsForChange(Conflict):
    """Rows are from behind a change that the store does not have yet."""

    code = "waits-for-change"

    def __init__(self, table: str, stop: ChangeStop):
        super().__init__(
            f"rows of {table} are from behind {stop.migration}, which {stop.store} does not have yet",
            hint="`penstock migrations apply --phase at_lsn` carries it out; then they go on by themselves",
        )


class LateRows(Failed):
    """Rows are from before a change that the store has already."""

    code = "late-rows"

    def __init__(self, table: str, stop: ChangeStop):
        super().__init__(
            f"rows of {table} are from before {stop.migration}, which {stop.store} has already: their columns have "
            "other meanings there",
            hint="empty the table in the store, then `penstock cdc remove` and `cdc add` read it anew",
        )


class ChangeStops(Protocol):
    """The stops before one store."""

    def stop_of(self, form: str, lsn: int) -> ChangeStop | None:
        """What keeps rows of a form, from an LSN on, from the store. Raises Failed, Unavailable."""

    def reach(self, stop: ChangeStop, consumer: str, lsn: int) -> None:
        """A consumer stands at a stop, before rows from an LSN on. Raises Failed, Unavailable."""


class StoppingDestination(ForwardingDestination):
    """A store with its stops."""

    def __init__(self, store: Destination, stops: ChangeStops):
        super().__init__(store)
        self._stops = stops

    def deliver(self, package: Package) -> Delivered:
        """Raises WaitsForChange, LateRows, and what the store raises."""
        if isinstance(package, RowPackage):
            self._check(package.schema, min(each.version for each in package.rows))
        return self._store.deliver(package)

    def _check(self, schema: PackageSchema, lsn: int) -> None:
        form = schema_form(schema.table, ((each.name, each.type) for each in schema.columns))
        stop = self._stops.stop_of(form, lsn)
        if stop is None:
            return
        if stop.is_done:
            raise LateRows(str(schema.table), stop)
        self._stops.reach(stop, self.name, lsn)
        raise WaitsForChange(str(schema.table), stop)
