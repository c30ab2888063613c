"""Everything that `GET /metrics` shows of a server, without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.server.process import add_server_gauges
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline


@contextmanager
def metrics_text(folder: Path) -> Iterator[str]:
    """The body of the answer, after one call of each kind."""
    database = open_database(f"sqlite:///{folder / 'state.db'}")
    host = PipelineHost()
    host.opened(MemoryPipeline(ApiTokens(database)))  # type: ignore[arg-type]
    add_server_gauges(host.metrics, lambda: 1.0, lambda: 0.1)
    for each in (host.metrics.appended, host.metrics.quarantined, host.metrics.refused):
        each.labels("x").inc()
    host.metrics.queries.labels("sql", "ok").inc()
    host.metrics.observe_endpoint("top", "ok", 0.1)
    host.metrics.seconds.labels("sql").observe(1)
    host.metrics.observe_call("/health", 200, 0.1)
    yield host.metrics.text().decode()
    database.close()
