"""Random queries over every type on both engines: the same rows, names and types, or refused by the compiler.

CI asks the kept queries and 2,000 of the kept calls, more of those whose functions the last commits changed.
PENSTOCK_SQL_TYPED: how many new ones are drawn (none unless set: finding out what compiles takes minutes, and what
is drawn changes with it).
PENSTOCK_SQL_SEED: the first seed, otherwise one for each commit. PENSTOCK_SQL_CHANGED: the functions that weigh more,
as a failure names them.
PENSTOCK_SQL_COVERAGE: a file for the cells that were compared, which scripts/sql_coverage.py reads.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.differential.compare import Verdict
from tests.differential.engines import ClickHouse, Spark
from tests.differential.shrink import shrunk
from tests.differential.typed import kept_calls
from tests.differential.typed.batches import Answer, Generated, answers, asked
from tests.differential.typed.coverage import Coverage
from tests.differential.typed.drawn_queries import drawn, outermost
from tests.differential.typed.excused import reason_to_leave_out
from tests.differential.typed.kept_queries import kept_queries
from tests.differential.typed.tables import create_tables
from tests.differential.typed.weights import CHANGED, weights

QUERIES = int(os.environ.get("PENSTOCK_SQL_TYPED", "0"))
SEED = int(os.environ.get(kept_calls.SEED, "1"))
WEIGHTS = weights()
COVERAGE = os.environ.get("PENSTOCK_SQL_COVERAGE")
BLOCK = 300
CALLS = 2000
"""So many kept calls each run asks."""
KEPT = tuple(kept_queries())
MORE = range(BLOCK, len(KEPT), BLOCK)
LEAST_KEPT = 0.9
LEAST_SAME = 0.5
MOST_SHOWN = 5

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def typed(clickhouse: ClickHouse, quick: Spark) -> tuple[ClickHouse, Spark]:
    """Both engines with the tables of every type."""
    create_tables(clickhouse, quick)
    return clickhouse, quick


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in MORE)])
def test_kept_queries(start: int, typed: tuple[ClickHouse, Spark]) -> None:
    tally = _asked(KEPT[start : start + BLOCK], typed)
    assert tally["same"] >= LEAST_KEPT * tally.total(), f"kept queries are refused: {tally}"


def test_one_column_that_differs_leaves_the_others_alone(typed: tuple[ClickHouse, Spark]) -> None:
    """So does one at which Spark fails: known, because a map of Spark has each key once."""
    items = ("u8 + 1", "rand64()", "map(u8, 1, u8, 2)", "ni32", "throwIf(id = 3)")
    found = {
        answer.query.items[0]: answer.verdict for answer in answers([Generated(0, (each,)) for each in items], *typed)
    }
    assert found == dict(zip(items, ("same", "differs", "fails", "same", "clickhouse refuses"), strict=True))


@pytest.mark.timeout(1800)
def test_kept_calls(typed: tuple[ClickHouse, Spark]) -> None:
    seed = kept_calls.seed_of_commit()
    calls = kept_calls.chosen(kept_calls.kept_calls(), CALLS, WEIGHTS, seed)
    tally = _asked([replace(each.query, seed=seed) for each in calls], typed)
    assert tally["same"] >= LEAST_KEPT * tally.total(), f"kept calls are refused: {tally}"


@pytest.mark.timeout(1800)
@pytest.mark.skipif(not QUERIES, reason="PENSTOCK_SQL_TYPED is not set")
@pytest.mark.parametrize("start", range(SEED, SEED + QUERIES, BLOCK))
def test_drawn_queries(start: int, typed: tuple[ClickHouse, Spark]) -> None:
    queries = [drawn(seed, WEIGHTS) for seed in range(start, min(start + BLOCK, SEED + QUERIES))]
    tally = _asked([each for each in queries if reason_to_leave_out(each.sql) is None], typed)
    assert tally["same"] >= LEAST_SAME * tally.total(), f"too few queries are answered to prove anything: {tally}"


def _asked(queries: Sequence[Generated], typed: tuple[ClickHouse, Spark]) -> Counter[Verdict]:
    """How many queries have each verdict. Fails if an answer differs."""
    tally: Counter[Verdict] = Counter()
    coverage = Coverage()
    different: list[Answer] = []
    for answer in answers(queries, *typed):
        tally[answer.verdict] += 1
        coverage.add(answer)
        different += [answer] if answer.verdict == "differs" else []
    if COVERAGE:
        coverage.append_to(Path(COVERAGE))
    assert not different, "\n\n".join(_shown(each, typed) for each in different[:MOST_SHOWN])
    return tally


def _shown(answer: Answer, typed: tuple[ClickHouse, Spark]) -> str:
    """The least query that still differs, with what repeats it."""

    def differs(sql: str) -> bool:
        return asked(sql, *typed, ordered=" ORDER BY " in outermost(sql)).verdict == "differs"

    repeat = f"seed {answer.query.seed}, {CHANGED}={','.join(WEIGHTS)}"
    return f"{repeat}: {answer.what}\n{answer.query.sql}\nleast: {shrunk(answer.query.sql, differs)}"
