"""What only a call decides is never refused: names, types and branches of templates."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.compiled_project import compile_project
from penstock.plan.project_check import check_loaded

EVENTS = "SCHEMA >\n    at DateTime, level String, service LowCardinality(String), ms UInt32\n"


def problems(*nodes: str) -> list[str]:
    text = "\n".join(f"NODE n{at}\nSQL >\n{sql}" for at, sql in enumerate(nodes)) + "\nTYPE endpoint\n"
    loaded = load_files({"events.datasource": EVENTS, "x.pipe": text})
    assert loaded.errors == ()
    return [f"{each.level} {each.code} {each.location}" for each in compile_project(loaded.project).problems]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT service, count() AS hits FROM events GROUP BY service ORDER BY {{ column(sort_by) }} DESC",
        "SELECT {{ columns(names) }} FROM events",
        "SELECT {{ columns(names, fn='max') }} FROM events",
        "SELECT {{ symbol(dim) }} AS d, sum({{ column(measure) }}) AS s FROM events GROUP BY d",
        "SELECT count() AS c FROM {{ table(t) }} WHERE ms > 1",
        "SELECT count() AS c FROM {{ symbol(t) }} WHERE ms > 1",
        "SELECT {% for m in split_to_array(all) %}sum({{ column(m) }}) AS {{ symbol(m + '_sum') }}"
        "{% if not loop.last %}, {% end %}{% end %} FROM events",
        "SELECT ms FROM events WHERE at BETWEEN {{ start }} AND {{ end }}\nAND ms > {{ least }}\nLIMIT {{ n }}",
        "SELECT ms FROM events WHERE {{ sql_and(level=level, service__in=Array(services, default='x')) }}",
        "SELECT ms FROM events WHERE service IN {{ Array(services) }} AND ms IN {{ Array(sizes, 'UInt32') }}",
        "SELECT ms FROM events WHERE has({{ names }}, service) LIMIT {{ Int32(n) }}",
        "SELECT ms FROM events {% if defined(more) %} UNION ALL SELECT ms FROM {{ symbol(more) }} {% end %}",
        "{% if not defined(start) %}{{ error('start is required') }}{% end %} SELECT ms FROM events",
    ],
)
def test_a_value_is_chosen_that_is_valid_where_it_stands(sql: str) -> None:
    assert problems(f"%\n{sql}") == []


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT ms FROM events ORDER BY ms {% if defined(order) %}{{ String(order) }}{% else %}DESC{% end %}",
        "SELECT ms FROM events ORDER BY ms {{ String(order) }}",
        "SELECT ms FROM events WHERE at < {{ DateTime(until, 'now()') }}",
    ],
)
def test_what_only_some_calls_fail_for_is_a_warning(sql: str) -> None:
    assert [each.partition(" ")[0] for each in problems(f"%\n{sql}")] == ["warning"]


def test_what_no_value_makes_valid_is_a_warning() -> None:
    assert problems("%\nSELECT length(ms + {{ column(x) }}) AS n FROM events")[0].startswith("warning ")


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT {{ column(x) }}, nosuch(ms) FROM events", "error unknown-function x.pipe:4:25"),
        ("SELECT nosuch(ms) AS n FROM events WHERE service = {{ String(s) }}", "error unknown-function x.pipe:4:8"),
        ("SELECT mss FROM events WHERE service = {{ s }}", "error unknown-column x.pipe:4:8"),
        ("SELECT ms FROM events ORDER BY {{ column(x, 'mss') }}", "error unknown-column x.pipe:4:32"),
    ],
)
def test_an_error_that_no_call_avoids_stays_one(sql: str, code: str) -> None:
    assert problems(f"%\n{sql}") == [code]


def test_a_copy_of_states_keeps_nothing_from_deploying() -> None:
    target = "SCHEMA >\n    day Date, users AggregateFunction(uniqExact, String)\nENGINE AggregatingMergeTree\n"
    copy = "NODE n\nSQL >\n    SELECT toDate(at) AS day, uniqExactState({}) AS users FROM events GROUP BY day\n"
    ending = "TYPE copy\nTARGET_DATASOURCE daily\n"
    for column, expected in (("level", [("warning", "copied-states")]), ("levl", [("error", "unknown-column")])):
        files = {"events.datasource": EVENTS, "daily.datasource": target, "c.pipe": copy.format(column) + ending}
        found = compile_project(load_files(files).project).problems
        assert [(each.level, each.code) for each in found] == expected


def test_a_column_that_another_branch_makes_is_a_warning() -> None:
    inner = "%\nSELECT at, count() AS c {% if defined(by) %}, service {% end %} FROM events GROUP BY ALL"
    outer = "%\nSELECT at, c {% if defined(show) %}, service {% end %} FROM n0"
    assert problems(inner, outer) == ["warning unknown-column x.pipe:8:38"]
    assert problems(inner, "SELECT at, service FROM n0") == ["warning unknown-column x.pipe:7:12"]
    assert problems(inner, "SELECT at, srv FROM n0") == ["error unknown-column x.pipe:7:12"]


def test_a_column_that_the_same_branch_makes_is_there() -> None:
    inner = "%\nSELECT at {% if by == 'a' %}, service AS k {% else %}, level AS k {% end %} FROM events"
    assert problems(inner, "%\nSELECT k {% if by == 'a' %}, at {% end %} FROM n0") == []


def test_a_node_that_only_one_branch_reads() -> None:
    hours = "%\nSELECT at AS t FROM events WHERE at > {{ DateTime(start) }}"
    days = "SELECT toDate(at) AS t FROM events"
    end = "%\nSELECT t FROM {% if date_diff_in_hours(start, end) > 24 %} n1 {% else %} n0 {% end %}"
    assert problems(hours, days, end) == []


@pytest.mark.parametrize(("name", "passes"), [("job_timestamp", True), ("moment", False)])
def test_a_scheduled_copy_is_given_the_time_of_its_run_and_nothing_else(name: str, passes: bool) -> None:
    sql = f"%\n    SELECT count() AS c FROM events WHERE at < {{{{ DateTime({name}) }}}}"
    copy = f"NODE n\nSQL >\n    {sql}\nTYPE copy\nTARGET_DATASOURCE counts\nCOPY_SCHEDULE 0 * * * *\n"
    files = {"events.datasource": EVENTS, "counts.datasource": "SCHEMA >\n    c UInt64\n", "x.pipe": copy}
    loaded = load_files(files)
    assert loaded.errors == ()
    assert (compile_project(loaded.project).problems == ()) is passes


def sink(sql: str, template: str, *more: str) -> list[str]:
    """The problems of a sink, with their hints."""
    lines = [
        "TYPE sink",
        "EXPORT_CONNECTION_NAME lake",
        "EXPORT_BUCKET_URI s3://b/x",
        f"EXPORT_FILE_TEMPLATE {template}",
    ]
    text = "\n".join(["NODE n", "SQL >", sql, *lines, *more, ""])
    files = {"lake.connection": "TYPE s3\nS3_REGION eu\n", "events.datasource": EVENTS, "x.pipe": text}
    loaded = load_files(files)
    assert loaded.errors == ()
    found = compile_project(loaded.project).problems
    return [f"{each.level} {each.location}: {each.message} ({each.hint})" for each in found]


@pytest.mark.parametrize(
    "sql", ["SELECT level, ms, at FROM events", "%\nSELECT level, ms, at FROM events LIMIT {{ n }}"]
)
@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("{level}/{at, '%Y-%m'}_{4}", ""),
        ("{level, '%Y'}", ""),
        ("all/{levl}", "names `levl`, no column of its rows (did you mean `level`?)"),
        ("{ms, '%Y'}", "has a format for `ms`, which is UInt32 (a format is for a date or a time)"),
    ],
)
def test_the_names_of_the_files_of_a_sink_are_made_of_its_columns(sql: str, template: str, found: str) -> None:
    place = f"x.pipe:{sql.count(chr(10)) + 5}:24"
    expected = [f"warning {place}: this sink does not run: EXPORT_FILE_TEMPLATE {found}"] if found else []
    assert sink(sql, template) == expected


def test_a_file_may_have_the_name_of_a_column_that_only_some_runs_have() -> None:
    assert sink("%\nSELECT ms{% if defined(all) %}, level{% end %} FROM events", "{level}") == []


def test_a_sink_with_a_schedule_needs_defaults() -> None:
    sql = "%\nSELECT level FROM events WHERE ms > {{ Int32(least) }} AND at < {{ DateTime(job_timestamp) }}"
    assert sink(sql, "all") == []
    assert sink(sql, "all", "EXPORT_SCHEDULE @on-demand") == []
    assert sink(sql, "all", "EXPORT_SCHEDULE 0 * * * *") == [
        "warning x.pipe:4:40: this sink does not run by its schedule: the parameter `least` is missing "
        "(what runs without a request needs a default for each parameter)"
    ]


def test_a_missing_target_of_a_templated_copy_is_one_error() -> None:
    copy = "NODE n\nSQL >\n%\nSELECT ms FROM events WHERE ms > {{ Int32(least) }}\nTYPE copy\nTARGET_DATASOURCE evnts\n"
    check = check_loaded(load_files({"events.datasource": EVENTS, "x.pipe": copy}))
    assert [(each.level, each.message) for each in check.problems] == [("error", "there is no data source `evnts`")]
