"""Which errors of Spark blame a row: those that the same rows give again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from tests.unit.sql.flights import query

from penstock.flow import materialized_view
from penstock.flow.materialized_view import ViewStep, step_rows
from penstock.lake.read.bindings import CurrentRows
from penstock.lake.spark.row_errors import is_row_error
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import TailCursor
from penstock.model.manifest import Binding, Source, View
from penstock.sql.analysis.query_facts import query_facts
from penstock.sql.spark_text import replace_placeholders


def error_of(lake: Lake, sql: str) -> BaseException:
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever Spark raises
        lake.spark.sql(sql).write.format("noop").mode("overwrite").save()
    return raised.value


def error_of_fetching(lake: Lake, sql: str) -> BaseException:
    """The error where this process takes the rows, to write them itself."""
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever Spark raises
        lake.spark.sql(sql).toArrow()
    return raised.value


@pytest.mark.parametrize(
    "expression",
    [
        "CAST(concat('x', id) AS INT)",
        "CAST(id + 1 AS BIGINT) DIV 0",
        "9223372036854775807L + id",
        "raise_error('cannot convert')",
        "CAST(1000 + id AS TINYINT)",
        "to_timestamp(concat('2020-13-', id), 'yyyy-MM-dd')",
        "array(1)[CAST(id + 5 AS INT)]",
        "regexp_replace('a', concat('(', id), 'b')",
        "array_repeat(id, CAST(id + 2147483640 AS INT))",
        "sequence(0L, 3000000000L + id)",
    ],
)
def test_a_value_is_at_fault(lake: Lake, expression: str) -> None:
    sql = f"SELECT {expression} AS v FROM range(1, 3)"
    assert is_row_error(error_of(lake, sql))
    assert is_row_error(error_of_fetching(lake, sql))


def test_what_is_not_a_value_is_none(lake: Lake) -> None:
    assert not is_row_error(error_of(lake, "SELECT * FROM nowhere"))
    assert not is_row_error(OSError("no space left on device"))

    def fail(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from ()
        for _ in parts:
            raise OSError("Stale file handle")

    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever Spark raises
        lake.spark.range(1).mapInArrow(fail, "v string").collect()
    assert not is_row_error(raised.value)
    with pytest.raises(Exception) as raised:  # noqa: PT011 - whatever Spark raises
        lake.spark.range(1).mapInArrow(fail, "v string").toArrow()
    assert not is_row_error(raised.value)


def test_a_table_that_is_away_does_not_cost_a_view_its_seq(lake: Lake) -> None:
    sql = "SELECT `t`.`id` AS `id` FROM __new_t__ AS `t`"
    trigger = Source("__new_t__", Binding("t", "t__d1", ()))
    assert query_facts(sql).with_row_seq(trigger.placeholder) is not None
    view = View("p.n", "p", "n", "u__d1", sql, trigger, ("id",))
    step = ViewStep(CurrentRows(), Progress(TailCursor(1)), 7, 1)
    with pytest.raises(AnalysisException):
        step_rows(lake.spark, view, step, lambda _: "(SELECT * FROM nowhere)")
    assert sql not in materialized_view._NO_ROW_SEQ


@pytest.mark.parametrize(
    "call",
    [
        "range(distance)",
        "range(0, distance * 3, 3)",
        "range(distance, 0, -1)",
        "arrayWithConstant(distance, 'x')",
        "arrayResize([1], distance)",
        "arrayResize([1], -toInt64(distance))",
        "repeat(carrier, distance)",
        "space(distance)",
        "leftPad(carrier, distance)",
        "mapPopulateSeries(map(toInt64(0), 1, toInt64(distance), 1))",
    ],
)
def test_a_row_may_not_ask_for_more_than_there_is_memory(lake: Lake, call: str) -> None:
    """Without memory Spark's process ends, and is started again for the same row."""
    sql = query(f"SELECT length({call}) AS v FROM flights").sql

    def of(distance: int) -> str:
        rows = f"(SELECT {distance} + id AS distance, 'AA' AS carrier FROM range(1))"  # no literal, which is folded
        return replace_placeholders(sql, {"__all_flights__": rows})

    assert lake.spark.sql(of(1_000)).collect()[0].v >= 1_000
    assert is_row_error(error_of(lake, of(2**31 - 1)))
