"""Thousands of texts as dates and times, on ClickHouse and on Spark: each is the same value, or the same error.

In: the texts of `texts_of_times`, and every form of conversion. A text that only lacks a year, which ClickHouse takes
from the date of the query, is an error in Penstock; those are left out, and must be what `penstock_lacks_year` says.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tests.differential.engines import ClickHouse, Spark
from tests.differential.texts_of_times import time_texts

from penstock.lake.spark.session import register_functions
from penstock.model import types as t
from penstock.model.types import Type, unwrap_type

COUNT, SEED = 4000, 20
LENIENT = (
    "toDateTime(toNullable(s))",
    "CAST(s AS Nullable(DateTime('Europe/Berlin')))",
    "CAST(s AS Nullable(DateTime64(3)))",
    "CAST(s AS Nullable(DateTime64(8, 'America/Sao_Paulo')))",
    "CAST(s AS Nullable(DateTime64(9)))",
    "accurateCastOrNull(s, 'DateTime(\\'America/New_York\\')')",
    "toDateTimeOrDefault(s, 'Asia/Kathmandu')",
    "toDateTime64OrDefault(s, 4)",
    "toDateTimeOrNull(s)",
    "toDateTimeOrZero(s, 'Europe/Berlin')",
    "toDateOrNull(s)",
    "toDateOrZero(s)",
    "toDate32OrNull(s)",
    "toDate32OrDefault(s)",
    "toDate(toNullable(s))",
    "parseDateTimeBestEffortOrNull(s)",
    "parseDateTimeBestEffortUSOrZero(s, 'Europe/Berlin')",
    "parseDateTime64BestEffortOrNull(s, 3)",
    "parseDateTime64BestEffortUSOrNull(s, 9)",
)
BOUNDED = (
    "toDateTime64OrNull(s, 3)",
    "toDateTime64OrZero(s, 6, 'Australia/Lord_Howe')",
    "toDateTime64OrZero(s, 8)",
    "toDateTime64OrNull(s, 9)",
)
"""As `LENIENT`, but a number beyond the years of a DateTime64 is an error here."""
FAR_NUMBERS = "^[+-]?[0-9]{11}"
STRICT = {
    "toDateTime(s)": "accurateCastOrNull(s, 'DateTime')",
    "s::DateTime('Europe/Berlin')": "accurateCastOrNull(s, 'DateTime(\\'Europe/Berlin\\')')",
    "toDateTime64(s, 6)": "accurateCastOrNull(s, 'DateTime64(6)')",
    "CAST(s AS DateTime64(9))": "accurateCastOrNull(s, 'DateTime64(9)')",
    "toDate(s)": "toDateOrNull(s)",
    "toDate32(s)": "toDate32OrNull(s)",
    "parseDateTimeBestEffort(s)": "parseDateTimeBestEffortOrNull(s)",
}
"""Conversions that fail for some texts, and the same that do not."""

pytestmark = pytest.mark.spark


@dataclass(frozen=True)
class Texts:
    """The texts as a table on both engines."""

    clickhouse: ClickHouse
    spark: Spark
    session: SparkSession

    def clickhouse_values(self, calls: Sequence[str], of: Sequence[Type], where: str = "1") -> list[tuple[object, ...]]:
        shown = ", ".join(map(_as_number, calls, of))
        settings = "SETTINGS output_format_json_quote_decimals = 1, session_timezone = 'UTC'"
        sql = f"SELECT i, {shown} FROM times.t WHERE {where} ORDER BY i {settings}"
        document = json.loads(self.clickhouse.session.query(sql, "JSONCompact").bytes())
        return [tuple(None if each is None else Decimal(each) for each in row) for row in document["data"]]

    def spark_values(self, sql: str, of: Sequence[Type]) -> list[tuple[object, ...]]:
        """The values of a compiled query whose columns are those of `_select`."""
        columns = [f"c{place}" for place in range(len(of))]
        shown = ", ".join(map(_as_spark_number, columns, of))
        found = self.session.sql(f"SELECT i, {shown} FROM ({sql}) ORDER BY i").collect()
        return [tuple(None if each is None else Decimal(each) for each in row) for row in found]


def _as_number(call: str, of: Type) -> str:
    """A date as days, a time as seconds."""
    match unwrap_type(of):
        case t.Date():
            return f"toInt32({call})"
        case t.DateTime():
            return f"toUnixTimestamp({call})"
        case _:
            return f"toDecimal128({call}, 9)"


def _as_spark_number(column: str, of: Type) -> str:
    match unwrap_type(of):
        case t.Date():
            return f"unix_date({column})"
        case t.DateTime64(precision, _) if precision > 6:
            return column
        case _:
            return f"CAST(unix_micros({column}) AS DECIMAL(24,0)) * 0.000001BD"


def _select(calls: Sequence[str]) -> str:
    shown = ", ".join(f"{call} AS c{place}" for place, call in enumerate(calls))
    return f"SELECT toInt64(f) AS i, {shown} FROM t"


@pytest.fixture(scope="module")
def texts(clickhouse: ClickHouse, spark: Spark, tmp_path_factory: pytest.TempPathFactory) -> Texts:
    session = spark.session.newSession()
    register_functions(session)
    all_of_them = time_texts(COUNT, SEED)
    frame = session.createDataFrame(list(enumerate(all_of_them)), "f BIGINT, s STRING").coalesce(1)
    frame.createOrReplaceTempView("texts")
    lacking = session.sql("SELECT s FROM texts WHERE penstock_lacks_year(s, '') OR penstock_lacks_year(s, 'us')")
    yearless = {row.s for row in lacking.collect()}
    kept = [text for text in all_of_them if text not in yearless]
    view = session.createDataFrame(list(enumerate(kept)), "f BIGINT, s STRING").coalesce(1)
    view.createOrReplaceTempView("__all_t__")
    _fill_table(clickhouse, "yearless", sorted(yearless), tmp_path_factory.mktemp("texts"))
    _fill_table(clickhouse, "t", kept, tmp_path_factory.mktemp("texts"))
    return Texts(clickhouse, spark, session)


def _fill_table(clickhouse: ClickHouse, name: str, texts: list[str], folder: Path) -> None:
    file = folder / "texts.jsonl"
    file.write_text("\n".join(json.dumps({"i": i, "s": text}) for i, text in enumerate(texts)), encoding="utf-8")
    query = clickhouse.session.query
    query("CREATE DATABASE IF NOT EXISTS times ENGINE = Atomic")
    query(f"CREATE TABLE times.{name} (i Int64, s String) ENGINE = Memory")
    query(f"INSERT INTO times.{name} SELECT * FROM file('{file}', 'JSONEachRow', 'i Int64, s String')")


def test_texts_that_lack_a_year_are_times_of_this_year(texts: Texts) -> None:
    call = "toYear(coalesce(parseDateTimeBestEffortOrNull(s), parseDateTimeBestEffortUSOrNull(s)))"
    answer = texts.clickhouse.session.query(f"SELECT DISTINCT {call} FROM times.yearless", "TSV").bytes().decode()
    this = dt.datetime.now(dt.timezone.utc).year
    assert set(answer.split()) <= {str(this), str(this - 1), "\\N"}


@pytest.mark.parametrize(("calls", "left_out"), [(LENIENT, "^$"), (BOUNDED, FAR_NUMBERS)])
def test_a_text_that_does_not_fail_is_the_same_value(calls: Sequence[str], left_out: str, texts: Texts) -> None:
    query = texts.spark.compile(_select(calls))
    of = [each for _, each in query.columns[1:]]
    view = f"(SELECT * FROM __all_t__ WHERE NOT s RLIKE '{left_out}')"
    ours = texts.spark_values(query.sql.replace("__all_t__", view), of)
    theirs = texts.clickhouse_values(calls, of, f"NOT match(s, '{left_out}')")
    assert len(ours) > COUNT / 2
    for place, call in enumerate(calls, 1):
        pairs = [(row[0], row[place], other[place]) for row, other in zip(ours, theirs, strict=True)]
        different = [pair for pair in pairs if pair[1] != pair[2]]
        assert not different, (call, _with_texts(texts, different))


def _with_texts(texts: Texts, different: list[tuple[object, ...]]) -> list[tuple[object, ...]]:
    rows = {row.f: row.s for row in texts.session.table("__all_t__").collect()}
    return [(rows[int(str(row[0]))], *row[1:]) for row in different[:8]]


@pytest.mark.parametrize("call", STRICT)
def test_a_text_that_is_no_time_fails_on_both(call: str, texts: Texts) -> None:
    query = texts.spark.compile(_select([call]))
    of = [each for _, each in query.columns[1:]]
    theirs = texts.clickhouse_values([call], of, f"{STRICT[call]} IS NOT NULL")
    numbers = ", ".join(str(row[0]) for row in theirs)
    view = f"(SELECT * FROM __all_t__ WHERE f IN ({numbers}))"
    assert texts.spark_values(query.sql.replace("__all_t__", view), of) == theirs
    others = texts.clickhouse_values([STRICT[call]], of, f"{STRICT[call]} IS NULL")
    for row in others[:3]:
        view = f"(SELECT * FROM __all_t__ WHERE f = {row[0]})"
        with pytest.raises(PySparkException):
            texts.spark_values(query.sql.replace("__all_t__", view), of)
