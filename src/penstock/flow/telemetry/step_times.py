"""How long steps take, for `/metrics`.

In: steps as they end. Out: a histogram by the kind of flow and the outcome. Invariant: thread-safe; counts only grow.
"""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import Histogram
from prometheus_client.metrics_core import Metric

BUCKETS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
"""Seconds."""


class StepTimes:
    """The histogram of one pipeline; a registry of the server's collects it."""

    def __init__(self) -> None:
        self._histogram = Histogram(
            "penstock_step_seconds",
            "Duration of the steps of flows: landing, view or copy, and whether the step was done or failed",
            ["kind", "outcome"],
            buckets=BUCKETS,
            registry=None,
        )

    def observe(self, kind: str, outcome: str, seconds: float) -> None:
        """Count a step."""
        self._histogram.labels(kind, outcome).observe(seconds)

    def collect(self) -> Iterable[Metric]:
        return self._histogram.collect()
