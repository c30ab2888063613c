"""A client that posts rows as fast as it is answered, or at a given rate, in a process of its own.

In: a `Load` as JSON on the command line. Out: a `Load`'s `Outcome` as JSON on standard output. Invariants: requests are
made before the clock starts, and answers are read by their lengths only, so that the client is cheap beside a server;
at a rate, the time of a request counts from when it was due, however late it was sent.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from dataclasses import asdict, dataclass, field

from ingest_project import body

BODIES = 32
WARM_SECONDS = 1.0
"""At the beginning, which does not count."""


@dataclass(frozen=True)
class Load:
    """What is to be posted."""

    port: int
    token: str
    rows: int
    """Rows of a request."""
    connections: int
    seconds: float
    a_second: float | None = None
    """Requests a second; None: each connection sends the next one when it has the answer of the last."""
    rest: float = 0.0
    """Seconds for which a connection rests after it was told to come again later."""


@dataclass
class Outcome:
    """What became of it."""

    seconds: float = 0.0
    statuses: dict[str, int] = field(default_factory=dict)
    told_when: int = 0
    """Refusals that say when to come again."""
    accepted: int = 0
    """Requests that were answered with 202, the warm ones among them."""
    times: list[float] = field(default_factory=list)
    """The seconds that each acknowledgement took."""
    cpu: float = 0.0
    """Seconds of processor time."""


class Client:
    """One run of a load."""

    def __init__(self, load: Load):
        self._load = load
        self._requests = itertools.cycle([_request(load, body(load.rows, seed)) for seed in range(BODIES)])
        self._turns = itertools.count()
        self.outcome = Outcome()

    async def run(self) -> None:
        """Post until the time is over."""
        began = time.perf_counter()
        self._from = began + WARM_SECONDS
        self._until = self._from + self._load.seconds
        cpu = time.process_time()
        await asyncio.gather(*(self._connection(began) for _ in range(self._load.connections)))
        self.outcome.seconds = time.perf_counter() - self._from
        self.outcome.cpu = time.process_time() - cpu

    async def _connection(self, began: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._load.port)
        while (due := self._due(began)) < self._until:
            await asyncio.sleep(max(due - time.perf_counter(), 0.0))
            writer.write(next(self._requests))
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(_header(head, b"content-length") or 0))
            await self._note(head, due)
        writer.close()

    def _due(self, began: float) -> float:
        if self._load.a_second is None:
            return time.perf_counter()
        return began + next(self._turns) / self._load.a_second

    async def _note(self, head: bytes, due: float) -> None:
        status, now = head[9:12].decode(), time.perf_counter()
        self.outcome.accepted += status == "202"
        if due >= self._from:
            self.outcome.statuses[status] = self.outcome.statuses.get(status, 0) + 1
            if status == "202":
                self.outcome.times.append(now - due)
            self.outcome.told_when += _header(head, b"retry-after") is not None
        if status != "202" and self._load.rest:
            await asyncio.sleep(self._load.rest)


def _request(load: Load, content: bytes) -> bytes:
    head = (
        "POST /v0/events?name=events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {load.token}\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content


def _header(head: bytes, name: bytes) -> bytes | None:
    found = head.lower().partition(b"\r\n" + name + b":")[2]
    return found.partition(b"\r\n")[0].strip() or None


if __name__ == "__main__":
    client = Client(Load(**json.loads(sys.argv[1])))
    asyncio.run(client.run())
    print(json.dumps(asdict(client.outcome)))
