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
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import fastavro
from fastavro.types import Schema

from penstock.errors import Unavailable

MAGIC = b"\x00"
PREFIX = struct.Struct(">bI")
SECONDS = 10.0
_EPOCH_DAY = date(1970, 1, 1)


class UnreadableMessage(Exception):
    """A message whose bytes are not what its format says."""


class RegisteredSchemas:
    """The schemas of one registry, each asked for once."""

    def __init__(self, address: str):
        """`address` may have a login: https://user:password@host."""
        parts = urllib.parse.urlsplit(address)
        self._address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
        self._login = _login_header(parts)
        self._known: dict[int, Schema] = {}

    def read_avro(self, content: bytes) -> bytes:
        """The JSON text of an Avro value. Raises UnreadableMessage, Unavailable."""
        number, body = split_prefix(content)
        if number not in self._known:
            self._known[number] = self._fetch(number)
        reader = io.BytesIO(body)
        try:
            value = fastavro.schemaless_reader(reader, self._known[number], None)
        except Exception as error:  # whatever bytes that are not of the schema make of it
            raise UnreadableMessage(f"not Avro of schema {number}: {error!r}"[:300]) from None
        if reader.tell() != len(body):
            raise UnreadableMessage(f"{len(body) - reader.tell()} bytes follow the Avro value of schema {number}")
        return json.dumps(_as_json(value), ensure_ascii=False, allow_nan=False).encode()

    def _fetch(self, number: int) -> Schema:
        request = urllib.request.Request(f"{self._address}/schemas/ids/{number}", headers=self._login)
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as answer:
                found = json.load(answer)
            return fastavro.parse_schema(json.loads(found["schema"]))
        except urllib.error.HTTPError as error:
            if error.code == 404:
                raise UnreadableMessage(f"the schema registry has no schema {number}") from None
            raise Unavailable(
                f"the schema registry answers {error.code} when it is asked for schema {number}"
            ) from None
        except (OSError, ValueError) as error:
            raise Unavailable(f"the schema registry gives no schema {number}: {error}") from None
        except (KeyError, TypeError, fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
            raise UnreadableMessage(f"schema {number} of the registry is not Avro: {error!r}"[:300]) from None


def split_prefix(content: bytes) -> tuple[int, bytes]:
    """The number of the schema, and what follows. Raises UnreadableMessage."""
    if len(content) < PREFIX.size or content[:1] != MAGIC:
        raise UnreadableMessage("it does not begin with the five bytes of a schema registry")
    return PREFIX.unpack_from(content)[1], content[PREFIX.size :]


def _login_header(parts: urllib.parse.SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    login = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
    return {"Authorization": f"Basic {base64.b64encode(login.encode()).decode()}"}


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
