"""Calls of Spark's functions that sqlglot would write with another meaning are found, and no others."""

from __future__ import annotations

import pytest

from penstock.parse.sql_syntax.spark_calls import find_changed_call


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("listagg(s)", "`listagg` of one argument would put commas between texts"),
        ("string_agg(DISTINCT s)", "`string_agg` of one argument would put commas between texts"),
        ("listagg(s) WITHIN GROUP (ORDER BY s)", "`listagg` of one argument would put commas between texts"),
        ("to_char(n, '00000')", "the argument 2 of `to_char` would be lost or changed"),
        ("percentile(f, .5, n)", "the argument 3 of `percentile` would be lost or changed"),
        ("log10(n)", "`log10` would become log(10, x), whose last digit may differ"),
        ("parse_json(s)", "`parse_json` would become the text itself"),
        ("percentile_cont(0.5) WITHIN GROUP (ORDER BY n)", "`percentile_cont` would become an approximation"),
        ("percentile_disc(0.5) WITHIN GROUP (ORDER BY n)", "`percentile_disc` would become an approximation"),
        ("date_trunc(unit, t)", "the argument 1 of `date_trunc` would be lost or changed"),
        ("date_trunc(lower(unit), t)", "the argument 1 of `date_trunc` would be lost or changed"),
        ("trunc(d, unit)", "the argument 2 of `trunc` would be lost or changed"),
        ("get_json_object(s, '$.*')", "the argument 2 of `get_json_object` would be lost or changed"),
        ("get_json_object(s, 'a')", "the argument 2 of `get_json_object` would be lost or changed"),
        ("to_date(s, 'yyyy-MM-dd')", "the argument 2 of `to_date` would be lost or changed"),
        ("to_number(s)", "`to_number` needs a format"),
        ("max(a, b)", "`max` of several values would be another function"),
        ("max_by(a, b, 3)", "the argument 3 of `max_by` would be lost or changed"),
        ("uuid(3)", "the argument 1 of `uuid` would be lost or changed"),
        ("upper(concat(s, to_char(n, '0')))", "the argument 2 of `to_char` would be lost or changed"),
        ("TIME '10:00:00'", "the type TIME would become TIMESTAMP"),
        ("CAST(s AS TIME)", "the type TIME would become TIMESTAMP"),
        ("s::time", "the type TIME would become TIMESTAMP"),
    ],
)
def test_a_call_with_another_meaning_is_found(sql: str, message: str) -> None:
    found = find_changed_call(f"SELECT 1 AS a, {sql} AS x FROM t")
    assert found is not None
    assert (found.message, found.offset >= len("SELECT 1 AS a, ")) == (message, True)


@pytest.mark.parametrize(
    "sql",
    [
        "listagg(s, '')",
        "percentile(f, 0.5)",
        "to_varchar(n, '00000')",
        "date_trunc('hour', t)",
        "trunc(d, 'month')",
        "date_diff(DAY, a, b)",
        "first(a, true)",
        "named_struct('a b', 1, 'C', s)",
        "regexp_extract(s, 'a(b)', 1)",
        "get_json_object(s, '$.a[0].b')",
        "unix_timestamp(s, 'yyyy-MM-dd HH:mm:ss')",
        "count(DISTINCT a, b)",
        "extract(DAY FROM d)",
        "trim(BOTH 'x' FROM s)",
        "a IN (1, 'x', to_date(s))",
        "(SELECT b AS time)",
        "(SELECT to_char AS listagg)",
        "'listagg(s)'",
        "transform(a, (x, i) -> x + i)",
        "CAST(a AS DECIMAL(10, 2))",
        "max(greatest(a, b))",
    ],
)
def test_a_call_that_keeps_its_meaning_is_not(sql: str) -> None:
    assert find_changed_call(f"SELECT {sql} AS x FROM t") is None


def test_a_text_that_is_no_sql_has_none() -> None:
    assert find_changed_call("SELECT 'a") is None
    assert find_changed_call(")") is None
