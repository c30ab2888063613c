"""The rules of Prometheus ask for what `/metrics` gives, and cover what the documentation says to alert on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from unit.packaging.promql import OF_SCRAPES, parse, selectors, series_labels

ROOT = Path(__file__).parents[3]
RULES = [
    rule
    for group in yaml.safe_load((ROOT / "packaging/prometheus/alerts.yaml").read_text(encoding="utf-8"))["groups"]
    for rule in group["rules"]
]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, frozenset[str]]:
    return series_labels(tmp_path_factory.mktemp("metrics"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_a_rule_reads_what_the_server_gives(rule: dict, metrics: Mapping[str, frozenset[str]]) -> None:
    read = list(selectors(parse(rule["expr"])))
    assert read
    known = set(OF_SCRAPES)
    for name, labels in read:
        assert name in metrics
        assert labels <= metrics[name] | OF_SCRAPES
        known |= metrics[name]
    groups = re.findall(r"\bby \(([^)]*)\)", rule["expr"])
    kept = set(groups[0].split(", ")) if groups else known
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= kept
    assert rule["labels"]["severity"] in ("page", "warn")


def test_what_the_documentation_names_has_a_rule() -> None:
    page = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
    section = page.partition("## What to alert on")[2].partition("\n## ")[0]
    read = {name for rule in RULES for name, _ in selectors(parse(rule["expr"]))}
    assert set(re.findall(r"penstock_\w+", section)) - read == set()
