"""The bytes of a replication connection, both ways.

In: a connection of psycopg2 that streams a slot. Out: the server's messages of the copy protocol; ours to it.
Invariant: nothing is sent but what the caller sends. psycopg2's own reader confirms the server's LSN by itself whenever
the last change it saw lies before what was confirmed; a transaction that began long ago has such changes, and those of
others that wait to be stored were confirmed with it, and lost by a crash. So libpq, which psycopg2 has loaded, is
called here. Source: PostgreSQL, "Functions Associated with the COPY Command".
"""

from __future__ import annotations

import ctypes
import select
from typing import Any

from penstock.errors import Unavailable

try:
    from psycopg2 import _psycopg
except ImportError:  # installed without `penstock[postgres]`
    _psycopg = None

_NOTHING_YET, _END, _ERROR = 0, -1, -2


class CopyStream:
    """The stream of one connection."""

    def __init__(self, connection: Any):
        self._socket: int = connection.fileno()
        self._connection = ctypes.c_void_p(connection.pgconn_ptr)
        self._libpq = _load_libpq()

    def read(self, seconds: float) -> bytes | None:
        """The next message of the server; None if none comes within so many seconds. Raises Unavailable at the end."""
        found = self._take()
        if found is None:
            select.select([self._socket], [], [], seconds)
            if not self._libpq.PQconsumeInput(self._connection):
                raise self._broken()
            found = self._take()
        return found

    def write(self, message: bytes) -> None:
        """Send a message. Raises Unavailable."""
        sent = self._libpq.PQputCopyData(self._connection, message, len(message))
        if sent != 1 or self._libpq.PQflush(self._connection) < 0:
            raise self._broken()

    def _take(self) -> bytes | None:
        buffer = ctypes.c_void_p()
        size = self._libpq.PQgetCopyData(self._connection, ctypes.byref(buffer), 1)
        if size == _NOTHING_YET:
            return None
        if size < 0:
            raise self._broken()
        try:
            return ctypes.string_at(buffer, size)
        finally:
            self._libpq.PQfreemem(buffer)

    def _broken(self) -> Unavailable:
        said = (self._libpq.PQerrorMessage(self._connection) or b"").decode(errors="replace")
        return Unavailable(f"the replication stream ended: {' '.join(said.split()) or 'the server closed it'}")


def _load_libpq() -> Any:
    """The functions of the libpq that psycopg2 is linked with: they are found through its module."""
    libpq = ctypes.CDLL(_psycopg.__file__)
    pointer = ctypes.c_void_p
    libpq.PQgetCopyData.argtypes = (pointer, ctypes.POINTER(pointer), ctypes.c_int)
    libpq.PQputCopyData.argtypes = (pointer, ctypes.c_char_p, ctypes.c_int)
    libpq.PQconsumeInput.argtypes = libpq.PQflush.argtypes = libpq.PQfreemem.argtypes = (pointer,)
    libpq.PQfreemem.restype = None
    libpq.PQerrorMessage.argtypes, libpq.PQerrorMessage.restype = (pointer,), ctypes.c_char_p
    return libpq
