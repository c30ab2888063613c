"""Rows of an answer: the same as `collect` gives, all of them or an error, and never all unpacked in Spark."""

from __future__ import annotations

from contextlib import closing

import pytest

from penstock.errors import TooLarge
from penstock.lake.read.answer_rows import answer_rows
from penstock.lake.read.query_execution import QueryLimits, run_query
from penstock.lake.spark.session import Lake
from penstock.model.types import String

EVERY_TYPE = """
SELECT * FROM VALUES
  (1Y, 2S, 3, 4L, 1.5F, double('NaN'), 12345678901234567890.123BD, true, 'text é😀', X'00ff', DATE '1925-01-01',
   TIMESTAMP '2026-01-02 03:04:05.678901', array(1, null), map('a', array(1.5BD)), named_struct('x', 1, 'y', 'z')),
  (null, null, null, null, null, null, null, null, null, null, null, null, null, null, null)
"""


@pytest.mark.parametrize(
    "sql",
    [
        EVERY_TYPE,
        "SELECT id % 7 AS k, count(*) AS n, max(id) AS m FROM range(0, 100000, 1, 4) GROUP BY k ORDER BY k",
        "SELECT id, repeat('x', cast(id % 100 AS int)) AS t FROM range(0, 20000, 1, 5)",
        "SELECT 1 AS n WHERE false",
        "SELECT (SELECT max(id) FROM range(9)) AS m, a.id FROM range(9) a JOIN range(5, 20) b USING (id) ORDER BY 2",
    ],
)
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_rows_are_those_that_collect_gives(lake: Lake, sql: str, adaptive: str) -> None:
    session = lake.spark.newSession()
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    wanted = [tuple(row) for row in session.sql(sql).collect()]
    found = list(answer_rows(session.sql(sql)))
    assert repr(found) == repr(wanted)
    assert [list(map(type, row)) for row in found] == [list(map(type, row)) for row in wanted]


def test_a_failure_after_many_rows_is_no_end_of_the_rows(lake: Lake) -> None:
    """The last of four partitions fails once the rows of the others were given."""
    sql = "SELECT id, assert_true(id < 39000) AS ok FROM range(0, 40000, 1, 4)"
    found: list[tuple[object, ...]] = []
    with pytest.raises(Exception, match="39000"), closing(answer_rows(lake.bulk.sql(sql))) as rows:
        found += rows
    assert 10_000 < len(found) < 40_000


def test_tasks_have_the_configuration_of_the_session(lake: Lake) -> None:
    """Some functions read it in the task that runs them."""
    session = lake.bulk.newSession()
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session.conf.set("spark.sql.ansi.enabled", "false")
    text = "to_json(named_struct('t', timestamp_micros(id)))"
    sql = f"SELECT {text}, cast('x' || id AS int) FROM range(0, 2, 1, 2) ORDER BY 1"
    assert next(answer_rows(session.sql(sql))) == ('{"t":"1970-01-01T09:00:00.000+09:00"}', None)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT repeat('x', 1000000) AS t FROM range(0, 20000, 1, 2)",
        "SELECT if(id < 200000, '', repeat('x', 1000000)) AS t FROM range(0, 220000, 1, 1)",
    ],
    ids=["all large", "small ones first"],
)
def test_texts_that_would_fill_memory_are_not_unpacked(lake: Lake, sql: str) -> None:
    """Twenty gigabytes that take a few megabytes packed: they end at the limit, with a heap of two."""
    most = QueryLimits(120.0, 1_000_000, 32 * 2**20)
    with pytest.raises(TooLarge, match="bytes"):
        run_query(lake.bulk, sql, (("t", String()),), most)
    assert [tuple(row) for row in answer_rows(lake.bulk.sql("SELECT 1"))] == [(1,)]


def test_a_row_that_would_fill_memory_is_refused(lake: Lake) -> None:
    """It is several times in memory while Python is given it; a JVM without memory ends, with all its flows."""
    heap = lake.spark._jvm.java.lang.Runtime.getRuntime().maxMemory()  # type: ignore[union-attr]
    most, columns = QueryLimits(120.0, 10, heap), (("t", String()),)
    sql = "SELECT repeat('x', cast(id AS int)) AS t FROM range({0}, {0} + 1, 1, 1)"  # no literal of the plan
    with pytest.raises(TooLarge, match=f"a row of the answer has more than {heap // 16:,} bytes"):
        run_query(lake.bulk, sql.format(heap // 16), columns, most)
    text = run_query(lake.bulk, sql.format(heap // 40), columns, most).rows[0][0]
    assert text == "x" * (heap // 40)
