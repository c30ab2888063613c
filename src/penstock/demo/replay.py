"""The thread that posts the flights to a running server, in order and at an even pace.

In: the posts and a client. Out: at any moment, how many rows are acknowledged. Invariant: there is one post at a time,
and a failed post is repeated under the same key, so that the order of the rows in the table is known.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.demo.client import DemoClient
from penstock.demo.nyc_flights import Post

SLOW_FROM, SLOW_PACE = 0.95, 1.0
"""From this share of the posts on, one in so many seconds while the replay may not end."""


@dataclass(frozen=True, slots=True)
class AcknowledgedPost:
    """The newest acknowledged post of flights: the flights up to and with it, and when it was sent."""

    flights: int
    at: float


class Replay(threading.Thread):
    """`sent` is the progress; `failure` is what stopped it early. On a slow machine the last posts go
    at a slow pace until `may_end` is set, so that rows are still coming in at the last switch."""

    def __init__(self, client: DemoClient, plan: Sequence[Post], seconds: float):
        super().__init__(name="replay", daemon=True)
        self._client, self._plan, self._seconds = client, plan, seconds
        self.sent = AcknowledgedPost(0, time.monotonic())
        self.rows = 0
        self.quarantined = 0
        self.failure: Exception | None = None
        self.began = self.ended = 0.0
        self.may_end = threading.Event()

    def run(self) -> None:
        self.began = time.monotonic()
        try:
            for number, post in enumerate(self._plan):
                self._wait_for_turn(number)
                self._post(post)
        except Exception as failure:  # the main thread shows it
            self.failure = failure
        self.ended = time.monotonic()

    def _wait_for_turn(self, number: int) -> None:
        due = self.began + self._seconds * number / len(self._plan)
        time.sleep(max(0.0, due - time.monotonic()))
        if number > SLOW_FROM * len(self._plan):
            self.may_end.wait(SLOW_PACE)

    def _post(self, post: Post) -> None:
        at = time.monotonic()
        self.quarantined += self._client.append(post.name, post.rows, post.key)
        self.rows += len(post.rows)
        if post.name == "flights":
            self.sent = AcknowledgedPost(post.flights, at)

    def share(self) -> float:
        """How much of the flights is acknowledged, 0 to 1."""
        return self.sent.flights / max(1, self._plan[-1].flights)
