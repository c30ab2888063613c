"""Counters and gauges of the server, in the text format of Prometheus.

In: calls as they end, and the pipeline's status. Out: the body of `GET /metrics`. Invariant: counters only grow; gauges
are set from the status at the moment of the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CALL_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Seconds."""


class Metrics:
    """The counters of one server, in a registry of its own: tests run several servers in a process."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self.appended = Counter(
            "penstock_appended_rows", "Rows acknowledged and typed", ["datasource"], registry=registry
        )
        self.quarantined = Counter(
            "penstock_quarantined_rows", "Rows acknowledged that do not fit", ["datasource"], registry=registry
        )
        self.queries = Counter("penstock_queries", "Answered queries", ["kind", "code"], registry=registry)
        self.seconds = Histogram("penstock_query_seconds", "Time to answer a query", ["kind"], registry=registry)
        self.refused = Counter(
            "penstock_refused_posts",
            "Posts of rows that were refused, by the code of the error",
            ["reason"],
            registry=registry,
        )
        self._calls = Histogram(
            "penstock_http_seconds",
            "Time to answer an HTTP call, until its last byte is sent",
            ["call", "status"],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self._batches = Gauge("penstock_batches", "Batches in the log", ["stream"], registry=registry)
        self._lag = Gauge(
            "penstock_lag_batches",
            "Batches that a flow has not processed yet",
            ["deployment", "table", "flow", "stream"],
            registry=registry,
        )
        self._maintenance = Gauge(
            "penstock_maintenance",
            "Runs of background maintenance since the server started",
            ["kind", "result"],
            registry=registry,
        )
        self._failing = Gauge("penstock_failing_flows", "Flows whose last step failed", registry=registry)

    def observe_call(self, call: str, status: int, seconds: float) -> None:
        """Count a call of this path template."""
        self._calls.labels(call, str(status)).observe(seconds)

    def text(self, status: Mapping[str, Any]) -> bytes:
        """All metrics as text, the gauges set from `status`."""
        for stream, head in status["streams"].items():
            self._batches.labels(stream).set(head)
        self._lag.clear()
        for deployment in status["deployments"]:
            for late in deployment["behind"]:
                labels = (str(deployment["id"]), late["table"], late["flow"], late["stream"])
                self._lag.labels(*labels).set(late["batches"])
        self._failing.set(len(status["failures"]))
        for result in ("done", "failed"):
            for kind, count in status.get("maintenance", {}).get(result, {}).items():
                self._maintenance.labels(kind, result).set(count)
        return generate_latest(self._registry)
