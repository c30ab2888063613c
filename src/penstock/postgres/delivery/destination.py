"""What a place for packages can do: a store, or a broker on the way to one.

In: packages. Out: their positions, durably stored. Invariant: a package is stored whole with its position, or not at
all; the same package may be delivered again after any kill and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import Conflict, Failed
from penstock.model.cursor import Position
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.packages.package import Package, RowPackage


class StoreLacksColumns(Conflict):
    """A package has values that the store has no column for."""

    code = "store-lacks-columns"

    def __init__(self, store: str, columns: Sequence[str]):
        shown = ", ".join(f"`{each}`" for each in columns)
        super().__init__(
            f"`{store}` has no column for {shown}: its rows wait, and none is dropped",
            hint="add the column to the store (`penstock migrations apply --phase pre`); then it goes on by itself",
        )
        self.columns = tuple(columns)


class UnstorableRow(Failed):
    """A package has a value that no column of the store can hold."""

    code = "unstorable-row"


class LostRows(Failed):
    """Rows that were sent are not in the store, and do not come any more on the way that its rows take."""

    code = "lost-rows"

    def __init__(self, store: str, stored: Position | None, sent: Position):
        self.sent = sent
        at = f"has nothing behind LSN {lsn_text(stored[0])}" if stored is not None else "has nothing"
        super().__init__(
            f"`{store}` {at}, and rows up to LSN {lsn_text(sent[0])} were sent before those that come next: they were "
            "removed from the broker, are in another one, or the store was put back or is another one",
            hint="where another broker has them, `penstock cdc consume --from` takes them from there, and the table "
            "goes on by itself; else empty it in the store, then `penstock cdc remove` and `cdc add` read it anew",
        )


@dataclass(frozen=True, slots=True)
class Delivered:
    """A package is stored."""

    position: Position | None
    """Where its source is in the store now; None: nowhere yet."""
    set_aside: int = 0
    """How many of its rows were set aside because their values do not fit."""


class Destination(Protocol):
    """A place for packages. What cannot be reached raises Unavailable, and may be tried again."""

    name: str
    """What it is called in `cdc status` and as a consumer whose positions are waited for."""
    is_broker: bool
    """Whether it keeps packages for consumers only: what it has is in no store yet."""

    def position(self, source: str, store: str) -> Position | None:
        """Up to where the rows of a source are stored; None: nothing of it is."""

    def forget_position(self, source: str, store: str) -> None:
        """Ask anew where a source is when somebody wants to know: it may be elsewhere than this process thinks."""

    def unsure(self, source: str, store: str) -> Position | None:
        """Up to where a package was sent of which nobody knows whether it is stored: it is to be sent again with the
        same rows. None if there is no such package, or it does not matter how rows are packed."""

    def deliver(self, package: Package) -> Delivered:
        """Store a package that follows what is stored. Raises StoreLacksColumns, UnstorableRow, LostRows,
        Unavailable."""

    def close(self) -> None:
        """Let go of connections."""


class ForwardingDestination:
    """A destination on the way to a store, which is asked for all but what a subclass does about packages."""

    is_broker = False

    def __init__(self, store: Destination):
        self._store = store
        self.name = store.name

    def position(self, source: str, store: str) -> Position | None:
        return self._store.position(source, store)

    def forget_position(self, source: str, store: str) -> None:
        self._store.forget_position(source, store)

    def unsure(self, source: str, store: str) -> Position | None:
        return self._store.unsure(source, store)

    def close(self) -> None:
        self._store.close()


def lacks(stored: Position | None, sent: Position | None) -> bool:
    """Whether a store at a position has not all that was sent up to another one."""
    return sent is not None and (stored is None or stored < sent)


def pending_part(destination: Destination, package: Package) -> Package | None:
    """What of a package is not stored yet; None if all of it is. Raises LostRows if there is a gap before it."""
    store = package.store
    stored = _position_from(destination, package.source, store, package.after)
    if stored is not None and stored >= package.upto:
        return None
    if package.after is not None and lacks(stored, package.after):
        raise LostRows(store, stored, package.after)
    following = package.following(stored)
    if not isinstance(following, RowPackage):
        return following
    if following.behind is not None:
        source, before = following.behind
        if lacks(found := _position_from(destination, source, store, before), before):
            raise LostRows(store, found, before)
    return following if following.rows else None


def _position_from(destination: Destination, source: str, store: str, wanted: Position | None) -> Position | None:
    """Where a source is; if that is before the wanted position the store is asked anew."""
    stored = destination.position(source, store)
    if not lacks(stored, wanted):
        return stored
    destination.forget_position(source, store)
    return destination.position(source, store)
