"""DataFrames of a view: the SQL that they become, and what they refuse. That this SQL gives the rows of the DataFrame
is tested on Spark (tests/differential/test_dataframe_views.py)."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F  # noqa: N812 the name that everybody uses
from sqlglot import exp

from penstock.api.dataframes.function_rules import AGGREGATES
from penstock.api.dataframes.refusal import RefusedInView
from penstock.api.dataframes.view_query import view_lines
from penstock.api.objects.declarations import CallLocation
from penstock.sql.spark_dialect.allowed import SPARK_FUNCTIONS

EVENTS = ["id", "n", "s", "tags"]
USERS = ["id", "plan"]
View = Callable[..., Any]


@pytest.fixture(autouse=True)
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in the process that reads a project."""
    monkeypatch.setenv("SPARK_CONNECT_MODE_ENABLED", "1")


def record(view: View, events: list[str] | None = None) -> str:
    sources = [("events", events or EVENTS), ("users", USERS)]
    return "\n".join(each.text for each in view_lines(view, "view", sources, CallLocation("app.py", 1)))


def test_row_by_row_steps_are_one_select() -> None:
    def view(events: Any, users: Any) -> Any:
        kept = events.filter(events.n > 1).withColumn("m", F.col("n") + 1).where("m < 9")
        return kept.select("id", (F.col("m") * 2).alias("k"))

    assert record(view) == (
        "SELECT\n"
        "    `t1`.`id` AS `id`,\n"
        "    ((`t1`.`n` + 1) * 2) AS `k`\n"
        "FROM `events` AS `t1`\n"
        "WHERE (`t1`.`n` > 1)\n"
        "AND ((`t1`.`n` + 1) < 9)"
    )


def test_a_column_that_is_not_read_does_not_change_the_text() -> None:
    def view(events: Any, users: Any) -> Any:
        grouped = events.groupBy("id").agg(F.max("n").alias("n"), F.min("n").alias("unread"))
        return grouped.filter("n > 3").join(users, "id").select("id", "plan")

    assert record(view) == record(view, [*EVENTS, "new", "newer"])
    assert "unread" not in record(view)


def test_the_text_is_the_same_each_time() -> None:
    """Names that PySpark numbers and numbers of DataFrames are not in it."""

    def view(events: Any, users: Any) -> Any:
        found = events.select("id", F.transform("tags", F.upper).alias("tags"))
        return found.join(users.groupBy("id").count(), "id", "left")

    assert record(view) == record(view)


def test_a_long_chain_does_not_grow_without_end() -> None:
    def view(events: Any, users: Any) -> Any:
        for _ in range(40):
            events = events.withColumn("n", F.col("n") + F.col("n"))
        return events.select("n")

    assert len(record(view)) < 100_000


def test_lines_have_the_calls_that_made_them() -> None:
    def view(events: Any, users: Any) -> Any:
        upper = events.withColumn("s", F.upper("s"))
        return upper.filter("n > 1")

    lines = view_lines(view, "view", [("events", EVENTS), ("users", USERS)], CallLocation("app.py", 1))
    first = view.__code__.co_firstlineno
    made = {each.text.strip(): each.made_by.line - first for each in lines if each.made_by.file == __file__}
    assert made["upper(`t1`.`s`) AS `s`,"] == 1
    assert made["WHERE (`t1`.`n` > 1)"] == 2


@pytest.mark.parametrize(
    "view",
    [
        lambda e, u: e.agg(F.sum("n").alias("n")).select(F.lit("x").alias("s")),
        lambda e, u: e.agg(F.sum("n").alias("n")).withColumn("s", F.lit("x")).filter("s > 'a'").select("s"),
        lambda e, u: e.agg(F.min("id").alias("m"), F.sum("n").alias("n")).drop("m").agg(F.count("*").alias("s")),
    ],
)
def test_an_aggregate_of_all_rows_stays_one_row_where_its_value_is_not_read(view: View) -> None:
    text = record(view)
    assert "    sum(`t2`.`n`) AS `n`" in text
    assert "FROM (" in text


def test_an_aggregate_of_a_joined_table_stays_one_row() -> None:
    def view(events: Any, users: Any) -> Any:
        one = users.agg(F.count("*").alias("c")).withColumn("k", F.lit("x"))
        return events.crossJoin(one).select("id", "k")

    assert "    count(1) AS `c`" in record(view)


def test_a_field_whose_name_has_a_quote_is_a_text_with_one() -> None:
    assert "`t1`.`s`['it\\'s'] AS" in record(lambda e, u: e.select(F.col("s.`it's`").alias("x")))


