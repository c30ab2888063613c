"""States of random parts, merged in two steps, are the state of the whole: the law incremental views
rest on."""

from __future__ import annotations

import random

import pytest
from tests.differential.engines import Spark, same

AGGREGATES = {
    "count": "", "sum": "i64", "avg": "nf", "min": "ns", "max": "t", "uniq": "ns", "uniqExact": "u8",
    "argMax": "s, id", "argMin": "ns, f", "quantile": "nf", "groupUniqArray": "lc", "sumIf": "u8, id > 2",
    "countIf": "b", "avgIf": "u64, id > 1",
}  # fmt: skip
SEEDS = (1, 2, 3)


@pytest.mark.spark
@pytest.mark.parametrize("seed", SEEDS)
def test_parts_merge_to_the_whole(seed: int, spark: Spark) -> None:
    chosen = random.Random(seed)
    parts = ", ".join(str(chosen.randrange(4)) for _ in range(6))
    part = f"arrayElement([{parts}], id)"
    states = ", ".join(f"{name}State({given}) AS s{place}" for place, (name, given) in enumerate(AGGREGATES.items()))
    merges = ", ".join(f"{name}MergeState(s{place}) AS s{place}" for place, name in enumerate(AGGREGATES))
    reads = ", ".join(_sorted(name, f"{name}Merge(s{place})") for place, name in enumerate(AGGREGATES))
    whole = ", ".join(_sorted(name, f"{name}({given})") for name, given in AGGREGATES.items())
    inner = f"SELECT {part} AS p, {states} FROM t GROUP BY p"
    merged = spark.rows(spark.compile(f"SELECT {reads} FROM (SELECT p % 2 AS h, {merges} FROM ({inner}) GROUP BY h)"))
    assert same(merged[0], spark.rows(spark.compile(f"SELECT {whole} FROM t"))[0])


def _sorted(name: str, call: str) -> str:
    return f"arraySort({call})" if name.startswith("group") else call
