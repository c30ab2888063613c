"""Queries that try to reach what is not the project's: files, catalogs, settings, code, other statements."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import PROJECT, text

from penstock.errors import InvalidQuery
from penstock.model.pipe import Dialect
from penstock.sql.compile import compile_sql
from penstock.sql.compiler.caller import Caller
from penstock.sql.spark_dialect.allowed import SPARK_FUNCTIONS
from penstock.sql.spark_text import replace_placeholders

REFUSED = """
SELECT * FROM file('/etc/passwd')
SELECT * FROM url('http://x')
SELECT * FROM s3('x')
SELECT * FROM remote('127.0.0.1', system.one)
SELECT * FROM executable('ls')
SELECT * FROM read_files('x')
SELECT * FROM parquet.`/etc/passwd`
SELECT * FROM csv.`/etc/passwd`
SELECT * FROM `/etc/passwd`
SELECT * FROM system.tables
SELECT * FROM information_schema.tables
SELECT * FROM penstock.main.flights
SELECT * FROM spark_catalog.default.flights
SELECT * FROM ``.flights
SELECT * FROM flights.snapshots
SELECT * FROM flights(1)
SELECT * FROM flights VERSION AS OF 1
SELECT * FROM flights TIMESTAMP AS OF '2020-01-01'
SELECT * FROM IDENTIFIER('penstock.x')
SELECT * FROM sql_keywords()
SELECT * FROM java_method('a', 'b')
SELECT IDENTIFIER('java_method')('java.lang.System', 'getenv') AS x FROM flights
SELECT java_method('java.lang.System', 'getenv', 'PATH') AS x FROM flights
SELECT `java_method`('java.lang.System', 'getenv', 'PATH') AS x FROM flights
SELECT JAVA_METHOD ('a', 'b') AS x FROM flights
SELECT CAST(try_reflect('a', 'b') AS STRING) AS x FROM flights
SELECT CAST(system.builtin.java_method('a', 'b') AS STRING) AS x FROM flights
SELECT CAST(system.builtin.upper('a') AS STRING) AS x FROM flights
SELECT CAST(penstock.system.iceberg_version() AS STRING) AS x FROM flights
SELECT CAST(input_file_block_start() AS BIGINT) AS x FROM flights
SELECT CAST(version() AS STRING) AS x FROM flights
SELECT CAST(user() AS STRING) AS x FROM flights
SELECT current_user FROM flights
SELECT current_catalog() FROM flights
SELECT current_database() FROM flights
SELECT current_schema() FROM flights
SELECT hostName() FROM flights
SELECT getSetting('x') FROM flights
SELECT dictGet('d', 'a', 1) FROM flights
SELECT CAST(a_udf(year) AS STRING) AS x FROM flights
SELECT CAST(xpath_string('<a/>', 'a') AS STRING) AS x FROM flights
SELECT year FROM flights WHERE reflect('a', 'b') = 'x'
SELECT year FROM flights ORDER BY java_method('a', 'b')
SELECT year FROM flights GROUP BY year, reflect('a', 'b')
SELECT year, sum(day) OVER (ORDER BY java_method('a', 'b')) AS x FROM flights
SELECT transform(array(1), x -> reflect('a', 'b')) AS x FROM flights
SELECT year FROM flights LATERAL VIEW java_method('a', 'b') t AS x
SELECT TRANSFORM(year) USING 'cat /etc/passwd' AS (a) FROM flights
FROM flights MAP year USING 'cat' AS x
SELECT /*+ BROADCAST(flights) */ reflect('a', 'b') AS x FROM flights
SELECT `_metadata`.file_path FROM flights
SELECT _file FROM flights
SELECT _seq FROM flights
SELECT flights._file FROM flights
SELECT :x AS x FROM flights
SELECT ? AS x FROM flights
SELECT @x AS x FROM flights
SELECT system.session.x FROM flights
SELECT * FROM flights WHERE year IN (SELECT x FROM secret)
SELECT * FROM flights WHERE EXISTS (SELECT x FROM system.secret)
SELECT (SELECT max(x) FROM secret) AS x FROM flights
SELECT year FROM flights UNION ALL SELECT x FROM secret
SELECT * FROM (WITH secret AS (SELECT 1 AS a) SELECT * FROM secret) t CROSS JOIN secret
WITH a AS (SELECT * FROM b), b AS (SELECT 1 AS x) SELECT * FROM a
WITH secret AS (SELECT * FROM secret) SELECT * FROM secret
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT * FROM r
SELECT year FROM flights; DROP TABLE flights
DROP TABLE flights
INSERT INTO flights SELECT * FROM flights
CREATE TABLE x AS SELECT * FROM flights
FROM flights INSERT INTO x SELECT *
SET spark.x = 1
EXPLAIN SELECT 1
SHOW TABLES
DESCRIBE flights
EXECUTE IMMEDIATE 'SELECT 1'
CALL penstock.system.expire_snapshots('x')
SELECT year INTO OUTFILE '/tmp/x' FROM flights
""".strip().splitlines()
DIALECTS: tuple[Dialect, ...] = ("clickhouse", "spark")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("sql", REFUSED)
def test_it_is_refused(sql: str, dialect: Dialect) -> None:
    with pytest.raises(InvalidQuery) as caught:
        compile_sql(PROJECT, text(sql), dialect)
    assert all(problem.location is not None for problem in caught.value.problems)


@pytest.mark.parametrize("hint", ["/*+ BROADCAST(flights) */", "/* x */"])
def test_comments_and_hints_do_not_reach_spark(hint: str) -> None:
    for dialect in DIALECTS:
        try:
            assert "/*" not in compile_sql(PROJECT, text(f"SELECT {hint} year FROM flights"), dialect).sql
        except InvalidQuery as error:
            assert error.problems[0].code == "unsupported-clause"  # noqa: PT017


@pytest.mark.parametrize("name", ["__all_flights__", "`__table0`", "`__all_flights__`"])
def test_what_looks_like_a_placeholder_stays_what_it_is(name: str) -> None:
    relation = "(SELECT 'q' AS `year` FROM t)"
    for dialect in DIALECTS:
        query = compile_sql(PROJECT, text(f"SELECT '{name}' AS a, year AS `__all_flights__` FROM flights"), dialect)
        whole = replace_placeholders(query.sql, {read.placeholder: relation for read in query.reads})
        assert f"'{name}' AS `a`" in whole
        assert "AS `__all_flights__`" in whole
        assert whole.count(relation) == 1


def test_nothing_can_take_the_name_of_a_stand_in() -> None:
    with pytest.raises(InvalidQuery) as caught:
        compile_sql(PROJECT, text("SELECT x.year AS `__table0` FROM flights AS x"), "spark")
    assert caught.value.problems[0].code == "invalid-name"


def test_a_cte_may_have_the_name_of_what_it_reads() -> None:
    query = compile_sql(PROJECT, text("WITH flights AS (SELECT year FROM flights) SELECT * FROM flights"), "spark")
    assert [read.datasource for read in query.reads] == ["flights"]
    assert query.sql.count("__all_flights__") == 1


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1 AS x", set()),
        ("SELECT * FROM top", {"top"}),
        (
            "SELECT f.carrier FROM flights AS f JOIN carrier_daily AS d ON f.carrier = d.carrier",
            {"flights", "carrier_daily"},
        ),
        ("WITH a AS (SELECT carrier FROM flights) SELECT * FROM a", {"flights"}),
        ("WITH top AS (SELECT carrier FROM flights) SELECT * FROM top", {"flights"}),
        ("SELECT carrier FROM flights WHERE carrier IN (SELECT carrier FROM top)", {"flights", "top"}),
        ("SELECT (SELECT max(flights) FROM top) AS x FROM flights", {"flights", "top"}),
        (
            "SELECT carrier FROM flights UNION ALL SELECT carrier FROM (SELECT carrier FROM top) AS t",
            {"flights", "top"},
        ),
    ],
)
def test_the_names_a_query_needs_a_grant_for(sql: str, names: set[str], dialect: Dialect) -> None:
    """What the pipe `top` reads below (carrier_daily) is not among them."""
    asked: set[str] = set()
    compile_sql(PROJECT, text(sql), dialect, caller=Caller(asked.add))
    assert asked == names


def test_no_function_of_spark_tells_of_the_server() -> None:
    telling = {"java_method", "reflect", "try_reflect", "version", "current_user", "user", "session_user", "read_files"}
    telling |= {
        "input_file_name",
        "input_file_block_start",
        "current_catalog",
        "current_database",
        "from_avro",
        "range",
    }
    assert not telling & SPARK_FUNCTIONS
    assert len(SPARK_FUNCTIONS) > 400