def test_a_list_without_a_separator_has_none() -> None:
    text = record(lambda e, u: e.groupBy("id").agg(F.listagg("s").alias("x"), F.listagg_distinct("s").alias("y")))
    assert "listagg(`t1`.`s`, '') AS `x`" in text
    assert "listagg(DISTINCT `t1`.`s`, '') AS `y`" in text


def test_a_percentile_keeps_the_frequency_of_one_only() -> None:
    text = record(lambda e, u: e.agg(F.percentile("n", F.lit(1)).alias("x")))
    assert "percentile(`t1`.`n`, 1) AS `x`" in text


def test_every_allowed_function_that_aggregates_is_known_as_such() -> None:
    """The allowed functions that sqlglot or the sections of PySpark's list of functions call aggregates."""
    classes = [each for each in exp.ALL_FUNCTIONS if issubclass(each, exp.AggFunc)]
    parsed = {name.lower() for each in classes for name in each.sql_names()}
    source = Path(F.__file__).with_name("__init__.py").read_text(encoding="utf-8")
    sections = {title: set(re.findall(r'"(\w+)"', names)) for title, names in _SECTION.findall(source)}
    named = (parsed | sections["Aggregate"]) - sections["Window"]
    assert len(sections["Aggregate"]) > 60
    assert sorted(named & SPARK_FUNCTIONS - AGGREGATES) == []


_SECTION = re.compile(r"# (\w+) Functions\n((?:\s+\"\w+\",.*\n)+)")


