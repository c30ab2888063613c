"""What a place for packages can do: a store, or a broker on the way to one.

In: packages. Out: their positions, durably stored. Invariant: a package is stored whole with its position, or not at
all; the same package may be delivered again after any kill and changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import Conflict, Failed
from penstock.model.cursor import Position, position_text
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
    """A store or broker no longer has rows that it had confirmed."""

    code = "lost-rows"

    def __init__(self, store: str, stored: Position | None, after: Position | None):
        at = position_text(stored) if stored is not None else "its beginning"
        sent = position_text(after) if after is not None else "its beginning"
        super().__init__(
            f"`{store}` is at {at}, and all up to {sent} had been stored there: it was put back, or rows were removed "
            "from the broker",
            hint="empty the table in the store, then `penstock cdc remove` and `cdc add` read it anew",
        )


@dataclass(frozen=True, slots=True)
class Delivered:
    """A package is stored."""

    position: Position | None
    """Where its source is in the store now: behind the package, or where it was for a TRUNCATE of a store whose
    positions only rows move."""
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

    def unsure(self, source: str, store: str) -> Position | None:
        return self._store.unsure(source, store)

    def close(self) -> None:
        self._store.close()


def pending_part(destination: Destination, package: Package) -> Package | None:
    """What of a package is not stored yet; None if all of it is. Raises LostRows if there is a gap before it."""
    stored = destination.position(package.source, package.store)
    if stored is not None and stored >= package.upto:
        return None
    if package.after is not None and (stored is None or stored < package.after):
        raise LostRows(package.store, stored, package.after)
    following = package.following(stored)
    if isinstance(following, RowPackage) and not following.rows:
        return None
    return following
