"""The replication connection: the changes of a slot as decoded messages, and what is confirmed to it.

In: a DSN, a slot and publications. Out: messages with their LSN. Invariants: an LSN is confirmed only after the caller
said that all up to it is durably stored, and never one beyond what was received; the connection is kept alive however
long the caller takes, as long as it calls `beat` within the server's `wal_sender_timeout`.
Source: PostgreSQL, "Streaming Replication Protocol".
"""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from penstock.errors import Unavailable
from penstock.postgres.capture.stream.copy_stream import CopyStream
from penstock.postgres.capture.stream.pgoutput import MalformedMessage, Message, decode_message
from penstock.postgres.catalog.lsn import lsn_text
from penstock.postgres.catalog.source_connection import open_source, reason

try:
    import psycopg2
    from psycopg2.extras import LogicalReplicationConnection
except ImportError:  # installed without `penstock[postgres]`; open_source says so
    psycopg2 = None

BEAT_SECONDS = 1.0
"""How often the server hears from us at most, unless it asks."""
TEXT_FORMS = "-c datestyle=ISO -c intervalstyle=postgres -c timezone=UTC -c extra_float_digits=3 -c bytea_output=hex"
"""Settings by which values are the same texts in the stream and in what is read from tables."""
_CHANGE = struct.Struct("!cQQq")
_KEEPALIVE = struct.Struct("!cQqB")
_STATUS = struct.Struct("!cQQQqB")
_EPOCH_2000 = 946_684_800


@dataclass(frozen=True, slots=True)
class Received:
    """A message of the stream."""

    lsn: int
    """Where in the log it is: that of the change itself, or of the commit."""
    message: Message


class ReplicationStream:
    """An open stream of a slot. Closing it leaves the slot where it was confirmed."""

    def __init__(self, dsn: str, slot: str, publications: Sequence[str]):
        open_source(dsn).close()  # checks the DSN and registers its password before anything is tried with it
        names = ",".join('"' + each.replace('"', '""') + '"' for each in publications)
        options = {"proto_version": "1", "publication_names": names, "messages": "true"}
        with _stream_errors("opened the replication stream"):
            connecting = {"options": TEXT_FORMS, "application_name": "penstock cdc"}
            self._connection = psycopg2.connect(dsn, connection_factory=LogicalReplicationConnection, **connecting)
            self._cursor = self._connection.cursor()
            self._cursor.start_replication(slot_name=slot, options=options, decode=False)
        self._copy = CopyStream(self._connection)
        self._confirmed = self._received = 0
        self._beaten = time.monotonic()

    @property
    def received_lsn(self) -> int:
        """Up to where the server has sent all that was committed; inside of a transaction, up to where before it."""
        return self._received

    def receive(self, seconds: float) -> Received | None:
        """The next message; None if there is none within so many seconds. Raises Unavailable, MalformedMessage."""
        found = self._copy.read(seconds)
        match found[:1] if found else None:
            case b"w" if found is not None and len(found) > _CHANGE.size:
                _, lsn, _, _ = _CHANGE.unpack_from(found)
                return Received(lsn, decode_message(found[_CHANGE.size :]))
            case b"k" if found is not None and len(found) == _KEEPALIVE.size:
                _, written, _, asks = _KEEPALIVE.unpack(found)
                self._received = max(self._received, written)
                if asks:
                    self.flush()
                return None
            case None:
                return None
        raise MalformedMessage("it is neither a change nor a keepalive", found or b"")

    def confirm(self, lsn: int) -> None:
        """Say that all changes up to this LSN, which were received, are durably stored: the server may forget them.
        Postgres would believe any LSN."""
        self._confirmed = max(self._confirmed, lsn)

    def beat(self) -> None:
        """Tell the server that we are there, and what is confirmed, unless it was told just now."""
        if time.monotonic() - self._beaten >= BEAT_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Tell the server what is confirmed. Raises Unavailable."""
        now = int((time.time() - _EPOCH_2000) * 1_000_000)
        self._copy.write(_STATUS.pack(b"r", self._confirmed, self._confirmed, self._confirmed, now, 0))
        self._beaten = time.monotonic()

    def close(self) -> None:
        """Leave the server what was confirmed, and go."""
        with suppress(Unavailable):
            self.flush()
        with suppress(psycopg2.Error):
            self._connection.close()

    def __repr__(self) -> str:
        return f"ReplicationStream(confirmed {lsn_text(self._confirmed)})"


@contextmanager
def _stream_errors(doing: str) -> Iterator[None]:
    """A block whose errors of the driver mean that the stream is to be opened again."""
    try:
        yield
    except psycopg2.Error as error:
        raise Unavailable(f"penstock {doing}, and Postgres ended it: {reason(error)}") from None
