"""A server in a temporary folder, for as long as a block runs.

In: the settings of a project. Out: the process of the server, and a client once it is ready. Invariants: nothing of the
project's own server, tables or settings of storage is used; when the block is left, its process and its folder are
gone; if this process is killed, the server ends all the same, and the folder is left.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from penstock.cli.client import ServerClient
from penstock.cli.commands.server.starting_server import StartingServer, server_failure, start_server
from penstock.client.project_server import HOME, SETTINGS_FILE, read_admin_token
from penstock.parse.settings import parse_settings

END_SECONDS = 30.0


class ThrowAwayServer(AbstractContextManager["ThrowAwayServer"]):
    """Starts a server when the block is entered, and ends it when the block is left."""

    def __init__(self, project: Path, prefix: str):
        self._project = project
        self._prefix = prefix
        self.folder = Path()
        """The project folder of the server: `penstock --project` with it talks to the server."""

    def __enter__(self) -> ThrowAwayServer:
        self.folder = Path(tempfile.mkdtemp(prefix=self._prefix))
        try:
            (self.folder / HOME).mkdir(mode=0o700)
            (self.folder / SETTINGS_FILE).write_text(self._settings(), encoding="utf-8")
            output = self.folder / HOME / "server.err"
            arguments = ["--project", str(self.folder), "--port", "0", "--no-wait", "--end-with-caller"]
            self.process = start_server(arguments, output, subprocess.PIPE)
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        self.starting = StartingServer(self.process, self.folder, output)
        return self

    def __exit__(self, *raised: object) -> None:
        try:
            self._end()
        except KeyboardInterrupt:  # whoever presses Ctrl-C again does not want to wait
            self._kill()
        finally:
            if self.process.stdin is not None:
                self.process.stdin.close()
            while self.folder.exists():
                with suppress(KeyboardInterrupt):
                    shutil.rmtree(self.folder, ignore_errors=True)
                    break

    def wait(self, show: Callable[[str], None]) -> ServerClient:
        """A client of the server once it is ready; `show` is called with each phase. Raises the error with which the
        server ended."""
        for phase in self.starting.phases():
            show(phase)
        if self.starting.url is None:
            raise server_failure(self.process.wait(), self.starting.output)
        return self.client_at(self.starting.url)

    def client_at(self, url: str) -> ServerClient:
        """A client with the token of this server."""
        return ServerClient(url, read_admin_token(self.folder))

    def _settings(self) -> str:
        """Of the project's settings only what says how SQL is read and how much memory Spark has."""
        try:
            text = (self._project / SETTINGS_FILE).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            text = ""
        known = parse_settings(text, SETTINGS_FILE, [])
        return f'dialect = "{known.dialect}"\n[spark]\ndriver_memory = "{known.spark.driver_memory}"\n'

    def _end(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)  # what it started, such as Java

    def _kill(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
