from __future__ import annotations

from datetime import datetime, timedelta, timezone

from penstock.deploy.queries.fixed_time import at_time, is_repeatable

NOON = datetime(2026, 1, 2, 12, 0, 0, 5, tzinfo=timezone(timedelta(hours=1)))


def test_calls_of_the_clock_are_the_given_moment() -> None:
    sql = "SELECT date_trunc('SECOND', current_timestamp()) AS `now()`, 'now()', current_date() FROM t"
    fixed = at_time(sql, NOON)
    moment = "TIMESTAMP'2026-01-02 11:00:00.000005'"
    assert fixed == f"SELECT date_trunc('SECOND', {moment}) AS `now()`, 'now()', DATE'2026-01-02' FROM t"
    assert not is_repeatable(sql)
    assert is_repeatable(fixed)
    assert not is_repeatable(at_time("SELECT rand() AS a", NOON))
