"""A server on its way up, as seen from outside.

In: its process, its project and the file it writes to. Out: phases until it is ready or has ended.
Called by `up`. Invariant: only the server that was started counts as ready, not one that owned the
project before it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx

from penstock.cli.client import Json
from penstock.cli.problems import decoded
from penstock.cli.project import running

INTERVAL = 0.1


class Starting:
    """`url` is set when the server is ready."""

    def __init__(self, process: subprocess.Popen[bytes], project: Path, said: Path):
        self.process = process
        self.said = said
        self.url: str | None = None
        self._project = project
        self._read = 0
        self._http = httpx.Client(timeout=2, trust_env=False)

    def phases(self) -> Iterator[str]:
        """What the server does, some times a second, until it is ready or has ended."""
        began = time.monotonic()
        while self.process.poll() is None and self.url is None:
            yield f"{self._phase()} ({time.monotonic() - began:.0f} s)"
            if self.url is None:
                time.sleep(INTERVAL)

    def notices(self) -> Iterator[Json]:
        """The warnings that the server has said since the last call; after them it goes on."""
        text = self.said.read_text(encoding="utf-8", errors="replace")
        lines, self._read = text[self._read :], len(text)
        for document in map(decoded, filter(None, lines.splitlines())):
            if any(problem.get("level") == "warning" for problem in document.get("problems", ())):
                yield dict(document)

    def _phase(self) -> str:
        known = running(self._project)
        if known is None or known.pid != self.process.pid:
            return "starting"
        try:
            answer = self._http.get(f"{known.url}/health")
            if answer.status_code == 200:
                self.url = known.url
            return str(answer.json()["phase"])
        except (httpx.TransportError, ValueError, KeyError):
            return "starting"
