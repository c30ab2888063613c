"""The demo's own project folder and server, started and stopped by Penstock's commands.

In: the folder. Out: the address and token of a running server. Invariant: the server is a child process that ends
with the demo; everything it keeps is in the folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

PENSTOCK = (sys.executable, "-m", "penstock.cli")
PATIENCE = 180.0


class ServerFailed(Exception):
    """The server did not start; the text says what it said."""


def prepare_folder(folder: Path) -> None:
    """An empty folder, after ending a server that an earlier demo may have left in it."""
    pid = folder / ".penstock" / "server.pid"
    if pid.exists():
        subprocess.run([*PENSTOCK, "down", "--project", str(folder)], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


class Server:
    """`penstock up` in a folder, on a free port."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.url = f"http://127.0.0.1:{_free_port()}"
        self._log = (folder / "up.log").open("wb")
        self.start()

    def start(self) -> None:
        port = self.url.rpartition(":")[2]
        self._process = subprocess.Popen(
            [*PENSTOCK, "up", "--project", str(self.folder), "--port", port],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    @property
    def token(self) -> str:
        return (self.folder / ".penstock" / "admin_token").read_text().strip()

    def wait_until_ready(self) -> None:
        """Return when /health says 200. Raises ServerFailed."""
        began = time.monotonic()
        while not self._is_healthy():
            if self._process.poll() is not None:
                raise ServerFailed(f"`penstock up` ended:\n{self._log_tail()}")
            if time.monotonic() - began > PATIENCE:
                raise ServerFailed(f"`penstock up` was not ready after {PATIENCE:.0f} s:\n{self._log_tail()}")
            time.sleep(0.5)

    def run(self, *arguments: str) -> str:
        """Run a command of Penstock on this server and return what it prints. Raises ServerFailed."""
        command = [*PENSTOCK, *arguments, "--project", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ServerFailed(f"`penstock {' '.join(arguments)}` failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def kill(self) -> None:
        """As `kill -9` does to the server, which is a process of its own; Spark's ends when it does."""
        os.kill(int((self.folder / ".penstock" / "server.pid").read_text()), signal.SIGKILL)
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._log.close()

    def _is_healthy(self) -> bool:
        try:
            return httpx.get(f"{self.url}/health", timeout=2).status_code == 200
        except httpx.TransportError:
            return False

    def _log_tail(self) -> str:
        self._log.flush()
        return (self.folder / "up.log").read_text(errors="replace")[-2000:]


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
