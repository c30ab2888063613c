"""A caller is told nothing that depends on what it may not read, and a compilation ends when its time is up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.sql.flights import PROJECT, text

from penstock.errors import Forbidden, InvalidQuery, Timeout
from penstock.model.pipe import Dialect
from penstock.sql.compile import compile_sql
from penstock.sql.compiler.caller import Caller
from penstock.template.render_frame import CALL

DIALECTS: tuple[Dialect, ...] = ("clickhouse", "spark")
PROBES = """
SELECT no_such_column FROM {secret}
SELECT year FROM {secret}
SELECT * FROM {secret}
SELECT count(*) AS n FROM {secret} GROUP BY no_such_column
SELECT s.no_such_column FROM top AS t JOIN {secret} AS s ON t.carrier = s.no_such_column
SELECT carrier FROM top WHERE carrier IN (SELECT no_such_column FROM {secret})
SELECT (SELECT max(no_such_column) FROM {secret}) AS x
SELECT carrier FROM top UNION ALL SELECT no_such_column FROM {secret}
WITH c AS (SELECT no_such_column FROM {secret}) SELECT * FROM c
SELECT * FROM (SELECT * FROM (SELECT no_such_column FROM {secret}) AS a) AS b
SELECT sum(carrier) OVER (PARTITION BY no_such_column) AS x FROM {secret}
""".strip().splitlines()
CLICKHOUSE_PROBES = """
SELECT year FROM {secret} FINAL
SELECT no_such_column FROM {secret} FINAL
SELECT year FROM {secret} FINAL SAMPLE 1 / 10
SELECT no_such_column FROM {secret} SAMPLE 1 / 10
SELECT year FROM {secret} PREWHERE no_such_column = 1
SELECT x FROM {secret} ARRAY JOIN no_such_column AS x
SELECT * EXCEPT (no_such_column) FROM {secret}
SELECT year FROM {secret} LIMIT 1 BY no_such_column
SELECT year IN {secret} AS x FROM top
""".strip().splitlines()
CASES = [(sql, dialect) for dialect in DIALECTS for sql in PROBES] + [(sql, "clickhouse") for sql in CLICKHOUSE_PROBES]


def only(*names: str) -> Callable[[str], None]:
    def check(name: str) -> None:
        if name not in names:
            raise Forbidden("not this one")

    return check


def outcome(sql: str, dialect: Dialect) -> str:
    """What a caller that may read `top` only is told."""
    try:
        compile_sql(PROJECT, text(sql), dialect, CALL, Caller(only("top")))
    except Forbidden as refused:
        return str(refused.as_json())
    except InvalidQuery as wrong:
        return str([(each.code, each.message) for each in wrong.problems])
    return "compiled"


@pytest.mark.parametrize(("sql", "dialect"), CASES)
def test_a_table_that_may_not_be_read_looks_like_one_that_does_not_exist(sql: str, dialect: Dialect) -> None:
    told = {
        outcome(sql.format(secret=name), dialect).replace(name, "…")
        for name in ("flights", "carrier_daily", "absent_table")
    }
    assert len(told) == 1
    if "IN {secret}" not in sql:
        assert "not this one" in told.pop()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_may_be_read_is_explained(dialect: Dialect) -> None:
    assert "no_such_column" in outcome("SELECT no_such_column FROM top", dialect)


def test_a_cte_with_the_name_of_a_data_source_is_no_data_source() -> None:
    told = outcome("WITH flights AS (SELECT carrier FROM top) SELECT carrier FROM flights FINAL", "clickhouse")
    assert "FINAL needs a data source" in told


def asked_times(sql: str, dialect: Dialect) -> int:
    looks: list[None] = []
    compile_sql(PROJECT, text(sql), dialect, CALL, Caller(check_time=lambda: looks.append(None)))
    return len(looks)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_compilation_ends_when_its_time_is_up(dialect: Dialect) -> None:
    sql = f"SELECT {', '.join(f'year + {number} AS c{number}' for number in range(500))} FROM flights"
    most = asked_times(sql, dialect)
    assert most > asked_times("SELECT year FROM flights", dialect) or dialect == "spark"
    for last in range(most):
        left = iter(range(last))

        def check_time(left: object = left) -> None:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise Timeout("its time is up")

        with pytest.raises(Timeout):
            compile_sql(PROJECT, text(sql), dialect, CALL, Caller(check_time=check_time))
