"""docs/operations.md lists every metric, with its labels, and every check."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from unit.serve.sample_figures import WELL
from unit.serve.sample_metrics import metrics_text

PAGE = (Path(__file__).parents[2] / "docs/operations.md").read_text(encoding="utf-8")
LIBRARY = ("process_", "python_")
OWN = frozenset(("le",))
"""Labels that the format itself adds."""


def test_the_page_has_every_metric_with_its_labels(tmp_path: Path) -> None:
    with metrics_text(tmp_path) as text:
        shown = {
            family.name: {label for sample in family.samples for label in sample.labels} - OWN
            for family in text_string_to_metric_families(text)
            if not family.name.startswith(LIBRARY)
        }
    listed = {
        name: set(filter(None, labels.strip().split(", ")))
        for name, labels in re.findall(r"^\| `(penstock_\w+)` \|([^|]*)\|", PAGE, re.M)
    }
    assert listed == {name: labels for name, labels in shown.items() if not name.endswith("_created")}


def test_the_page_has_every_check() -> None:
    assert {each.name for each in WELL} <= set(re.findall(r"^\| `(\w+)` \|", PAGE, re.M))
