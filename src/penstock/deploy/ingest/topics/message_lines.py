"""Messages of a topic as lines of the inbox.

In: messages as the client gives them. Out: lines. Invariant: a line has all that a table may keep of its message, so
that it is landed again without the topic, which may have lost it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Protocol

from penstock.deploy.connections.registered_schemas import RegisteredSchemas, UnreadableMessage, split_prefix
from penstock.flow.landing.message import write_message
from penstock.model.datasource import MessageFormat

BINARY = "base64:"
"""Before the text of a key or a header that is not UTF-8."""


NO_NAMES = "headers whose names are not UTF-8"


class TopicMessage(Protocol):
    """A message, as confluent-kafka has it."""

    def topic(self) -> str: ...

    def partition(self) -> int: ...

    def offset(self) -> int: ...

    def timestamp(self) -> tuple[int, int]: ...

    def key(self) -> bytes | None: ...

    def value(self) -> bytes | None: ...

    def headers(self) -> Sequence[tuple[str, bytes | None]] | None: ...


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Reads the messages of one topic."""

    key: Callable[[bytes], bytes]
    value: Callable[[bytes], bytes]

    def line(self, message: TopicMessage) -> bytes:
        """Raises Unavailable if the schema registry is away."""
        kind, milliseconds = message.timestamp()
        columns: dict[str, object] = {
            "__topic": message.topic(),
            "__partition": message.partition(),
            "__offset": message.offset(),
            "__key": self._key(message.key()),
            "__headers": _headers(message),
        }
        if kind:  # the message has a time
            columns["__timestamp"] = _moment(milliseconds)
        content = message.value()
        if content is None:
            return write_message(columns, None)
        try:
            return write_message(columns, self.value(content))
        except UnreadableMessage as error:
            return write_message(columns, content, f"the value of the message cannot be read: {error}")

    def _key(self, content: bytes | None) -> str:
        if content is None:
            return ""
        try:
            return _text(self.key(content))
        except UnreadableMessage:
            return _text(content)


def message_reader(formats: tuple[MessageFormat, MessageFormat], schemas: RegisteredSchemas | None) -> MessageReader:
    """What reads keys and values of these formats. Raises UnreadableMessage without a registry for Avro."""
    return MessageReader(*(_decoder(each, schemas) for each in formats))


def _decoder(of: MessageFormat, schemas: RegisteredSchemas | None) -> Callable[[bytes], bytes]:
    if of == "json_without_schema":
        return bytes
    if of == "json_with_schema":
        return lambda content: split_prefix(content)[1]
    if schemas is None:
        raise UnreadableMessage("Avro needs KAFKA_SCHEMA_REGISTRY_URL in the connection")
    return schemas.read_avro


def _headers(message: TopicMessage) -> Mapping[str, str] | str:
    """Of two headers of one name the last one. Names that are not UTF-8 the client cannot give, which raises
    SystemError: they become a text, which only a version with a column of headers refuses."""
    try:
        found = message.headers() or ()
    except (SystemError, UnicodeDecodeError):
        return NO_NAMES
    return {name: _text(content) if content is not None else "" for name, content in found}


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return BINARY + base64.b64encode(content).decode()


def _moment(milliseconds: int) -> str:
    """The time in UTC; one that is beyond the calendar stays a number, which no column takes for a time."""
    seconds, rest = divmod(milliseconds, 1000)
    try:
        return f"{datetime.fromtimestamp(seconds, timezone.utc):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
    except (OverflowError, ValueError, OSError):
        return str(milliseconds)
