"""docs/operations.md lists every metric, with its labels, and every check."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.server.process import add_server_gauges
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens
from unit.serve.memory import MemoryPipeline
from unit.serve.sample_figures import WELL

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
LIBRARY = ("process_", "python_")
OWN = frozenset(("le",))
"""Labels that the format itself adds."""


def test_the_page_has_every_metric_with_its_labels(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    host = PipelineHost()
    host.opened(MemoryPipeline(ApiTokens(database)))  # type: ignore[arg-type]
    add_server_gauges(host.metrics, lambda: 1.0, lambda: 0.1)
    for each in (host.metrics.appended, host.metrics.quarantined, host.metrics.refused):
        each.labels("x").inc()
    host.metrics.queries.labels("sql", "ok").inc()
    host.metrics.seconds.labels("sql").observe(1)
    host.metrics.observe_call("/health", 200, 0.1)
    shown = {
        family.name: {label for sample in family.samples for label in sample.labels} - OWN
        for family in text_string_to_metric_families(host.metrics.text().decode())
        if not family.name.startswith(LIBRARY)
    }
    listed = {
        name: set(filter(None, labels.strip().split(", ")))
        for name, labels in re.findall(r"^\| `(penstock_\w+)` \|([^|]*)\|", PAGE, re.M)
    }
    assert listed == {name: labels for name, labels in shown.items() if not name.endswith("_created")}
    database.close()


def test_the_page_has_every_check() -> None:
    assert {each.name for each in WELL} <= set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
