"""What can be said of the drawn queries without an engine."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from tests.differential.typed.drawn_queries import drawn, outermost
from tests.differential.typed.every_type import COLUMNS, TABLES
from tests.differential.typed.excused import EXCUSES, excuse
from tests.differential.typed.signatures import all_signatures, compiled, family
from tests.differential.typed.weights import CHANGED, MORE, weights

from penstock.sql.aggregates.table import AGGREGATES
from penstock.sql.functions.table import FUNCTIONS

PAGE = Path(__file__).resolve().parents[3] / "docs/sql-functions.md"
LEAST_FUNCTIONS = 0.9


needs_signatures = pytest.mark.skipif(
    "PENSTOCK_SQL_TYPED" not in os.environ, reason="finding out what compiles takes minutes"
)


@needs_signatures
def test_the_compiler_refuses_and_never_breaks_down() -> None:
    """Tens of thousands of calls with arguments of each type, many of which it refuses."""
    assert not all_signatures().crashes


@needs_signatures
def test_nearly_every_function_is_drawn() -> None:
    found = all_signatures()
    assert len(set(FUNCTIONS) & set(found.of)) >= LEAST_FUNCTIONS * len(FUNCTIONS)
    assert len(set(AGGREGATES) & set(found.aggregates)) >= LEAST_FUNCTIONS * len(AGGREGATES)


@needs_signatures
def test_a_seed_is_one_query() -> None:
    assert [drawn(seed, {}) for seed in range(20)] == [drawn(seed, {}) for seed in range(20)]
    assert len({drawn(seed, {}).sql for seed in range(60)}) > 50


@needs_signatures
def test_what_changed_is_drawn_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CHANGED, "hex,sum")
    weights.cache_clear()
    assert weights() == {"hex": MORE, "sum": MORE}
    weights.cache_clear()
    many, few = (sum("hex(" in drawn(seed, each).sql for seed in range(300)) for each in ({"hex": 500}, {}))
    assert many > 3 * few + 10


def test_every_excuse_is_a_line_of_the_page() -> None:
    page = " ".join(PAGE.read_text(encoding="utf-8").partition("## Constants")[0].split())
    assert [words for _, words in EXCUSES if words not in page] == []
    assert excuse("Spark fails: [DUPLICATED_MAP_KEY] Duplicate map key a") is not None
    assert excuse("row 1: 2 | 3") is None


def test_every_type_has_its_values() -> None:
    rows = TABLES["w"]
    assert {len(column.values) for column in COLUMNS.values()} == {rows}
    classes = {each for column in COLUMNS.values() for each in column.classes}
    assert classes == {"value", "NULL", "NaN", "extreme"}


def test_families_tell_nullable_types_apart() -> None:
    types = dict(compiled("SELECT ni32, i64, [ni64] AS a, (ns, dd) AS b FROM w").columns)
    assert [family(types[name]) for name in ("ni32", "i64", "a", "b")] == [
        "?Int",
        "Int",
        "Array(?Int)",
        "Tuple(?String, Date32)",
    ]


def test_brackets_are_left_out() -> None:
    assert re.search("ORDER BY", outermost("SELECT a FROM (SELECT b FROM w ORDER BY b)")) is None
    assert re.search("ORDER BY", outermost("SELECT f(g(a)) FROM w ORDER BY h(a)")) is not None
