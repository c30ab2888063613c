"""The Grafana dashboard asks for metrics and labels that `/metrics` gives, in PromQL that parses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from unit.packaging.promql import OF_SCRAPES, parse, selectors, series_labels

DASHBOARD = json.loads((Path(__file__).parents[3] / "packaging/grafana/penstock.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {each["name"] for each in DASHBOARD["templating"]["list"]}
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]] + [
    each["expr"] for each in DASHBOARD["annotations"]["list"]
]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, frozenset[str]]:
    return series_labels(tmp_path_factory.mktemp("metrics"))


@pytest.mark.parametrize("query", QUERIES)
def test_every_query_reads_what_the_server_gives(query: str, metrics: Mapping[str, frozenset[str]]) -> None:
    found = list(selectors(parse(query)))
    assert found
    for name, labels in found:
        assert name in metrics
        assert labels <= metrics[name] | OF_SCRAPES


def test_counters_are_rated_and_histograms_keep_their_bounds() -> None:
    for query in QUERIES:
        for name, _ in selectors(parse(query)):
            if name.endswith(("_total", "_count")):
                assert f"rate({name}" in query
            if name.endswith("_bucket"):
                assert "by (le, " in query


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_legends_name_what_a_query_keeps(panel: dict) -> None:
    for target in panel["targets"]:
        kept = set(parse_groups(target["expr"]))
        assert set(re.findall(r"{{(\w+)}}", target["legendFormat"])) <= kept


def parse_groups(query: str) -> Iterator[str]:
    for names in re.findall(r"\bby \(([^)]*)\)", query):
        yield from names.split(", ")


def test_variables_are_defined_and_read_what_the_server_gives(metrics: Mapping[str, frozenset[str]]) -> None:
    text = json.dumps(DASHBOARD)
    assert set(re.findall(r"\$(\w+)", text)) - {"__rate_interval", "__all"} == VARIABLES
    for each in DASHBOARD["templating"]["list"]:
        for name, label in re.findall(r"^label_values\((\w+), (\w+)\)$", each.get("definition", "")):
            assert label in metrics[name] | OF_SCRAPES


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        cells = {(place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


def test_every_alert_of_the_documentation_has_a_panel() -> None:
    page = (Path(__file__).parents[3] / "docs/operations.md").read_text(encoding="utf-8")
    section = page.partition("## What to alert on")[2].partition("\n## ")[0]
    shown = {name for query in QUERIES for name, _ in selectors(parse(query))}
    assert set(re.findall(r"penstock_\w+", section)) - shown == set()
