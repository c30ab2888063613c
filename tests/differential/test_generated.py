"""Random queries on both engines: the answers are the same if both answer.

PENSTOCK_SQL_QUERIES: how many queries (1,100 unless set; the other 900 of a run are those of typed/);
PENSTOCK_SQL_SEED: the first seed (1 unless set; `make fuzz-sql` begins anywhere). A query that differs is shrunk and
written to tests/golden/sql/found, where test_clickhouse runs it from then on.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.differential.compare import Verdict, compared
from tests.differential.engines import ClickHouse, Spark
from tests.differential.generator import query
from tests.differential.shrink import shrunk

FOUND = Path(__file__).parent.parent / "golden" / "sql" / "found"
QUERIES = int(os.environ.get("PENSTOCK_SQL_QUERIES", "1100"))
SEED = int(os.environ.get("PENSTOCK_SQL_SEED", "1"))
BLOCK = 100
MORE = range(SEED + BLOCK, SEED + QUERIES, BLOCK)
LEAST_ANSWERED = 0.25

pytestmark = pytest.mark.spark


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("start", [SEED, *(pytest.param(start, marks=pytest.mark.slow) for start in MORE)])
def test_random_queries(start: int, clickhouse: ClickHouse, quick: Spark) -> None:
    tally: Counter[Verdict] = Counter()
    for seed in range(start, min(start + BLOCK, SEED + QUERIES)):
        sql = query(Random(seed))
        verdict, what = compared(sql, clickhouse, quick)
        tally[verdict] += 1
        if verdict == "differs":
            _report(seed, sql, what, clickhouse, quick)
    assert tally["same"] >= LEAST_ANSWERED * tally.total(), f"too few queries are answered to prove anything: {tally}"


def _report(seed: int, sql: str, what: str, clickhouse: ClickHouse, spark: Spark) -> None:
    """Fails with the least query that still differs, and keeps it."""
    least = shrunk(sql, lambda each: compared(each, clickhouse, spark)[0] == "differs")
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / f"{hashlib.sha256(least.encode()).hexdigest()[:12]}.sql"
    path.write_text(f"-- Seed {seed}.\n{least};\n", encoding="utf-8")
    pytest.fail(f"seed {seed}: {compared(least, clickhouse, spark)[1] or what}\n{least}\nkept as {path.name}")
