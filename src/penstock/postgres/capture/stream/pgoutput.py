"""The decoder of pgoutput: bytes of a replication stream become messages.

In: the payload of one message of the protocol, version 1. Out: a frozen value. Invariant: pure; bytes that are no such
message, or too few or too many, are a `MalformedMessage` and never a wrong value.
Source: PostgreSQL, "Logical Replication Message Formats".
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from penstock.errors import Failed


class MalformedMessage(Failed):
    """The stream has bytes that are no message of pgoutput."""

    code = "malformed-message"

    def __init__(self, what: str, payload: bytes):
        super().__init__(
            f"the replication stream has a message that cannot be read: {what} (it begins {payload[:16].hex(' ')})",
            hint="the slot must be one of the plugin pgoutput, and nothing between here and Postgres may change bytes",
        )


class Unchanged:
    """Stands for a large value that an UPDATE did not change, and that Postgres does not send."""

    def __repr__(self) -> str:
        return "UNCHANGED"


UNCHANGED = Unchanged()
Value: TypeAlias = Union[str, Unchanged, None]
"""A value as Postgres writes it as text; None for NULL."""
Row: TypeAlias = "tuple[Value, ...]"


@dataclass(frozen=True, slots=True)
class Begin:
    """A transaction begins; all its changes follow, then its `Commit`."""

    commit_lsn: int
    committed_at: int
    """Microseconds since 2000."""
    xid: int


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction ends."""

    commit_lsn: int
    end_lsn: int
    """The byte behind it: what may be confirmed when all its changes are stored."""
    committed_at: int


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column of a table as the stream describes it."""

    name: str
    type_oid: int
    typmod: int
    is_identity: bool
    """Whether old rows are sent with it."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What the rows of a table that follow look like."""

    oid: int
    schema: str
    name: str
    identity: str
    """d, f, n or i: default, full, nothing, index."""
    columns: tuple[RelationColumn, ...]


@dataclass(frozen=True, slots=True)
class TypeName:
    """The name of a type that is not built in."""

    oid: int
    schema: str
    name: str


@dataclass(frozen=True, slots=True)
class Insert:
    """A row was inserted."""

    relation: int
    new: Row


@dataclass(frozen=True, slots=True)
class Update:
    """A row was updated. `old` is the whole old row (O), or its key if that changed (K, the other values NULL)."""

    relation: int
    new: Row
    old: Row | None = None
    old_kind: Literal["K", "O"] | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """A row was deleted: the whole of it (O), or its key (K)."""

    relation: int
    old: Row
    old_kind: Literal["K", "O"]


@dataclass(frozen=True, slots=True)
class Truncate:
    """All rows of these tables are gone."""

    relations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LogicalMessage:
    """What somebody wrote into the log by pg_logical_emit_message."""

    is_transactional: bool
    lsn: int
    prefix: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Origin:
    """The transaction came from another server."""

    lsn: int
    name: str


Message: TypeAlias = Union[Begin, Commit, Relation, TypeName, Insert, Update, Delete, Truncate, LogicalMessage, Origin]


def decode_message(payload: bytes) -> Message:
    """The message in a payload. Raises MalformedMessage."""
    read = _READERS.get(payload[:1])
    if read is None:
        raise MalformedMessage("its kind is unknown", payload)
    reader = _Reader(payload)
    try:
        message = read(reader)
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedMessage("it ends too early or is damaged", payload) from error
    if reader.at != len(payload):
        raise MalformedMessage(f"{len(payload) - reader.at} bytes are left over", payload)
    return message


class _Reader:
    """Reads a payload from its second byte on."""

    def __init__(self, payload: bytes):
        self._payload = payload
        self.at = 1

    def number(self, form: str) -> int:
        found: int = struct.unpack_from(form, self._payload, self.at)[0]
        self.at += struct.calcsize(form)
        return found

    def take(self, count: int) -> bytes:
        if count < 0 or self.at + count > len(self._payload):
            raise IndexError
        found = self._payload[self.at : self.at + count]
        self.at += count
        return found

    def letter(self, allowed: str) -> str:
        found = self.take(1).decode("ascii")
        if found not in allowed:
            raise MalformedMessage(f"`{found}` stands where one of {', '.join(allowed)} does", self._payload)
        return found

    def text(self) -> str:
        """A text that ends with a zero byte."""
        end = self._payload.find(b"\0", self.at)
        if end < 0:
            raise IndexError
        found = self._payload[self.at : end].decode()
        self.at = end + 1
        return found

    def row(self) -> Row:
        return tuple(self._value() for _ in range(self.number("!H")))

    def _value(self) -> Value:
        match self.letter("nut"):
            case "n":
                return None
            case "u":
                return UNCHANGED
            case _:
                return self.take(self.number("!I")).decode()


def _begin(read: _Reader) -> Begin:
    return Begin(read.number("!Q"), read.number("!q"), read.number("!I"))


def _commit(read: _Reader) -> Commit:
    read.number("!B")  # flags, unused
    return Commit(read.number("!Q"), read.number("!Q"), read.number("!q"))


def _relation(read: _Reader) -> Relation:
    oid, schema, name, identity = read.number("!I"), read.text(), read.text(), read.letter("dfni")
    columns = tuple(_column(read) for _ in range(read.number("!H")))
    return Relation(oid, schema or "pg_catalog", name, identity, columns)


def _column(read: _Reader) -> RelationColumn:
    is_identity = bool(read.number("!B") & 1)
    return RelationColumn(read.text(), read.number("!I"), read.number("!i"), is_identity)


def _insert(read: _Reader) -> Insert:
    relation = read.number("!I")
    read.letter("N")
    return Insert(relation, read.row())


def _update(read: _Reader) -> Update:
    relation, kind = read.number("!I"), read.letter("KON")
    if kind == "N":
        return Update(relation, read.row())
    old = read.row()
    read.letter("N")
    return Update(relation, read.row(), old, "K" if kind == "K" else "O")


def _delete(read: _Reader) -> Delete:
    relation, kind = read.number("!I"), read.letter("KO")
    return Delete(relation, read.row(), "K" if kind == "K" else "O")


def _truncate(read: _Reader) -> Truncate:
    count = read.number("!I")
    read.number("!B")  # CASCADE, RESTART IDENTITY: the tables are all named
    return Truncate(tuple(read.number("!I") for _ in range(count)))


def _logical_message(read: _Reader) -> LogicalMessage:
    flags, lsn, prefix = read.number("!B"), read.number("!Q"), read.text()
    return LogicalMessage(bool(flags & 1), lsn, prefix, read.take(read.number("!I")))


_READERS: Mapping[bytes, Callable[[_Reader], Message]] = {
    b"B": _begin,
    b"C": _commit,
    b"R": _relation,
    b"Y": lambda read: TypeName(read.number("!I"), read.text(), read.text()),
    b"I": _insert,
    b"U": _update,
    b"D": _delete,
    b"T": _truncate,
    b"M": _logical_message,
    b"O": lambda read: Origin(read.number("!Q"), read.text()),
}
