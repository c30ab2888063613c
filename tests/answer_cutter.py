"""A TCP proxy in front of an HTTP server that loses answers: the server has done what was asked, and nobody hears it.

In: the port of the server. Out: `AnswerCutter`, with a port of its own. It changes no byte.
"""

from __future__ import annotations

import contextlib
import socket
import threading


class AnswerCutter:
    """Passes bytes on. The connections of the next `cuts` answers are closed in the place of the answer."""

    def __init__(self, port: int):
        self.cuts = 0
        self.done = 0
        self._target = port
        self._guard = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._target))
            threading.Thread(target=_pass_on, args=(client, server), daemon=True).start()
            threading.Thread(target=self._back, args=(server, client), daemon=True).start()

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while said := server.recv(65536):
                if self._cuts_now():
                    break
                client.sendall(said)
        _end(client)
        _end(server)

    def _cuts_now(self) -> bool:
        with self._guard:
            if self.cuts == 0:
                return False
            self.cuts -= 1
            self.done += 1
            return True


def _pass_on(client: socket.socket, server: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while sent := client.recv(65536):
            server.sendall(sent)
    _end(server)


def _end(side: socket.socket) -> None:
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()
