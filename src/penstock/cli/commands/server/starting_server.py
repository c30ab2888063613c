"""The process of a server, from its start until it is ready.

In: the arguments of the server, and the file for its errors. Out: its phases, then its address, or the error with which
it ended. Invariant: what the server wrote is shown as text, never as a traceback.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import typer

from penstock.cli.errors import ServerRefusal, parse_error_document
from penstock.cli.json_documents import Json
from penstock.client.project_server import read_server_record
from penstock.errors import Failed

INTERVAL = 0.1


def start_server(
    arguments: list[str], output: Path, standard_input: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Start a server in a session of its own, so that signals of the terminal do not reach it. With a pipe as its
    standard input, `--end-with-caller` ends it when this process ends, however that comes."""
    # Opened for appending, so that the server can empty the file when it has become large.
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    with open(os.open(output, flags, 0o600), "ab") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "penstock.serve.server.main", *arguments],
            stdin=standard_input,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )


def server_failure(code: int, output: Path) -> Exception:
    """The error with which the server ended, as it reported it."""
    if code == 0:
        return typer.Exit(0)
    if code < 0:
        return Failed(f"the server was ended by {signal.Signals(-code).name}")
    lines = output.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    last = next((line for line in reversed(lines) if line.startswith("{")), "\n".join(lines[-1:]))
    if not last:
        return Failed("the server ended", hint="see .penstock/server.log")
    return ServerRefusal(500, parse_error_document(last))


class StartingServer:
    """The process of a server that is starting; `url` is set once it is ready."""

    def __init__(self, process: subprocess.Popen[bytes], project: Path, output: Path):
        self.process = process
        self.output = output
        self.url: str | None = None
        self.waits = False
        """Whether it has said that it waits for something, such as another server."""
        self._project = project
        self._read = 0
        self._http = httpx.Client(timeout=2, trust_env=False)

    def phases(self) -> Iterator[str]:
        """The phase of the server, several times a second, until it is ready or has ended."""
        began = time.monotonic()
        while self.process.poll() is None and self.url is None:
            yield f"{self._phase()} ({time.monotonic() - began:.0f} s)"
            if self.url is None:
                time.sleep(INTERVAL)

    def notices(self) -> Iterator[Json]:
        """The warnings that the server has written since the last call; the server continues after a warning."""
        text = self.output.read_text(encoding="utf-8", errors="replace")
        lines, self._read = text[self._read :], len(text)
        for document in map(parse_error_document, filter(None, lines.splitlines())):
            if any(problem.get("level") == "warning" for problem in document.get("problems", ())):
                yield dict(document)

    def _phase(self) -> str:
        known = read_server_record(self._project)
        if known is None or known.pid != self.process.pid:
            return "waiting, as said above; Ctrl-C ends the wait" if self.waits else "starting"
        try:
            answer = self._http.get(f"{known.url}/health")
            if answer.status_code == 200:
                self.url = known.url
            return str(answer.json()["phase"])
        except (httpx.TransportError, ValueError, KeyError):
            return "starting"
