"""Tells the source how far a consumer is.

In: what the producer has published, and the positions of the consumer's store. Out: acknowledgements, and what stops a
table. Invariant: an LSN is acknowledged only when the store has every row up to it that was sent, by its own positions:
a broker in which nothing waits, such as one that was emptied or is another one, tells nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from penstock.errors import Conflict, PenstockError, Unavailable
from penstock.model.cursor import Position
from penstock.postgres.application.delivery_records import (
    CaptureBeginning,
    ConsumerStop,
    PublishedTable,
    SourceKey,
    latest,
)
from penstock.postgres.delivery.destination import Destination, LostRows
from penstock.postgres.packages.package import Package, RowPackage, part_since

log = logging.getLogger("penstock.cdc")


class NotCaptured(Conflict):
    """A table is captured no more, and a broker still has rows of it."""

    code = "not-captured"

    def __init__(self, store: str):
        super().__init__(
            f"`{store}` is captured no more: what the broker has of it is not stored",
            hint="`penstock cdc add` captures it again: it is read, and these messages are passed over",
        )


class Acknowledgements(Protocol):
    """Where consumers write down who they are and how far. Its methods raise Failed and Unavailable."""

    def register(self, consumer: str, broker: str) -> None:
        """A consumer of a broker begins."""

    def published(self, broker: str) -> Mapping[str, PublishedTable]:
        """How far each table is in a broker, by its name in the stores."""

    def acknowledge(self, consumer: str, store: str, lsn: int) -> None:
        """All changes of a table up to an LSN are in the consumer's store."""

    def beginning(self, store: str) -> CaptureBeginning | None:
        """Where a table was captured, last; None: it is captured no more."""

    def passed(self, consumer: str) -> Mapping[SourceKey, Position]:
        """Up to where a consumer has passed over messages, which moved no position of its store."""

    def note_passed(self, consumer: str, key: SourceKey, upto: Position) -> None:
        """A consumer has passed over messages up to a position."""

    def note_stop(self, stop: ConsumerStop) -> None:
        """A consumer does not take a table further."""

    def note_going_on(self, consumer: str, store: str) -> None:
        """A consumer takes a table further."""


class ConsumerProgress:
    """How far one consumer is. Its methods raise Failed and Unavailable."""

    def __init__(self, notes: Acknowledgements, destination: Destination, broker: str):
        self._notes, self._destination, self._broker = notes, destination, broker
        self._reached: dict[SourceKey, Position] = {}
        """Where the store is at least, as far as somebody asked."""
        self._passed: dict[SourceKey, Position] = {}
        self._goals: dict[str, PublishedTable] = {}
        """By table, what is acknowledged once the store has it: under a steady load it never has all."""
        self._lacking: set[str] = set()
        """The tables of which the broker has no more, and the store not all."""

    def register(self) -> None:
        """Be known from now on."""
        self._notes.register(self._destination.name, self._broker)
        self._passed = {**self._notes.passed(self._destination.name)}

    def wanted_part(self, package: Package) -> Package | None:
        """What of a package is to be stored; None if nothing is: it is from before the table was captured anew, and
        reading it brings what it made. Raises NotCaptured."""
        if self._has_passed((package.store, package.source), package.upto):
            return None
        began = self._notes.beginning(package.store)
        if began is None:
            raise NotCaptured(package.store)
        if began.lsn is None:
            return package
        wanted = part_since(package, began.lsn) if began.is_read else package
        if wanted is None:
            if package.upto[0] > began.lsn:
                self._pass(package)  # somebody waits until it is stored
            return None
        return self._without_passed(wanted, began.lsn)

    def _without_passed(self, package: Package, began: int) -> Package:
        """The package, which does not ask for what was passed over, nor for what was lost before its table was captured
        anew: whoever did that knows of it."""

        def is_known(source: str, upto: Position) -> bool:
            return upto[0] <= began or self._has_passed((package.store, source), upto)

        if package.after is not None and is_known(package.source, package.after):
            package = replace(package, after=None)
        if isinstance(package, RowPackage) and package.behind is not None and is_known(*package.behind):
            package = replace(package, behind=None)
        return package

    def _has_passed(self, key: SourceKey, upto: Position) -> bool:
        at = self._passed.get(key)
        return at is not None and upto <= at

    def _pass(self, package: Package) -> None:
        key = (package.store, package.source)
        self._notes.note_passed(self._destination.name, key, package.upto)
        self._passed[key] = package.upto

    def stop(self, store: str, error: PenstockError) -> None:
        """A table is not taken further."""
        self._notes.note_stop(ConsumerStop(self._destination.name, store, error.code, error.message))

    def go_on(self, store: str) -> None:
        """A table is taken further."""
        self._notes.note_going_on(self._destination.name, store)

    def acknowledge(self, is_empty: Callable[[str], bool]) -> set[str]:
        """Acknowledge what is stored. Where all that the broker has of a table was taken, and the store lacks some of
        what had been published, that is said. Returns the tables of which something was published."""
        published = self._notes.published(self._broker)
        for store, table in published.items():
            lsn = self._stored_lsn(store, table)
            if lsn is not None:
                self._notes.acknowledge(self._destination.name, store, lsn)
            elif (gap := self._gap(store, table)) is not None and is_empty(store):
                self._tell(store, gap)
            if lsn is not None and store in self._lacking:
                self._lacking.remove(store)
                self.go_on(store)
        return {*published}

    def _stored_lsn(self, store: str, table: PublishedTable) -> int | None:
        """The LSN up to which all of a table is stored, if that is more than before; the goal is set anew once it is
        reached."""
        if self._has(store, table):
            self._goals.pop(store, None)
            return table.lsn
        goal = self._goals.setdefault(store, table)
        if goal is table or not self._has(store, goal):
            return None
        self._goals[store] = table
        return goal.lsn

    def _gap(self, store: str, table: PublishedTable) -> LostRows | None:
        """What the store lacks of what had been published when it was asked before."""
        goal = self._goals.get(store, table)
        if goal is table:
            return None
        for source, each in goal.sent.items():
            is_wanted = table.sent.get(source) is not None  # not if it was captured anew
            if is_wanted and each is not None and not self._is_at((store, source), each):
                return LostRows(store, self._reached.get((store, source)), each)
        return None

    def _tell(self, store: str, gap: LostRows) -> None:
        if store not in self._lacking:
            log.error("%s lacks rows that are not in this broker: %s", store, gap.message)
            self.stop(store, gap)
            self._lacking.add(store)

    def _has(self, store: str, table: PublishedTable) -> bool:
        """Whether the store has all of that."""
        return all(self._is_at((store, source), upto) for source, upto in table.sent.items())

    def _is_at(self, key: SourceKey, upto: Position | None) -> bool:
        """Whether the store has all of a source up to a position."""
        known = latest(self._reached.get(key), self._passed.get(key))
        if upto is None or (known is not None and known >= upto):
            return True
        store, source = key
        try:
            at = self._destination.position(source, store)
        except Unavailable:
            raise
        except PenstockError:
            return False  # the store has no such table yet
        if at is not None:
            self._reached[key] = at
        return at is not None and at >= upto
