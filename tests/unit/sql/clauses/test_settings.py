"""join_use_nulls: which SELECTs it holds for, and what it makes of the columns."""

from __future__ import annotations

from tests.unit.sql.flights import problems, query

JOINED = "SELECT a.day, b.month AS m, b.origin AS o FROM flights AS a LEFT JOIN flights AS b ON a.day = b.day"
NULLS = "SETTINGS join_use_nulls = 1"


def types(sql: str) -> list[str]:
    return [str(of) for _, of in query(sql).columns]


def test_a_side_without_a_row_is_nullable() -> None:
    assert types(JOINED) == ["UInt8", "UInt8", "LowCardinality(String)"]
    assert types(f"{JOINED} {NULLS}") == ["UInt8", "Nullable(UInt8)", "LowCardinality(Nullable(String))"]
    assert "coalesce" not in query(f"{JOINED} {NULLS}").sql


def test_it_holds_for_the_selects_within() -> None:
    assert types(f"SELECT m FROM ({JOINED}) {NULLS}") == ["Nullable(UInt8)"]
    assert types(f"WITH q AS ({JOINED}) SELECT m FROM q {NULLS}") == ["Nullable(UInt8)"]
    assert types(f"SELECT m FROM ({JOINED} SETTINGS join_use_nulls = 0) {NULLS}") == ["UInt8"]
    assert types(f"SELECT m FROM ({JOINED} {NULLS})") == ["Nullable(UInt8)"]
    assert types(f"SELECT m FROM ({JOINED} {NULLS}) UNION ALL SELECT m FROM ({JOINED})") == ["Nullable(UInt8)"]


def test_one_named_select_is_compiled_for_both_settings() -> None:
    both = f"SELECT m FROM ({JOINED}) UNION ALL SELECT m FROM (SELECT m FROM ({JOINED}) {NULLS})"
    assert types(both) == ["Nullable(UInt8)"]


def test_arrays_and_maps_keep_their_defaults() -> None:
    right = "(SELECT day, [month] AS a, map('m', month) AS m, (month, 1) AS t FROM flights) AS b"
    joined = f"SELECT b.a, b.m FROM flights AS a LEFT JOIN {right} ON a.day = b.day {NULLS}"
    assert types(joined) == ["Array(UInt8)", "Map(String, UInt8)"]
    (found,) = problems(joined.replace("b.a, b.m", "b.t"))
    assert "`b.t` would be Nullable by join_use_nulls" in found


def test_a_setting_behind_a_union_is_not_passed_over() -> None:
    (found,) = problems("SELECT day FROM flights UNION ALL SELECT day FROM flights SETTINGS limit = 1")
    assert "the setting limit is not supported" in found
    plain = query("SELECT day FROM flights UNION ALL SELECT day FROM flights").sql
    assert query("SELECT day FROM flights UNION ALL SELECT day FROM flights SETTINGS max_threads = 1").sql == plain
