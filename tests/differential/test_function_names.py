"""The names of functions in upper and lower case: each is taken where ClickHouse takes it."""

from __future__ import annotations

import json

from clickhouse_session import open_session
from penstock.sql.aggregates.name_parser import parse_aggregate_name
from penstock.sql.calls.special_forms import find_special_form
from penstock.sql.calls.windows import find_window_function
from penstock.sql.functions.table import find_function


def is_known(name: str) -> bool:
    return any((find_special_form(name), find_function(name), parse_aggregate_name(name), find_window_function(name)))


def names_of_clickhouse() -> dict[str, bool]:
    """Every name, and whether ClickHouse takes it in any case."""
    sql = "SELECT name, case_insensitive FROM system.functions"
    rows = json.loads(open_session().query(sql, "JSONCompact").bytes())["data"]
    return {name: bool(any_case) for name, any_case in rows}


def test_a_name_that_clickhouse_takes_in_any_case_is_taken_in_any_case() -> None:
    missing = [
        name
        for name, any_case in names_of_clickhouse().items()
        if any_case and is_known(name) and not all(map(is_known, (name.upper(), name.lower(), name.swapcase())))
    ]
    assert missing == []
