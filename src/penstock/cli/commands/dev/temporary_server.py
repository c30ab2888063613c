"""A server of its own for `penstock dev`, in a temporary folder that is removed at the end.

In: the settings of the project. Out: a client, once the server is ready. Invariants: nothing of the project's own
server, tables or settings of storage is used; when the block is left, its process and its folder are gone.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from penstock.cli.client import ServerClient
from penstock.cli.commands.dev.event_queue import Event, WorkEnd, WorkProgress
from penstock.cli.commands.server.starting_server import StartingServer, server_failure, start_server
from penstock.client.project_server import HOME, SETTINGS_FILE, read_admin_token
from penstock.errors import NoServer, PenstockError
from penstock.parse.settings import parse_settings

PREFIX = "penstock-dev-"
END_SECONDS = 30.0


class TemporaryServer(AbstractContextManager["TemporaryServer"]):
    """Starts a server when the block is entered, and ends it when the block is left."""

    def __init__(self, project: Path, tell: Callable[[Event], None]):
        self._project = project
        self._tell = tell
        self._url: str | None = None
        self._left = False
        self.folder = Path()
        """The project folder of the server: `penstock --project` with it talks to the server."""

    def __enter__(self) -> TemporaryServer:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            (self.folder / HOME).mkdir(mode=0o700)
            (self.folder / SETTINGS_FILE).write_text(self._settings(), encoding="utf-8")
            output = self.folder / HOME / "server.err"
            self._process = start_server(["--project", str(self.folder), "--port", "0", "--no-wait"], output)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        starting = StartingServer(self._process, self.folder, output)
        threading.Thread(target=self._wait, args=(starting,), name="temporary server", daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._left = True
        try:
            self._end()
        except KeyboardInterrupt:  # whoever presses Ctrl-C again does not want to wait
            self._kill()
        finally:
            while self.folder.exists():
                with suppress(KeyboardInterrupt):
                    shutil.rmtree(self.folder, ignore_errors=True)
                    break

    def client(self) -> ServerClient:
        """A client of the server. Raises NoServer while it starts, or if it has ended."""
        if self._url is None:
            raise NoServer("the throw-away server is starting" if self._process.poll() is None else "it has ended")
        return ServerClient(self._url, read_admin_token(self.folder))

    def _settings(self) -> str:
        """Of the project's settings only what says how SQL is read and how much memory Spark has."""
        try:
            text = (self._project / SETTINGS_FILE).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = ""
        known = parse_settings(text, SETTINGS_FILE, [])
        return f'dialect = "{known.dialect}"\n[spark]\ndriver_memory = "{known.spark.driver_memory}"\n'

    def _wait(self, starting: StartingServer) -> None:
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

    def _end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # what it started, such as Java

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
