"""The socket that a server listens on: a new one, or the one that it kept open over its own restart.

In: the port and the number of a socket from the command line. Out: a listening socket. Invariant: a socket that was
kept open is never left without a server: it is closed before this one waits for another.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import TypeVar

from penstock.errors import Conflict
from penstock.model.settings import Settings

MOST_WAITING = 256
T = TypeVar("T")


class ServerSocket:
    """Opens the socket when the server owns its folder and its warehouse."""

    def __init__(self, port: int | None, inherited: int | None):
        self._port = port
        self._kept = socket.socket(fileno=inherited) if inherited is not None else None
        if self._kept is not None:
            self._kept.set_inheritable(False)  # of Spark's processes none may keep it

    def port(self, settings: Settings) -> int:
        """The port of the command line, else that of the settings."""
        return settings.server.port if self._port is None else self._port

    def open(self, settings: Settings) -> socket.socket:
        """The socket that was kept, else a new one. Raises Conflict if the address is in use."""
        if self._kept is not None:
            return self._kept
        return open_listener(settings.server.host, self.port(settings))

    def closing_before(self, waiting: Callable[[T], None] | None) -> Callable[[T], None] | None:
        """The callback, which first closes the socket: whoever calls meanwhile belongs to the server that runs."""
        if waiting is None:
            return None

        def close_and_wait(owner: T) -> None:
            if self._kept is not None:
                self._kept.close()
                self._kept = None
            waiting(owner)

        return close_and_wait


def open_listener(host: str, port: int) -> socket.socket:
    """Listen on the address, before Spark starts. Raises Conflict if it is in use."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(MOST_WAITING)
    except (OSError, OverflowError) as error:
        listener.close()
        why = error.strerror if isinstance(error, OSError) else error
        hint = "choose another port, with --port or `port` in [server] of penstock.toml"
        raise Conflict(f"cannot listen on {host}:{port}: {why}", hint=hint) from error
    return listener
