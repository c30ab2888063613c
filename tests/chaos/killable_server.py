"""A real server that can be killed at any moment, and a producer that loses nothing.

The producer posts numbered rows, each body under an idempotency key of its own, and posts a body again under the same
key until it is acknowledged, as a careful client does.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx
import psutil

from waiting import wait_until

START_SECONDS = 180.0
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""The server speaks plain HTTP. Without this, each client reads all the certificates of the machine: half a core."""


class Server:
    """`python -m penstock.serve.server.main` over a folder, started again after each kill."""

    def __init__(self, folder: Path):
        self.folder = folder
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self.port = listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.kills = 0
        self.timeout, self.patience = 90.0, START_SECONDS

    def start(self, environment: dict[str, str] | None = None) -> None:
        command = [sys.executable, *self.program(), "--project", str(self.folder), "--port", str(self.port)]
        log = (self.folder / "server.out").open("ab")
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **(environment or {})})
        log.close()

    def program(self) -> list[str]:
        return ["-m", "penstock.serve.server.main"]

    def ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process is not None
            if self.process.poll() is not None:
                raise AssertionError((self.folder / "server.out").read_text()[-2000:])
            try:
                if httpx.get(f"{self.url}/health", timeout=2).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError("the server did not become ready")

    def kill(self) -> None:
        """SIGKILL, and wait until the process is gone. Its JVM is left to itself."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.kills += 1

    def died(self, timeout: float) -> None:
        """Wait until the server killed itself at a crash point."""
        assert self.process is not None
        self.process.wait(timeout)
        assert self.process.returncode == -signal.SIGKILL
        self.kills += 1

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(60)

    def java(self) -> psutil.Process | None:
        """The process of its Spark, while there is one."""
        assert self.process is not None
        try:
            running = psutil.Process(self.process.pid).children()
            return next((each for each in running if "java" in each.name()), None)
        except psutil.NoSuchProcess:
            return None

    def client(self) -> httpx.Client:
        token = (self.folder / ".penstock" / "admin_token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, timeout=self.timeout, verify=NO_TLS)

    def insist(self, call: Callable[[httpx.Client], httpx.Response]) -> httpx.Response:
        """Make a call, again and again while the server is away."""
        deadline = time.monotonic() + self.patience
        while True:
            try:
                with self.client() as client:
                    answer = call(client)
                if answer.status_code != 503:
                    return answer
            except (httpx.TransportError, FileNotFoundError):
                pass
            assert time.monotonic() < deadline, "the server stays away"
            time.sleep(0.1)

    def move_to(self, other: Server) -> None:
        """From now on calls go to another server of the same warehouse."""
        self.port, self.url, self.folder = other.port, other.url, other.folder

    def sql(self, text: str, deployment: str = "live") -> list[dict[str, object]]:
        answer = self.insist(lambda client: client.get("/v0/sql", params={"q": text, "deployment": deployment}))
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, object]] = answer.json()["data"]
        return rows

    def deploy(self, files: dict[str, str], promote: bool) -> int:
        parts = [("files", (path, text.encode())) for path, text in files.items()]
        params = {"auto_promote": str(promote).lower()}
        answer = self.insist(lambda client: client.post("/v1/deploy", files=parts, params=params))
        assert answer.status_code in (200, 201, 202), answer.text
        body = answer.json()
        return int(body.get("id") or body["deployment"]["id"])

    def state(self, id: int) -> str:
        answer = self.insist(lambda client: client.get(f"/v1/deployments/{id}"))
        body = answer.json()
        return str(body.get("state") or body["deployment"]["state"])

    def until_caught_up(self) -> None:
        """Wait until no flow is behind and no version is being filled."""

        def is_behind() -> bool:
            status = self.insist(lambda client: client.get("/v0/status")).json()
            return any(each["behind"] for each in status["deployments"])

        wait_until(lambda: not is_behind(), START_SECONDS)

    def until(self, id: int, *states: str, timeout: float = 120.0) -> str:
        """Wait until a deployment is in one of the states."""
        deadline = time.monotonic() + timeout
        while (state := self.state(id)) not in states:
            assert state not in ("failed", "discarded"), state
            assert time.monotonic() < deadline, f"deployment {id} stays {state}"
            time.sleep(0.2)
        return state


def served(folder: Path, files: Mapping[str, str]) -> Iterator[Server]:
    """A server over a folder with these files, ready; it is stopped at the end."""
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    made = Server(folder)
    made.start()
    made.ready()
    yield made
    made.stop()


class Producer(threading.Thread):
    """Posts rows {"id": 0}, {"id": 1} … at full speed until told to stop."""

    def __init__(self, server: Server, stream: str, row: Callable[[int], dict[str, object]], a_body: int = 200):
        super().__init__(daemon=True)
        self.server, self.stream, self.row, self.a_body = server, stream, row, a_body
        self.acknowledged = 0
        self.failure: BaseException | None = None
        self._stop_asked = threading.Event()

    def run(self) -> None:
        try:
            while not self._stop_asked.is_set():
                rows = [self.row(number) for number in range(self.acknowledged, self.acknowledged + self.a_body)]
                self._post("\n".join(map(json.dumps, rows)).encode(), f"{self.stream}-{self.acknowledged}")
                self.acknowledged += self.a_body
                time.sleep(0.02)
        except BaseException as failure:
            self.failure = failure

    def more(self, rows: int = 1_000) -> None:
        """Wait until so many more rows are acknowledged."""
        wanted = self.acknowledged + rows
        wait_until(lambda: self.acknowledged >= wanted or self.failure is not None, START_SECONDS)

    def finish(self) -> int:
        """Stop; returns how many rows were acknowledged."""
        self._stop_asked.set()
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.acknowledged

    def _post(self, body: bytes, key: str) -> None:
        params, headers = {"name": self.stream}, {"Idempotency-Key": key}
        answer = self.server.insist(
            lambda client: client.post("/v0/events", params=params, content=body, headers=headers)
        )
        assert answer.status_code == 202, answer.text
