"""A destination that stops at changes which its store carries out where they stand in Postgres' log.

In: packages. Out: those that may go, at the store. Invariant: whether rows may go is asked before each package, so that
none of a form behind the change is stored before the store has the change, and none of before after it. Of a package
that has rows of both sides, which look the same, the first go, and the others wait. Where somebody else has stored rows
that wait here, who does not stop, the table is read again.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.errors import Conflict, Failed
from penstock.model.cursor import Position
from penstock.postgres.application.change_stop import ChangeStop, RowPlaces
from penstock.postgres.catalog.schema_form import schema_form
from penstock.postgres.delivery.destination import Delivered, Destination, ForwardingDestination
from penstock.postgres.packages.package import Package, RowPackage

log = logging.getLogger("penstock.cdc")


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

    def stop_of(self, form: str, places: RowPlaces) -> ChangeStop | None:
        """What keeps rows of a form from the store. Raises Failed, Unavailable."""

    def reach(self, stop: ChangeStop, consumer: str, lsn: int) -> None:
        """A consumer stands at a stop, before rows from an LSN on. Raises Failed, Unavailable."""

    def doubt(self, stop: ChangeStop) -> None:
        """Rows that wait at a stop may be from before its change, or are in the store already: once that has the change
        the table is read again. Raises Failed, Unavailable."""

    def read_again(self, store: str) -> None:
        """Let a table, by its name in the stores, be read again. Raises Failed, Unavailable."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """A stop at which rows wait."""

    stop: ChangeStop
    first: Position
    """Of the rows that wait."""


class StoppingDestination(ForwardingDestination):
    """A store with its stops."""

    def __init__(self, store: Destination, stops: ChangeStops):
        super().__init__(store)
        self._stops = stops
        self._early: dict[tuple[str, str], Delivered] = {}
        """By source and table, the rows of a package that were stored while those behind them wait: whoever delivers
        it does not know of them."""
        self._standing: dict[tuple[str, str], _Standing] = {}
        """By source and table, where rows wait."""

    def deliver(self, package: Package) -> Delivered:
        """Raises WaitsForChange, LateRows, and what the store raises."""
        if not isinstance(package, RowPackage):
            return self._store.deliver(package)
        key = (package.source, package.store)
        early = self._early.get(key, Delivered(None))
        left = _behind(package, early.position)
        done = early
        if left.rows:
            self._check(left)
            self._leave(left)
            done = self._store.deliver(left)
            done = replace(done, set_aside=done.set_aside + early.set_aside)
        self._early.pop(key, None)
        return done

    def _check(self, package: RowPackage) -> None:
        name = package.schema.table
        stop = self._stops.stop_of(_form(package), _places(package))
        if stop is None:
            return
        if stop.is_done:
            raise LateRows(str(name), stop)
        waiting = _behind(package, self._store_earlier(package, stop))
        if _is_read(package) and package.as_of is None:
            self._stops.doubt(stop)  # an earlier release did not say where in the log they were read
        self._stops.reach(stop, self.name, _places(waiting).first)
        self._stand(waiting, stop)
        raise WaitsForChange(str(name), stop)

    def _stand(self, package: RowPackage, stop: ChangeStop) -> None:
        """Rows wait at a stop, unless somebody else stores them."""
        standing = self._standing.setdefault((package.source, package.store), _Standing(stop, package.rows[0].position))
        if self._is_stored(package, standing):
            self._stops.doubt(stop)

    def _leave(self, package: RowPackage) -> None:
        """Rows go on from where they waited, if they did."""
        standing = self._standing.pop((package.source, package.store), None)
        if standing is not None and self._is_stored(package, standing):
            self._stops.read_again(package.store)

    def _is_stored(self, package: RowPackage, standing: _Standing) -> bool:
        """Whether somebody else has stored rows that wait here."""
        self._store.forget_position(package.source, package.store)
        at = self._store.position(package.source, package.store)
        if at is None or at < standing.first:
            return False
        log.warning(
            "another consumer stores rows of %s in %s, and does not stop at %s: it is read again. Start one only",
            *(package.schema.table, self.name, standing.stop.migration),
        )
        return True

    def _store_earlier(self, package: RowPackage, stop: ChangeStop) -> Position | None:
        """Store the rows of a package that are from before a change, where its forms do not tell them from those behind
        it. Returns where they end."""
        since = stop.since.get(_form(package), 0)
        rows = [each for each in package.rows if each.position[0] < since]
        if _is_read(package) or not rows:
            return None
        earlier = package.part(rows, package.after)
        self._check(earlier)
        done, key = self._store.deliver(earlier), (package.source, package.store)
        aside = self._early[key].set_aside if key in self._early else 0
        self._early[key] = Delivered(earlier.upto, done.set_aside + aside)
        return earlier.upto


def _behind(package: RowPackage, position: Position | None) -> RowPackage:
    """What of a package comes after a position that may be inside of it."""
    is_inside = position is not None and package.rows[0].position <= position
    return package.following(position) if is_inside else package


def _form(package: RowPackage) -> str:
    return schema_form(package.schema.table, ((each.name, each.type) for each in package.schema.columns))


def _places(package: RowPackage) -> RowPlaces:
    """Rows that were read are what the table had at their place: that is where they stand, whatever their version."""
    first = min(each.version for each in package.rows)
    if not _is_read(package):
        return RowPlaces(first, package.rows[0].position[0], package.rows[-1].position[0])
    at = package.as_of
    return RowPlaces(first, first, None) if at is None else RowPlaces(at, at, at)


def _is_read(package: RowPackage) -> bool:
    return package.rows[0].operation == "read"
