"""Who takes the rows of a table, and whom a phase waits for.

In: the consumers that the source knows. Out: the first one that is behind, or who was never seen. Invariant: what is in
a broker is stored nowhere: behind one, a store is changed only when a consumer that takes rows there is known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

LONG_SILENCE = 60.0
"""Seconds. A consumer that runs is heard of every few while Postgres writes."""


@dataclass(frozen=True, slots=True)
class ConsumerPosition:
    """How far a consumer of a table is."""

    capture: str
    name: str
    lsn: str | None
    """Up to which it has acknowledged; None: nothing yet."""
    has_passed: bool
    """Whether it has acknowledged the LSN that was asked for."""
    stores: frozenset[str]
    """Those that it takes rows to, by their names in the settings; empty: not known."""
    silent_seconds: float
    """Since it started or acknowledged something."""

    @property
    def full_name(self) -> str:
        """CAPTURE/CONSUMER, as stops know it."""
        return f"{self.capture}/{self.name}"

    @property
    def place(self) -> str:
        """Its name, and where it is."""
        return f"{self.full_name}, which " + (f"is at {self.lsn}" if self.lsn else "has acknowledged nothing yet")

    def advice(self, since_change: float) -> str:
        """What to do about one that may never come back: it has been silent since Postgres has the change, so many
        seconds ago. Before that there may have been nothing to say."""
        silent = min(self.silent_seconds, since_change)
        if silent < LONG_SILENCE:
            return ""
        forget = f"penstock cdc remove --consumer {self.name} --name {self.capture}"
        return f" (nothing was heard of it for {silent:,.0f} s; `{forget}` if it is gone for good)"


@dataclass(frozen=True, slots=True)
class FedStore:
    """A store for whose consumer is asked."""

    name: str
    takes_rows: bool
    """Whether consumers of ours bring rows there."""


@dataclass(frozen=True, slots=True)
class TableConsumers:
    """The consumers of a table."""

    known: tuple[ConsumerPosition, ...]
    brokers: Mapping[str, str | None]
    """By each capture of the table, the broker that it delivers to; None: to a store, as far as is known."""

    def behind(self, standing: Collection[str]) -> ConsumerPosition | None:
        """The first one that has not passed, and is none of these (CAPTURE/CONSUMER) that stand at the change."""
        found = (each for each in self.known if not each.has_passed and each.full_name not in standing)
        return next(found, None)

    def unseen(self, store: FedStore, standing: Collection[str]) -> str | None:
        """Who of the consumers was never seen, with what to type; None: everybody was."""
        if not self.brokers:
            return "a consumer: none of the table is known (--without-consumers if others have stopped or passed)"
        for capture, broker in self.brokers.items():
            if any(each.capture == capture for each in self.known):
                continue
            if broker is not None:
                return _never_started(capture, broker, None if self._is_fed(store) else store.name)
            # Consumers of before did not register: one may stand before the first row that it received.
            if not any(each.startswith(f"{capture}/") for each in standing):
                return f"the capture {capture}, which has delivered nothing yet (`penstock cdc run --name {capture}`)"
        if self._is_fed(store):
            return None
        behind = {capture: broker for capture, broker in self.brokers.items() if broker is not None}
        vague = next((each for each in self.known if each.capture in behind and not each.stores), None)
        if vague is not None:
            return _started_vaguely(vague, behind[vague.capture], store.name)
        return next((_never_started(*each, store.name) for each in behind.items()), None)

    def _is_fed(self, store: FedStore) -> bool:
        """Whether somebody is known who takes rows to a store, or it needs nobody."""
        return not store.takes_rows or any(self._feeds(each, store.name) for each in self.known)

    def _feeds(self, consumer: ConsumerPosition, store: str) -> bool:
        """Whether a consumer takes rows to a store. Of a producer that delivers itself and does not say where to it is
        taken for granted; behind a broker it may be any other store."""
        return store in consumer.stores or (not consumer.stores and self.brokers.get(consumer.capture) is None)

    def may_feed(self, store: str) -> bool:
        """Whether rows of the table may come to a store: a capture has it, and not all of those that are known to take
        its rows say that they take them elsewhere."""
        return any(broker is not None or self._may_deliver(capture, store) for capture, broker in self.brokers.items())

    def _may_deliver(self, capture: str, store: str) -> bool:
        known = [each for each in self.known if each.capture == capture]
        return not known or any(self._feeds(each, store) for each in known)

    def may_be_strange(self, store: str) -> bool:
        """Whether rows may come to a store from a broker with somebody who is not known: nobody who is known takes them
        there, and whoever does stops at no change."""
        return any(self.brokers.values()) and not any(self._feeds(each, store) for each in self.known)

    def has_passed(self, store: FedStore) -> bool:
        """Whether everybody who takes rows of the table has acknowledged the LSN that was asked for."""
        nobody = not self.brokers
        return nobody or (all(each.has_passed for each in self.known) and self.unseen(store, ()) is None)


def _never_started(capture: str, broker: str, store: str | None) -> str:
    """What is said where nobody is known behind a broker, or nobody who takes rows to this store."""
    of = f" of {store}" if store is not None else ""
    command = _command(capture, broker, store or "STORE")
    return (
        f"a consumer{of} behind {broker}: none was ever started with the source's DSN (`{command}`; "
        "--without-consumers if those without it have stopped or passed)"
    )


def _started_vaguely(consumer: ConsumerPosition, broker: str, store: str) -> str:
    """What is said of one that may take rows to this store, or to another one."""
    command = _command(consumer.capture, broker, store)
    return (
        f"a consumer of {store} behind {broker}: {consumer.full_name} did not say to which stores it takes rows. Start "
        f"it anew with the source's DSN, and with [stores.{store}] in its penstock.toml (`{command}`; "
        "--without-consumers if all have stopped or passed)"
    )


def _command(capture: str, broker: str, store: str) -> str:
    return f"penstock cdc consume --name {capture} --from {broker}://… --to {store}"
