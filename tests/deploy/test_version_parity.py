"""Two versions of a pipeline compared at one cut, while rows arrive."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone

import pytest

from deploy.conftest import Running
from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.errors import Conflict, InvalidRequest
from penstock.lake.read.row_comparison import (
    ComparedValue,
    RowComparison,
    both_checksums,
    difference_counts,
    only_left_rows,
)
from penstock.model.types import Float, Int, Nullable, String
from penstock.plan.parity.answer_comparison import compare_answers
from penstock.plan.parity.report import EndpointReport, ParityReport, TableReport
from penstock.state.logs.call_log import CallRecord

SALES = "SCHEMA >\n    `id` UInt32,\n    `country` String,\n    `amount` Float64\nENGINE MergeTree\n"
TOTALS = (
    "SCHEMA >\n    `country` String,\n    `n` AggregateFunction(count),\n    `total` AggregateFunction(sum, Float64),\n"
    "    `ids` AggregateFunction(uniqExact, UInt32)\nENGINE AggregatingMergeTree\nENGINE_SORTING_KEY country\n"
)
BIG = "SCHEMA >\n    `id` UInt32,\n    `cents` Int64\nENGINE MergeTree\n"
LATEST = "SCHEMA >\n    `country` String,\n    `id` UInt32\nENGINE ReplacingMergeTree\nENGINE_SORTING_KEY country\n"
SIZES = "SCHEMA >\n    `n` UInt64\nENGINE MergeTree\n"


def view(sql: str, to: str) -> str:
    return f"NODE n\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE {to}\n"


def endpoint(sql: str) -> str:
    return f"NODE n\nSQL >\n    {sql}\nTYPE endpoint\n"


FILES = {
    "datasources/vp_sales.datasource": SALES,
    "datasources/vp_totals.datasource": TOTALS,
    "datasources/vp_big.datasource": BIG,
    "datasources/vp_latest.datasource": LATEST,
    "datasources/vp_sizes.datasource": SIZES,
    "pipes/vp_total.pipe": view(
        "SELECT country, countState() AS n, sumState(amount) AS total, uniqExactState(id) AS ids"
        " FROM vp_sales GROUP BY country",
        "vp_totals",
    ),
    "pipes/vp_of_big.pipe": view("SELECT id, toInt64(amount * 100) AS cents FROM vp_sales", "vp_big"),
    "pipes/vp_newest.pipe": view("SELECT country, id FROM vp_sales", "vp_latest"),
    "pipes/vp_size.pipe": view("SELECT count() AS n FROM vp_sales GROUP BY country", "vp_sizes"),
    "pipes/vp_top.pipe": endpoint(
        "SELECT country, countMerge(n) AS n, sumMerge(total) AS total FROM vp_totals GROUP BY country ORDER BY country"
    ),
    "pipes/vp_one.pipe": endpoint("% SELECT sum(cents) AS cents FROM vp_big WHERE id <= {{UInt32(most)}}"),
    "pipes/vp_now.pipe": endpoint("SELECT now() AS at, count() AS n FROM vp_big"),
    "pipes/vp_luck.pipe": endpoint("SELECT rand() AS luck, id FROM vp_big WHERE id = 1"),
    "pipes/vp_raw.pipe": endpoint("SELECT count() > 0 AS some FROM vp_latest FINAL"),
}
# The source gets a table of its own, and so has every table below it, computed anew. One row of vp_big differs.
NEXT = {
    **FILES,
    "datasources/vp_sales.datasource": SALES.replace("\nENGINE", ",\n    `note` String DEFAULT ''\nENGINE")
    + "ENGINE_SORTING_KEY id\nFORWARD_QUERY >\n    SELECT id, upper(country) AS country, amount, '' AS note\n",
    "pipes/vp_of_big.pipe": view("SELECT id, toInt64(amount * 100) + (id = 7) AS cents FROM vp_sales", "vp_big"),
}


def post(running: Running, first: int, count: int) -> None:
    rows = [{"id": id, "country": "DE" if id % 3 else "FR", "amount": id * 0.1} for id in range(first, first + count)]
    body = "\n".join(map(json.dumps, rows)).encode()
    running.pipeline.ingestion.append("vp_sales", body, None)


@contextmanager
def rows_arriving(running: Running) -> Iterator[list[int]]:
    """Post rows one call after the other for the block; the list has the id of each first one."""
    posted, stop = [10_000], threading.Event()

    def go_on() -> None:
        while not stop.is_set():
            post(running, posted[-1], 5)
            posted.append(posted[-1] + 5)
            stop.wait(0.1)

    poster = threading.Thread(target=go_on)
    poster.start()
    try:
        yield posted
    finally:
        stop.set()
        poster.join()


EVERYTHING = ComparisonScope()


def compare(running: Running, scope: ComparisonScope = EVERYTHING) -> ParityReport:
    return running.pipeline.comparison.compare("live", "staging", scope)


def table(report: ParityReport, name: str) -> TableReport:
    return next(each for each in report.tables if each.name == name)


def call(report: ParityReport, name: str) -> EndpointReport:
    return next(each for each in report.endpoints if each.name == name)


@pytest.fixture(scope="module")
def staged(running: Running) -> Running:
    assert running.deploy(FILES).state == "live"
    post(running, 1, 40)
    running.catch_up()
    post(running, 41, 40)
    running.catch_up()
    done = running.deploy(NEXT, promote=False)
    assert done.state == "ready", done.error
    return running


def test_rows_that_arrive_make_no_difference(staged: Running) -> None:
    with rows_arriving(staged) as posted:
        before = len(posted)
        calls = [{"endpoint": "vp_one", "parameters": {"most": most}} for most in (6, 7)]
        report = compare(staged, ComparisonScope("\n".join(map(json.dumps, calls))))
        assert len(posted) > before, "rows are taken while versions are compared"
    sales = table(report, "vp_sales")
    assert (sales.outcome, sales.left_rows) == ("same", sales.right_rows), sales
    assert sales.left_out == {"note": f"only deployment {report.right.id} has it"}
    for name in ("vp_totals", "vp_latest", "vp_sales_quarantine"):
        assert table(report, name).outcome == "same", table(report, name)
    assert [call(report, name).outcome for name in ("vp_top", "vp_now", "vp_raw")] == ["same"] * 3, report.endpoints
    assert [each.outcome for each in report.endpoints if each.name == "vp_one"] == ["same", "differs"]
    big = table(report, "vp_big")
    assert (big.outcome, big.left_rows) == ("differs", big.right_rows)
    assert (big.rows.only_left, big.rows.only_right) == (1, 1)
    assert [(each.side, json.loads(each.row)) for each in big.rows.sample] == [
        ("left", {"id": 7, "cents": 70}),
        ("right", {"id": 7, "cents": 71}),
    ]
    assert {each.name: each.left == each.right for each in big.columns} == {"id": True, "cents": False}
    # What depends on more than the batches is not called a difference.
    sizes = table(report, "vp_sizes")
    assert (sizes.outcome, "of each step" in (sizes.reason or "")) == ("not_compared", True), sizes
    luck = call(report, "vp_luck")
    assert (luck.outcome, luck.reason) == ("not_compared", "it reads a clock or random numbers")
    assert {problem.code for problem in report.differences} == {"versions-differ"}
    assert len(report.differences) == 2


def test_recorded_calls_are_compared(staged: Running) -> None:
    calls, now = staged.pipeline.store.calls, datetime.now(timezone.utc)
    for number, most in enumerate(("6", "7", "6")):
        given = {"most": most, "unread": str(number)}
        calls.add(CallRecord(now, "vp_one", "live", 0.1, 1, 1, 1, 200, None, None, "", "", "GET", "", given))
    try:
        asked = [each for each in compare(staged).endpoints if each.name == "vp_one"]
        assert [(dict(each.parameters), each.outcome) for each in asked] == [
            ({"most": "6"}, "same"),
            ({"most": "7"}, "differs"),
        ]
        given = [each for each in compare(staged, ComparisonScope(recorded=0)).endpoints if each.name == "vp_one"]
        assert [(each.parameters, each.outcome) for each in given] == [({}, "not_compared")]
    finally:
        calls.trim(now + timedelta(days=1))


def test_what_differs_is_not_promoted_unless_it_is_declared(staged: Running) -> None:
    comparison = staged.pipeline.comparison
    with pytest.raises(InvalidRequest, match="vp_bug"):
        comparison.promote("staging", ComparisonScope(declared=("vp_bug",)))
    with pytest.raises(Conflict, match="a difference") as refused:
        comparison.promote("staging", EVERYTHING)
    assert ["`vp_big`" in problem.message for problem in refused.value.problems] == [True]
    assert staged.pipeline.store.find("staging").state == "ready"
    assert comparison.promote("staging", ComparisonScope(declared=("vp_big.cents",))).state == "live"


FLOATS = ["1.0", "1.0000000000001", "1.1", "double('NaN')", "double('Infinity')", "-0.0", "0.0", "NULL"]
LEFT = [("a", at % 3, value) for at, value in enumerate([*FLOATS, *FLOATS[:4]])]
RIGHT = [("a", at % 3, value) for at, value in enumerate([*FLOATS[1:], FLOATS[0], "1.0000000000002", "NULL"])]


def relation(rows: list[tuple[str, int, str]]) -> str:
    listed = ", ".join(f"('{name}', {n}, CAST({x} AS DOUBLE), array({n}, NULL))" for name, n, x in rows)
    return f"(SELECT * FROM VALUES {listed} AS t(name, n, x, list))"


def as_python(rows: list[tuple[str, int, str]]) -> list[tuple[object, ...]]:
    special = {"NULL": None, "double('NaN')": math.nan, "double('Infinity')": math.inf}
    return [(name, n, special[x] if x in special else float(x)) for name, n, x in rows]


def test_spark_counts_differing_rows_as_python_does(running: Running) -> None:
    values = (
        ComparedValue("name", "name", "name"),
        ComparedValue("n", "n", "n"),
        ComparedValue("x", "x", "x", tolerance=1e-9),
        ComparedValue("list", "list", "list", plain=False),
    )
    rows = RowComparison(relation(LEFT), relation(RIGHT), values)
    spark = running.pipeline.core.warehouse.lake.spark
    columns = (("name", String()), ("n", Int(32)), ("x", Nullable(Float(64))))
    expected = compare_answers((columns, as_python(LEFT)), (columns, as_python(RIGHT)))
    assert expected.close
    assert expected.only_left
    counts = (len(expected.only_left), len(expected.only_right), expected.close)
    assert tuple(map(int, spark.sql(difference_counts(rows)).first())) == counts
    assert len(spark.sql(only_left_rows(rows, 100)).collect()) <= counts[0]
    swapped = RowComparison("(SELECT array(NULL, 'null') AS list)", "(SELECT array('null', NULL) AS list)", values[3:])
    assert tuple(map(int, spark.sql(difference_counts(swapped)).first())) == (1, 1, 0)
    reordered = RowComparison(relation(LEFT), relation(LEFT[::-1]), values)
    first, second = spark.sql(both_checksums(reordered)).collect()
    assert first[:-1] == second[:-1]
