"""Values behind the five bytes by which a schema registry is asked: a zero, and the number of a schema.

In: bytes of a message, and the address of the registry. Out: JSON texts. Invariants: the same bytes give the same text,
since a schema never changes under its number; what cannot be read is `UnreadableMessage`, which is the message's fault,
while a registry that does not answer is `Unavailable`, and the message waits. Source: Confluent's wire format.
"""

from __future__ import annotations

import base64
import io
import json
import math
import struct
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from http.client import HTTPException
from time import monotonic as time_now
from typing import BinaryIO
from uuid import UUID

import fastavro
from fastavro import _read_py as reader_in_python
from fastavro.types import Schema

from penstock.errors import InvalidRequest, Unavailable

MAGIC = b"\x00"
PREFIX = struct.Struct(">bI")
SECONDS = 10.0
UNKNOWN_SECONDS = 60.0
MOST_BYTES, PART_BYTES = 16 * 2**20, 2**16
"""Of an answer of the registry."""
NOT_FOUND = 404
_EPOCH_DAY = date(1970, 1, 1)


class UnreadableMessage(Exception):
    """A message whose bytes are not what its format says."""


class RegisteredSchemas:
    """The schemas of one registry, each asked for once."""

    def __init__(self, address: str):
        """`address` may have a login: https://user:password@host."""
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https"):
            raise InvalidRequest("KAFKA_SCHEMA_REGISTRY_URL is no http:// or https:// address")
        self._address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
        self._login = _login_header(parts)
        self._known: dict[int, _KnownSchema] = {}
        self._refused: dict[int, tuple[float, str]] = {}
        """When a schema was asked for that is not there, and what was said."""

    def read_avro(self, content: bytes) -> bytes:
        """The JSON text of an Avro value. Raises UnreadableMessage, Unavailable."""
        number, body = split_prefix(content)
        known, reader = self._schema(number), io.BytesIO(body)
        try:
            value = known.read(reader, known.schema, None)
            text = json.dumps(_as_json(value), ensure_ascii=False, allow_nan=False).encode()
        except UnreadableMessage:
            raise
        except Exception as error:  # whatever bytes that are not of the schema make of it
            raise UnreadableMessage(f"not Avro of schema {number}: {error!r}"[:300]) from None
        if reader.tell() != len(body):
            raise UnreadableMessage(f"{len(body) - reader.tell()} bytes follow the Avro value of schema {number}")
        return text

    def _schema(self, number: int) -> _KnownSchema:
        """The schema of a number. One that there is not is asked for again after UNKNOWN_SECONDS."""
        if number in self._known:
            return self._known[number]
        asked, refusal = self._refused.get(number, (float("-inf"), ""))
        if time_now() - asked < UNKNOWN_SECONDS:
            raise UnreadableMessage(refusal)
        try:
            self._known[number] = _parse(number, self._fetch(number))
        except UnreadableMessage as error:
            self._refused[number] = (time_now(), str(error))
            raise
        return self._known[number]

    def _fetch(self, number: int) -> object:
        """What the registry has under a number. Raises UnreadableMessage if it has nothing, Unavailable."""
        request = urllib.request.Request(f"{self._address}/schemas/ids/{number}")
        if self._login:
            request.add_unredirected_header("Authorization", self._login)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                return json.loads(_read_whole(answer))
        except urllib.error.HTTPError as error:
            if error.code == NOT_FOUND:
                raise UnreadableMessage(f"the schema registry has no schema {number}") from None
            raise Unavailable(f"the schema registry answers {error.code} for schema {number}") from None
        except (OSError, ValueError, RecursionError, HTTPException) as error:
            raise Unavailable(f"the schema registry gives no schema {number}: {error}") from None


@dataclass(frozen=True, slots=True)
class _KnownSchema:
    """A schema, and what reads its values."""

    schema: Schema
    read: Callable[[io.BytesIO, Schema, None], object]


def _read_whole(answer: BinaryIO) -> bytes:
    """An answer of a size that a schema may have, within the time that it may take. Raises OSError, HTTPException."""
    end, parts = time_now() + SECONDS, list[bytes]()
    while part := answer.read1(PART_BYTES):  # type: ignore[attr-defined]
        parts.append(part)
        if time_now() > end or sum(map(len, parts)) > MOST_BYTES:
            raise OSError(f"its answer takes more than {SECONDS:.0f} seconds or {MOST_BYTES // 2**20} MiB")
    return b"".join(parts)


def _parse(number: int, found: object) -> _KnownSchema:
    """The reader in C ends the whole server where values are nested some thousand levels deep, as only those of a
    schema can be that names itself; the one in Python ends with an error."""
    try:
        assert isinstance(found, dict), "the registry answers with an object"
        schema = fastavro.parse_schema(json.loads(found["schema"]))
        is_nested = _names_itself(schema, frozenset())
        return _KnownSchema(schema, reader_in_python.schemaless_reader if is_nested else fastavro.schemaless_reader)
    except Exception as error:  # whatever a schema of another kind makes of it
        raise UnreadableMessage(f"schema {number} of the registry is not Avro: {error!r}"[:300]) from None


def _names_itself(schema: object, within: frozenset[object]) -> bool:
    """Whether a type that `schema` is in, or that is in it, is named inside of itself."""
    if isinstance(schema, str):
        return schema in within
    if isinstance(schema, list):
        return any(_names_itself(each, within) for each in schema)
    if not isinstance(schema, dict):
        return False
    own = within | {schema["name"]} if "name" in schema else within
    inner = [*(each["type"] for each in schema.get("fields", ())), schema.get("items"), schema.get("values")]
    return any(_names_itself(each, own) for each in [*inner, schema["type"]])


def split_prefix(content: bytes) -> tuple[int, bytes]:
    """The number of the schema, and what follows. Raises UnreadableMessage."""
    if len(content) < PREFIX.size or content[:1] != MAGIC:
        raise UnreadableMessage("it does not begin with the five bytes of a schema registry")
    return PREFIX.unpack_from(content)[1], content[PREFIX.size :]


def _login_header(parts: urllib.parse.SplitResult) -> str:
    if parts.username is None:
        return ""
    login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
    return f"Basic {base64.b64encode(login.encode()).decode()}"


def _as_json(value: object) -> object:
    """A value of Avro as JSON that columns of its kind take: times as texts in UTC, decimals with all digits."""
    if isinstance(value, Mapping):
        return {str(name): _as_json(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_json(each) for each in value]
    for of, text in _TEXTS.items():
        if isinstance(value, of):
            return text(value)
    return value


def _float(value: float) -> object:
    if not math.isfinite(value):
        raise UnreadableMessage(f"it has the number {value}, which JSON has not")
    return value


def _bytes(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise UnreadableMessage("it has bytes that are not UTF-8 text") from None


def _moment(value: datetime) -> str:
    aware = value if value.tzinfo is not None else value.replace(tzinfo=timezone.utc)
    return aware.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_TEXTS: Mapping[type, Callable[..., object]] = {
    bool: bool,
    float: _float,
    bytes: _bytes,
    datetime: _moment,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: str,
    Decimal: lambda value: format(value, "f"),
    UUID: str,
}
