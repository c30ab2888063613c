"""A TCP proxy in front of Postgres whose connections a test can cut at a chosen moment.

In: the port of the server. Out: `PostgresProxy`, with a port of its own. It changes no byte; bytes that were not
passed on when a connection was cut never are.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Literal, TypeAlias

Cut: TypeAlias = Literal["never", "before the commit", "after the commit"]
COMMIT = b"COMMIT\x00"


class PostgresProxy:
    """Passes bytes on. `cut` says what happens to the next COMMIT (or another statement with `marker` in it): it
    never arrives, or it arrives and is carried out but its answer is lost. Later connections are passed on again."""

    def __init__(self, port: int):
        self.cut: Cut = "never"
        self.marker = COMMIT
        self.cuts = 0
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:  # nobody there now: who called is told so, later ones are not kept waiting
                client.close()
                continue
            threading.Thread(target=self._there, args=(client, server), daemon=True).start()

    def _there(self, client: socket.socket, server: socket.socket) -> None:
        """What the client sends; the way back has a thread of its own."""
        open_ = threading.Event()
        open_.set()
        threading.Thread(target=_back, args=(server, client, open_), daemon=True).start()
        try:
            while sent := client.recv(65536):
                if self.marker in sent and self.cut != "never":
                    self._cut(sent, client, server, open_)
                    return
                server.sendall(sent)
        except OSError:
            pass
        finally:
            _end(server)
            _end(client)

    def _cut(self, sent: bytes, client: socket.socket, server: socket.socket, open_: threading.Event) -> None:
        how, self.cut = self.cut, "never"
        self.cuts += 1
        open_.clear()
        if how == "after the commit":
            server.sendall(sent)
            _said_its_last(server)
        _end(client)


def _back(server: socket.socket, client: socket.socket, open_: threading.Event) -> None:
    try:
        while said := server.recv(65536):
            if not open_.is_set():
                return
            client.sendall(said)
    except OSError:
        pass
    finally:
        if open_.is_set():
            _end(client)


def _said_its_last(server: socket.socket) -> None:
    """Ends the sending side: the server carries out what it got, answers and hangs up."""
    server.shutdown(socket.SHUT_WR)
    server.settimeout(10)
    try:
        while server.recv(65536):
            pass
    except OSError:
        pass


def _end(side: socket.socket) -> None:
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()
