"""What a broker on the way to a store can do, and the part of a delivery that all brokers share.

In: packages. Out: messages of limited size, each with its source and position. Invariants: a source's messages have
rising positions; a message says which rows are before it (`after`), so that a consumer notices a gap, also where those
were sent to another broker.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from penstock.errors import Failed
from penstock.model.cursor import Position, parse_position, position_text
from penstock.postgres.delivery.destination import UnstorableRow
from penstock.postgres.packages.package import Package, RowPackage, begins_reading
from penstock.postgres.packages.package_codec import encode_package

SOURCE_HEADER, POSITION_HEADER, ROWS_HEADER = "Penstock-Source", "Penstock-Position", "Penstock-Rows-Position"


@dataclass(frozen=True, slots=True)
class BrokerPosition:
    """How far a source is in a broker."""

    last: Position | None = None
    """Of its last message."""
    rows: Position | None = None
    """What the next message follows: the last one, unless that is a TRUNCATE of a former release, which moved no
    position of a store."""

    def after(self, part: Package) -> BrokerPosition:
        """How far it is when a part was published."""
        return BrokerPosition(part.upto, part.upto)

    def headers(self, source: str) -> dict[str, str]:
        """The headers of a message with which a source came here."""
        found = {SOURCE_HEADER: source, POSITION_HEADER: position_text(self.last or ())}
        return {**found, ROWS_HEADER: position_text(self.rows)} if self.rows is not None else found


def position_of(headers: Mapping[str, str], source: str) -> BrokerPosition | None:
    """What the headers of the last message say; None if it is of another source."""
    if headers.get(SOURCE_HEADER) != source:
        return None
    return BrokerPosition(
        parse_position(headers.get(POSITION_HEADER, "")), parse_position(headers.get(ROWS_HEADER, ""))
    )


def unsent_part(package: Package, at: BrokerPosition) -> Package | None:
    """What of a package is not in the broker yet, as a message; None if all of it is. It says behind which rows it is
    to be stored: those that the broker has last, or that were sent elsewhere since, such as to a broker of before or to
    this one before it was emptied. A reading that begins follows nothing: it brings every row."""
    if at.last is not None and at.last >= package.upto:
        return None
    following = package.following(at.last)
    if isinstance(following, RowPackage):
        if not following.rows:
            return None
        if begins_reading(following):
            return replace(following, after=None)
    return replace(following, after=max((each for each in (at.rows, package.after) if each), default=None))


@dataclass(frozen=True, slots=True)
class BrokerMessage:
    """A message that a consumer received and has not confirmed yet."""

    content: bytes
    place: int
    """Its offset or sequence number."""
    has_more: bool = True
    """Whether there may be messages behind it already."""


class PackageQueue(Protocol):
    """The messages of one table, in their order. What cannot be reached raises Unavailable."""

    def receive(self, seconds: float) -> BrokerMessage | None:
        """The next message that was not received since the last `confirm` or start; None if there is none in time."""

    def behind(self, message: BrokerMessage) -> Iterator[BrokerMessage]:
        """The messages behind one that was received, as far as they are there: they are received later all the same."""

    def confirm(self, message: BrokerMessage) -> None:
        """All up to this message is stored: it is not received again."""

    def is_empty(self) -> bool:
        """Whether all messages that the broker has now are confirmed; False if that is not known."""


class PackageBroker(Protocol):
    """Queues, one for each table of a capture."""

    name: str
    """Under which the producer acknowledges what it has published."""

    def queues(self, reader: str) -> Mapping[str, PackageQueue]:
        """Those that there are, by the name of the table in the stores. Each reader gets every message."""

    def close(self) -> None:
        """Let go of connections."""


def message_parts(package: Package, most_bytes: int) -> Iterator[tuple[Package, bytes]]:
    """The package as messages that are no larger than the broker takes: the parts follow each other. Raises
    UnstorableRow if one row is too large."""
    content = encode_package(package)
    if len(content) <= most_bytes:
        yield package, content
        return
    if not isinstance(package, RowPackage) or len(package.rows) == 1:
        raise UnstorableRow(
            f"a row of `{package.store}` takes {len(content):,} bytes as a message; the broker takes {most_bytes:,}",
            hint="let the broker take larger ones; the table goes on by itself then",
        )
    middle = len(package.rows) // 2
    first = package.part(package.rows[:middle], package.after)
    yield from message_parts(first, most_bytes)
    yield from message_parts(package.part(package.rows[middle:], first.upto), most_bytes)


class MissingDriver(Failed):
    """The driver of a broker is not installed."""

    code = "missing-driver"

    def __init__(self, broker: str, extra: str):
        super().__init__(f"the driver of {broker} is not installed", hint=f"pip install 'penstock[{extra}]'")
