"""Rows of one package that stand on both sides of a change whose forms do not tell them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from penstock.model.cursor import Position
from penstock.postgres.application.change_stop import ChangeStop, RowPlaces, stop_of
from penstock.postgres.catalog.replicated_table import QualifiedName
from penstock.postgres.catalog.schema_form import schema_form
from penstock.postgres.delivery.destination import Delivered
from penstock.postgres.delivery.stopping_destination import LateRows, StoppingDestination, WaitsForChange
from penstock.postgres.packages.package import Package, PackageColumn, PackageRow, PackageSchema, RowPackage
from penstock.postgres.packages.package_codec import decode_package, encode_package

TABLE = QualifiedName("public", "t")
SCHEMA = PackageSchema(TABLE, (PackageColumn("id", "integer", is_key=True),))
FORM = schema_form(TABLE, [("id", "integer")])
SECOND = ChangeStop("s", "2", frozenset({"other"}), frozenset({FORM}), is_sure=True, since={FORM: 3})


@dataclass
class Store:
    """A store in memory, which sets a row aside of each package."""

    name = "store"
    is_broker = False
    rows: list[PackageRow] = field(default_factory=list)
    after: list[Position | None] = field(default_factory=list)

    def position(self, source: str, store: str) -> Position | None:
        return self.rows[-1].position if self.rows else None

    def forget_position(self, source: str, store: str) -> None:
        """It is asked each time."""

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        assert isinstance(package, RowPackage)
        assert package.after == self.position("s", "t")
        self.rows += package.rows
        self.after.append(package.after)
        return Delivered(package.upto, 1)

    def close(self) -> None:
        """Nothing is open."""


@dataclass
class Stops:
    """The stops of one store, in memory."""

    stops: Sequence[ChangeStop]
    reached: list[int] = field(default_factory=list)
    doubted: list[str] = field(default_factory=list)
    read: list[str] = field(default_factory=list)

    def stop_of(self, form: str, places: RowPlaces) -> ChangeStop | None:
        return stop_of(self.stops, form, places)

    def reach(self, stop: ChangeStop, consumer: str, lsn: int) -> None:
        self.reached.append(lsn)

    def doubt(self, stop: ChangeStop) -> None:
        self.doubted.append(stop.migration)

    def read_again(self, store: str) -> None:
        self.read.append(store)


def package(*lsns: int) -> RowPackage:
    rows = tuple(PackageRow((each, 0), each, "insert", (str(each),)) for each in lsns)
    return RowPackage("s", "t", SCHEMA, rows[-1].position, rows)


def lsns(store: Store) -> list[int]:
    return [each.version for each in store.rows]


def test_the_rows_before_the_change_go_and_the_others_wait() -> None:
    store, stops = Store(), Stops([SECOND])
    stopping, mixed = StoppingDestination(store, stops), package(1, 2, 3, 4)
    for _ in range(2):
        with pytest.raises(WaitsForChange):
            stopping.deliver(mixed)
        assert lsns(store) == [1, 2], "once, however often the package comes"
    assert stops.reached == [3, 3]
    stops.stops = [replace(SECOND, is_done=True)]
    assert stopping.deliver(mixed) == Delivered((4, 0), 2)
    assert lsns(store) == [1, 2, 3, 4]
    assert stopping.deliver(replace(package(5), after=(4, 0))) == Delivered((5, 0), 1)


def test_a_part_of_the_package_that_ends_at_the_change() -> None:
    """A consumer of a broker tries the first of several joined messages by itself."""
    store, stops = Store(), Stops([SECOND])
    stopping = StoppingDestination(store, stops)
    with pytest.raises(WaitsForChange):
        stopping.deliver(package(1, 2, 3))
    assert stopping.deliver(package(1, 2)) == Delivered((2, 0), 1), "what was set aside is told"
    assert lsns(store) == [1, 2]


def test_rows_that_were_read_go_by_the_place_of_their_reading() -> None:
    read = replace(package(1), rows=(replace(package(1).rows[0], operation="read"),))
    for as_of, goes in ((2, True), (3, False), (None, False)):
        store, stops = Store(), Stops([SECOND])
        sent = decode_package(encode_package(replace(read, as_of=as_of)))
        stopping = StoppingDestination(store, stops)
        if goes:
            assert stopping.deliver(sent) == Delivered((1, 0), 1)
        else:
            with pytest.raises(WaitsForChange):
                stopping.deliver(sent)
        assert lsns(store) == ([1] if goes else [])
        assert stops.doubted == (["2"] if as_of is None else []), "where nobody knows where they were read"


def test_rows_that_were_read_are_not_late_by_their_version() -> None:
    """A reading that began before a change goes on behind it: its rows have the form and the values of then."""
    done = ChangeStop("s", "1", frozenset({FORM}), frozenset({"other"}), is_sure=True, is_done=True, seen=8, behind=6)
    read = replace(package(1), rows=(replace(package(1).rows[0], operation="read"),))
    assert StoppingDestination(Store(), Stops([done])).deliver(replace(read, as_of=7)) == Delivered((1, 0), 1)
    for as_of in (5, None):
        with pytest.raises(LateRows):
            StoppingDestination(Store(), Stops([done])).deliver(replace(read, as_of=as_of))


@pytest.mark.parametrize("when", ["while it waits", "at the end"])
def test_rows_that_somebody_else_stores_while_they_wait(when: str) -> None:
    """Whoever has no DSN of the source does not stop: what is stored too early is read again."""
    store, stops = Store(), Stops([SECOND])
    stopping, waiting = StoppingDestination(store, stops), package(3, 4)
    with pytest.raises(WaitsForChange):
        stopping.deliver(waiting)
    assert (stops.doubted, stops.read) == ([], [])
    store.deliver(package(3))
    following = replace(package(4), after=(3, 0))
    if when == "while it waits":
        with pytest.raises(WaitsForChange):
            stopping.deliver(following)
    stops.stops = [replace(SECOND, is_done=True)]
    stopping.deliver(following)
    assert (stops.doubted, stops.read) == (["2"] if when == "while it waits" else [], ["t"])
    stopping.deliver(replace(package(5), after=(4, 0)))
    assert stops.read == ["t"], "once"
