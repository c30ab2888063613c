"""Queries of Prometheus, and the series of a server that they read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import promql_parser
from prometheus_client.parser import text_string_to_metric_families

from unit.serve.sample_metrics import metrics_text

OF_SCRAPES = frozenset(("instance", "job"))
"""Labels that Prometheus adds to what it scrapes."""


def series_labels(folder: Path) -> Mapping[str, frozenset[str]]:
    """The labels of each series that the server gives; its state is made in the folder."""
    found: dict[str, set[str]] = defaultdict(set)
    with metrics_text(folder) as text:
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
                groups = set()  # of a product with group_left, the left side has them
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
    """The tree of a query. Raises ValueError."""
    return promql_parser.parse(query.replace("$__rate_interval", "1m"))
