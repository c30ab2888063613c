"""Counters of the HTTP side, in the text format of Prometheus, beside those of the pipeline and of the process.

In: calls as they end. Out: the body of `GET /metrics`. Invariant: counters only grow; nothing here waits for the store,
a disk or Spark.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.registry import Collector

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
        self._endpoints = Histogram(
            "penstock_endpoint_seconds",
            "Time to answer a call of an endpoint",
            ["endpoint", "code"],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self.refused = Counter(
            "penstock_refused_posts", "Refused posts of rows, by the code of the error", ["reason"], registry=registry
        )
        self._calls = Histogram(
            "penstock_http_seconds",
            "Time to answer an HTTP call, until its last byte is sent",
            ["call", "status"],
            buckets=CALL_BUCKETS,
            registry=registry,
        )
        self._running = Gauge("penstock_calls_running", "Calls in threads of a kind", ["threads"], registry=registry)
        self._waiting = Gauge("penstock_calls_waiting", "Calls that wait for a thread", ["threads"], registry=registry)
        threads = Gauge("penstock_threads", "Threads of the server's Python process", registry=registry)
        threads.set_function(threading.active_count)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)

    def observe_call(self, call: str, status: int, seconds: float) -> None:
        """Count a call of this path template."""
        self._calls.labels(call, str(status)).observe(seconds)

    def observe_endpoint(self, endpoint: str, code: str, seconds: float) -> None:
        """Count a call of an endpoint, which exists; `code` is `ok` or that of its error."""
        self._endpoints.labels(endpoint, code).observe(seconds)

    def add(self, collector: Collector) -> None:
        """Show what this collector gives, too."""
        self._registry.register(collector)

    def add_gauge(self, name: str, meaning: str, read: Callable[[], float]) -> None:
        """Show a value that `read` gives from memory."""
        Gauge(name, meaning, registry=self._registry).set_function(read)

    def show_threads(self, kind: str, running: Callable[[], float], waiting: Callable[[], float]) -> None:
        """Show how many calls run in the threads of a kind, and how many wait for one."""
        self._running.labels(kind).set_function(running)
        self._waiting.labels(kind).set_function(waiting)

    def text(self) -> bytes:
        """All metrics as text."""
        return generate_latest(self._registry)
