"""A server of its own for `penstock dev`, which starts while the first plan is shown.

In: the settings of the project. Out: a client, once the server is ready, and events that say how far it is. Invariant:
nothing is said of the server after the block was left.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from penstock.cli.client import ServerClient
from penstock.cli.commands.dev.event_queue import Event, WorkEnd, WorkProgress
from penstock.cli.commands.server.starting_server import server_failure
from penstock.cli.commands.server.throw_away_server import ThrowAwayServer
from penstock.errors import NoServer, PenstockError

PREFIX = "penstock-dev-"


class TemporaryServer(ThrowAwayServer):
    """Starts a server when the block is entered, and ends it when the block is left."""

    def __init__(self, project: Path, tell: Callable[[Event], None]):
        super().__init__(project, PREFIX)
        self._tell = tell
        self._url: str | None = None
        self._left = False

    def __enter__(self) -> TemporaryServer:
        super().__enter__()
        threading.Thread(target=self._follow_start, name="temporary server", daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._left = True
        super().__exit__(*raised)

    def client(self) -> ServerClient:
        """A client of the server. Raises NoServer while it starts, or if it has ended."""
        if self._url is None:
            raise NoServer("the throw-away server is starting" if self.process.poll() is None else "it has ended")
        return self.client_at(self._url)

    def _follow_start(self) -> None:
        starting = self.starting
        for phase in starting.phases():
            if self._left:
                return
            self._tell(WorkProgress(f"throw-away server: {phase}"))
        if starting.url is not None:
            self._url = starting.url
            self._tell(WorkEnd({"id": 0, "url": starting.url}, None, lambda made: self._ready_text(made["url"])))
        elif not self._left:
            failure = server_failure(starting.process.wait(), starting.output)
            error = failure if isinstance(failure, PenstockError) else NoServer("the throw-away server has ended")
            self._tell(WorkEnd(None, error, str))

    def _ready_text(self, url: str) -> str:
        return f"the throw-away server is ready at {url}: `penstock --project {self.folder} …` talks to it"
