"""SAMPLE: the bounds that a ratio has in the range of the sampling key's type, and what is refused.

That the rows are ClickHouse's is tested in tests/differential/test_sample.py.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.unit.sql.flights import FLIGHTS, PROJECT, pipe, problems, query, view

from penstock.errors import InvalidQuery
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.sql.compile import compile_view

SOURCES = tuple(
    replace(FLIGHTS, name=name, engine=Engine(sampling_key=key))
    for name, key in (
        ("f", "distance"),
        ("g", "day"),
        ("h", "carrier"),
        ("j", "cityHash64("),
        ("k", "cityHash64(flight)"),
    )
)
SAMPLED = Project.of([*PROJECT.datasources, *SOURCES], [pipe("p", "SELECT day FROM f SAMPLE 1/2")])
TESTS = {
    "SAMPLE 0.1": "`distance` < 429496729L",
    "SAMPLE 1/10 OFFSET 0": "`distance` < 429496729L",
    "SAMPLE 0.1/0.3": "`distance` < 1431655765L",
    "SAMPLE 1/3 OFFSET 1/3": "`distance` >= 1431655765L AND `distance` < 2863311530L",
    "SAMPLE 5e-1 OFFSET 0.8": "`distance` >= 3435973836L",
    "SAMPLE 0.1 OFFSET 1": "false",
    "SAMPLE 1e-10": "`distance` < 0",
}
REFUSED = {
    "SELECT day FROM flights SAMPLE 0.1": (
        "1:17: SAMPLE is not possible on `flights`: it has no ENGINE_SAMPLING_KEY (a filter such as id % 10 = 0)"
    ),
    "SELECT day FROM h SAMPLE 0.1": "its sampling key is LowCardinality(String), not an unsigned integer",
    "SELECT day FROM j SAMPLE 0.1": "its sampling key does not compile",
    "SELECT day FROM f SAMPLE 1000": "SAMPLE of a number of rows is not supported: which rows it takes depends on",
    "SELECT day FROM f SAMPLE 0.1 OFFSET 2": "SAMPLE of a number of rows is not supported",
    "SELECT day FROM f SAMPLE 1 OFFSET 0.1": "SAMPLE 1 has no OFFSET",
    "SELECT day FROM f SAMPLE 1/0": "SAMPLE divides by zero",
    "SELECT day FROM f SAMPLE day": "SAMPLE needs a literal ratio",
    "SELECT day FROM f SAMPLE .5": "SAMPLE needs a literal ratio",
    "SELECT day FROM f SAMPLE ((1, 2, 0, 1))": "invalid SQL near `(`",
    "SELECT day FROM f FINAL SAMPLE 0.1": "FINAL is not supported by the engine MergeTree",
    "SELECT day FROM f SAMPLE 0.1 FINAL": "SAMPLE of rows that FINAL merges is not supported",
    "SELECT day FROM p SAMPLE 0.1": "SAMPLE of a pipe is not supported (sample the data source itself)",
    "SELECT day FROM (SELECT day FROM f) SAMPLE 0.1": "SAMPLE of a SELECT is not supported",
    "WITH c AS (SELECT day FROM f) SELECT day FROM c SAMPLE 0.1": "SAMPLE of a SELECT is not supported",
    "SELECT 1 FROM numbers(3) SAMPLE 0.1": "SAMPLE of a table function is not supported",
    "SELECT 1 FROM system.one SAMPLE 0.1": "SAMPLE of system.one is not supported",
    "SELECT _sample_factor FROM f SAMPLE 0.1": "unknown column `_sample_factor`",
}


@pytest.mark.parametrize("clause", TESTS)
def test_bounds(clause: str) -> None:
    found = query(f"SELECT day FROM f {clause} ORDER BY day LIMIT 2 OFFSET 1", SAMPLED)
    rows = f"(SELECT * FROM __all_f__ WHERE {TESTS[clause]}) AS `f`"
    assert found.sql == f"SELECT `f`.`day` AS `day` FROM {rows} ORDER BY `day` ASC LIMIT 2 OFFSET 1"
    assert found.reads[0].columns == ("day", "distance")


@pytest.mark.parametrize("clause", ["SAMPLE 1", "SAMPLE 0", "SAMPLE 10/10"])
def test_all_rows(clause: str) -> None:
    assert query(f"SELECT day FROM f {clause}", SAMPLED).sql == query("SELECT day FROM f", SAMPLED).sql


def test_each_table_has_its_own_sample() -> None:
    found = query("SELECT 1 FROM f AS a SAMPLE 1/2 JOIN g AS b SAMPLE 1/4 OFFSET 1/4 ON a.day = b.day", SAMPLED).sql
    assert "(SELECT * FROM __all_f__ WHERE `distance` < 2147483648L) AS `a`" in found
    assert "(SELECT * FROM __all_g__ WHERE `day` >= 64 AND `day` < 128) AS `b`" in found


def test_a_pipe_may_sample_what_it_reads() -> None:
    assert "WHERE `distance` < 2147483648L" in query("SELECT day FROM p", SAMPLED).sql


def test_an_expression_is_a_key() -> None:
    found = query("SELECT day FROM k SAMPLE 1/2", SAMPLED)
    assert found.sql.endswith("< CAST(9223372036854775808 AS DECIMAL(20,0))) AS `k`")
    assert found.reads[0].columns == ("day", "flight")


@pytest.mark.parametrize("sql", REFUSED)
def test_what_is_refused(sql: str) -> None:
    assert REFUSED[sql] in problems(sql, SAMPLED)[0]


def test_a_materialized_node_samples_no_trigger() -> None:
    made = view("v", "carrier_daily", "SELECT carrier FROM f SAMPLE 0.1")
    with pytest.raises(InvalidQuery) as stop:
        compile_view(Project.of([*PROJECT.datasources, *SOURCES], [made]), made, made.nodes[0])
    assert "cannot sample the rows that trigger it" in stop.value.problems[0].message