REFUSED: dict[str, tuple[View, str]] = {
    "an action": (lambda e, u: e.collect(), "`collect` is an action"),
    "writing": (lambda e, u: e.write.saveAsTable("x"), "`write` is an action"),
    "counting": (lambda e, u: e.filter(e.n > e.count()), "`count` is an action"),
    "a limit": (lambda e, u: e.limit(3), "`limit` would choose other rows of each step"),
    "an order": (lambda e, u: e.orderBy("n"), "`orderBy` has no effect"),
    "a union": (lambda e, u: e.union(e), "`union` has rows of two tables"),
    "the clock": (lambda e, u: e.select(F.current_timestamp().alias("t")), "`current_timestamp` depends on the clock"),
    "the clock in SQL": (lambda e, u: e.selectExpr("now() AS t"), "`now` depends on the clock"),
    "chance": (lambda e, u: e.withColumn("x", F.rand()), "`rand` depends on chance"),
    "a running number": (lambda e, u: e.withColumn("x", F.monotonically_increasing_id()), "how Spark divides work"),
    "the first row": (lambda e, u: e.groupBy("id").agg(F.first("n").alias("n")), "`first` depends on the order"),
    "one of equal rows": (lambda e, u: e.dropDuplicates(["id"]), "which of several rows dropDuplicates keeps"),
    "a window": (
        lambda e, u: e.withColumn("r", F.row_number().over(Window.partitionBy("id").orderBy("n"))),
        "a window would see the rows of each step only",
    ),
    "a session": (
        lambda e, u: e.groupBy(F.session_window("n", "5 minutes").alias("w")).count(),
        "`session_window` depends on rows of other steps",
    ),
    "a window of time": (lambda e, u: e.groupBy(F.window("n", "1 hour").alias("w")).count(), "`window` is not read"),
    "another last digit": (lambda e, u: e.select(F.log10("n").alias("x")), "`log10` becomes log"),
    "all columns as one": (
        lambda e, u: e.agg(F.countDistinct("*").alias("c")),
        "is all columns, and this is one value",
    ),
    "all columns of one side": (
        lambda e, u: e.alias("e").join(u.alias("u"), F.col("e.id") == F.col("u.id")).select(F.col("e.*")),
        "is all columns, and this is one value",
    ),
    "a function of Python": (
        lambda e, u: e.select(F.udf(lambda x: x)("n").alias("n")),
        "a function of Python for each row",
    ),
    "rows in Python": (lambda e, u: e.mapInPandas(lambda x: x, "a int"), "`mapInPandas` runs Python for rows"),
    "another table's rows": (lambda e, u: e.join(u, "id", "full"), "a full join gives rows of the other table again"),
    "an unknown column": (lambda e, u: e.select("idd"), "there is no column `idd`"),
    "an unknown column as an attribute": (lambda e, u: e.nn, "no column and no method `nn`"),
    "another case": (lambda e, u: e.withColumn("ID", F.lit(1)), "`ID` and `id` are one name in Spark"),
    "dropping another case": (lambda e, u: e.drop("N"), "`N` and `n` are one name in Spark"),
    "renaming another case": (lambda e, u: e.withColumnRenamed("N", "m"), "`N` and `n` are one name in Spark"),
    "two cases of one name": (lambda e, u: e.select(e.n.alias("a"), e.id.alias("A")), "named as `A` but for the case"),
    "no column": (lambda e, u: e.select(), "no column is left"),
    "dropping all": (lambda e, u: e.drop(*EVENTS), "no column is left"),
    "sums of no column": (lambda e, u: e.groupBy("id").sum(), "no aggregate is named"),
    "groups without aggregates": (lambda e, u: e.groupBy("id").agg(), "no aggregate is named"),
    "nothing of all rows": (lambda e, u: e.agg(), "no aggregate is named"),
    "a limit in SQL": (lambda e, u: e.filter("n > 0 LIMIT 5"), "is no column in SQL"),
    "an order in SQL": (lambda e, u: e.filter("n > 0 ORDER BY n"), "is no column in SQL"),
    "a group in SQL": (lambda e, u: e.filter("n > 0 GROUP BY n HAVING n > 5"), "is no column in SQL"),
    "distinct in SQL": (lambda e, u: e.selectExpr("DISTINCT id"), "is no column in SQL"),
    "another statement": (lambda e, u: e.filter("n > 0; SELECT 1"), "is no column in SQL"),
    "a format": (lambda e, u: e.select(F.to_char("n", F.lit("00")).alias("x")), "`to_char` loses its format"),
    "a text as JSON": (lambda e, u: e.select(F.parse_json("s").alias("x")), "`parse_json` becomes the text itself"),
    "frequencies": (
        lambda e, u: e.agg(F.percentile("n", 0.5, F.col("id")).alias("x")),
        "a frequency of `percentile` is not kept",
    ),
    "an argument in SQL": (lambda e, u: e.selectExpr("percentile(n, 0.5, id) AS x"), "would be lost or changed"),
    "a unit of each row": (lambda e, u: e.select(F.expr("date_trunc(s, n)").alias("x")), "would be lost or changed"),
    "two columns of one name": (lambda e, u: e.join(u, e.id == u.id), "two columns of the result are named `id`"),
    "either of two columns": (lambda e, u: e.join(u, e.id == u.id).select("id"), "`id` may be any of 2 columns"),
    "a column that was replaced": (
        lambda e, u: e.withColumn("n", F.lit(1)).filter(e["n"] > 1),
        "`n` is of a DataFrame in which it was another column",
    ),
    "itself": (lambda e, u: e.join(e, "id"), "a DataFrame is joined with itself"),
    "the other table first": (
        lambda e, u: u.join(e, "id"),
        "`view` begins with `users`, and its first source is `events`",
    ),
    "no name": (lambda e, u: e.select(F.upper("s")), "a column that is computed needs a name"),
    "no aggregate": (lambda e, u: e.groupBy("id").agg(F.col("n")), "`n` is no aggregate"),
    "half an aggregate": (
        lambda e, u: e.groupBy("id").agg((F.sum("n") + F.col("n")).alias("x")),
        "`x` is no aggregate",
    ),
    "an aggregate of each row": (lambda e, u: e.withColumn("x", F.sum("n")), "`id` is no aggregate"),
    "an aggregate as a condition": (lambda e, u: e.filter(F.sum("n") > 1), "a condition is about one row"),
    "a dict of aggregates": (lambda e, u: e.groupBy("id").agg({"n": "max"}), "a dict of aggregates"),
    "one group": (lambda e, u: e.groupBy(F.lit(1).alias("x")).count(), "all rows are one group"),
    "a character that no line holds": (lambda e, u: e.filter(e.s == "a\u2028b"), "which a line of SQL cannot hold"),
    "a subquery": (lambda e, u: e.filter("n = (SELECT max(n) FROM events)"), "has a part that is not read here"),
    "no expression": (lambda e, u: e.filter("n >"), "is no"),
    "a time of day": (lambda e, u: e.select(F.lit(dt.timedelta(1)).alias("x")), "cannot be written in SQL"),
    "types": (lambda e, u: e.schema, "`schema` is known when Spark plans the view"),
    "fields without names": (
        lambda e, u: e.select(F.struct(F.upper("s")).alias("x")),
        "a field of a struct needs a name",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_view_can_do_is_refused(name: str) -> None:
    view, message = REFUSED[name]
    with pytest.raises(RefusedInView, match=message.replace("(", r"\(").replace("[", r"\[")) as refused:
        record(view)
    assert refused.value.hint


def test_a_view_returns_a_dataframe() -> None:
    with pytest.raises(TypeError, match="`view` must return a DataFrame"):
        record(lambda events, users: "SELECT 1")
