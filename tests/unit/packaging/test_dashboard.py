"""The Grafana dashboard asks for metrics and labels that `/metrics` gives, in PromQL that parses."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import promql_parser
import pytest
from prometheus_client.parser import text_string_to_metric_families

from unit.serve.sample_metrics import metrics_text

DASHBOARD = json.loads((Path(__file__).parents[3] / "packaging/grafana/penstock.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
VARIABLES = {each["name"] for each in DASHBOARD["templating"]["list"]}
OF_SCRAPES = frozenset(("instance", "job"))
"""Labels that Prometheus adds to what it scrapes."""
QUERIES = [target["expr"] for panel in PANELS for target in panel["targets"]] + [
    each["expr"] for each in DASHBOARD["annotations"]["list"]
]


@pytest.fixture(scope="module")
def metrics(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, frozenset[str]]:
    """The labels of each series."""
    found: dict[str, set[str]] = defaultdict(set)
    with metrics_text(tmp_path_factory.mktemp("metrics")) as text:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found[sample.name] |= sample.labels.keys()
    return {name: frozenset(labels) for name, labels in found.items()}


def selectors(tree: object) -> Iterator[tuple[str, set[str]]]:
    """The series that a query reads, with the labels by which it filters and groups each."""
    match tree:
        case promql_parser.AggregateExpr():
            groups = set(tree.modifier.labels) if tree.modifier else set()
            for name, labels in selectors(tree.expr):
                yield name, labels | groups
        case promql_parser.Call():
            for argument in tree.args:
                yield from selectors(argument)
        case promql_parser.BinaryExpr():
            yield from selectors(tree.lhs)
            yield from selectors(tree.rhs)
        case promql_parser.ParenExpr():
            yield from selectors(tree.expr)
        case promql_parser.MatrixSelector():
            yield from selectors(tree.vector_selector)
        case promql_parser.VectorSelector():
            yield tree.name, {matcher.name for matcher in tree.matchers.matchers}
        case promql_parser.NumberLiteral():
            pass
        case _:
            raise AssertionError(f"no rule for {type(tree).__name__}")


def parse(query: str) -> object:
    return promql_parser.parse(query.replace("$__rate_interval", "1m"))


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
