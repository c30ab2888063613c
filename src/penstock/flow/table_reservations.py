"""Which tables may be stepped into: those that no step writes and nobody has reserved.

In: steps as they begin and end, and reservations of sets of tables. Out: whether a table is free, and whether a
reservation is granted. Invariant: from the moment of a reservation no step into its tables begins; it is granted once
the steps that run have ended, and reservations that share a table are granted in the order in which they were made. So
nobody waits for longer than the reservations before him and one step. Not thread-safe: the scheduler holds its lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection


class Reservation:
    """A set of tables for one holder; it has all of them at once, or none."""

    def __init__(self, tables: Collection[str]):
        self.tables = frozenset(tables)


class TableReservations:
    """The tables in use."""

    def __init__(self) -> None:
        self._stepped: set[str] = set()
        self._queues: dict[str, deque[Reservation]] = {}
        self._excluded: frozenset[str] = frozenset()

    def is_free(self, table: str) -> bool:
        """Whether a step into the table may begin."""
        return table not in self._stepped and table not in self._queues and table not in self._excluded

    def has_step(self, tables: Collection[str]) -> bool:
        """Whether a step into one of the tables runs."""
        return not self._stepped.isdisjoint(tables)

    def begin_step(self, table: str) -> None:
        """Mark a free table as written by a step."""
        assert self.is_free(table), f"{table} is in use"
        self._stepped.add(table)

    def end_step(self, table: str) -> None:
        self._stepped.discard(table)

    def reserve(self, tables: Collection[str]) -> Reservation:
        """Let no step into these tables begin until `release`."""
        made = Reservation(tables)
        for table in made.tables:
            self._queues.setdefault(table, deque()).append(made)
        return made

    def is_granted(self, reservation: Reservation) -> bool:
        """Whether the reservation is the first of each of its tables, and no step writes any of them."""
        return all(self._queues[table][0] is reservation and table not in self._stepped for table in reservation.tables)

    def release(self, reservation: Reservation) -> tuple[str, ...]:
        """End a reservation, granted or not. Returns the tables that are free now."""
        for table in reservation.tables:
            queue = self._queues[table]
            queue.remove(reservation)
            if not queue:
                del self._queues[table]
        return tuple(table for table in reservation.tables if self.is_free(table))

    def exclude(self, tables: Collection[str]) -> tuple[str, ...]:
        """Let no step begin into these tables, and only these, since another process writes them. Returns the tables
        that are free now."""
        before, self._excluded = self._excluded, frozenset(tables)
        return tuple(table for table in before - self._excluded if self.is_free(table))

    def has_excluded_step(self) -> bool:
        """Whether a step into an excluded table still runs."""
        return not self._excluded.isdisjoint(self._stepped)
