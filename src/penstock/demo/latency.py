"""How long a posted row takes to be visible two materialized views away.

In: the replay and a client. Out: seconds from sending a post to the end of the query that first counts its rows in
`carrier_monthly` (flights → carrier_daily → carrier_monthly). Invariant: measured from outside, by querying; a post
that was never acknowledged is no sample.
"""

from __future__ import annotations

import threading
import time

from penstock.demo.client import DemoClient
from penstock.demo.replay import Replay

QUERY = "SELECT countMerge(flights) AS flights FROM carrier_monthly"
PAUSE = 0.05
REST = 1.0
"""Seconds between two samples: asking all the time would slow down what is measured."""


class Latency(threading.Thread):
    """`samples` grows while the replay runs."""

    def __init__(self, client: DemoClient, replay: Replay):
        super().__init__(name="latency", daemon=True)
        self._client, self._replay = client, replay
        self.samples: list[float] = []
        self._halt = threading.Event()

    def run(self) -> None:
        while not self._halt.wait(REST) and self._replay.is_alive():
            seen = self._replay.sent
            while self._replay.sent is seen and self._replay.is_alive():
                time.sleep(0.005)
            self._sample()

    def _sample(self) -> None:
        sent = self._replay.sent
        while not self._halt.wait(PAUSE):
            if int(self._client.sql(QUERY)[0]["flights"]) >= sent.flights:
                self.samples.append(time.monotonic() - sent.at)
                return

    def stop(self) -> None:
        self._halt.set()
        self.join()


def percentile(samples: list[float], share: float) -> float:
    """The smallest sample that is not below `share` of them; 0 without samples."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
