"""Templates at `--check`: each way is compiled, and what is wrong stands at its place in the file."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.parse.project_loader import load_files
from penstock.plan.compiled_project import CompiledProject, compile_project
from penstock.plan.offline import plan_projects

EVENTS = "SCHEMA >\n    `at` DateTime `json:$.at`,\n    `user` String `json:$.user`,\n    `n` Int32 `json:$.n`\n"
OTHER = "SCHEMA >\n    `at` DateTime `json:$.at`,\n    `k` String `json:$.k`\n"
DAILY = 'SCHEMA >\n    `user` String,\n    `n` Int32\nENGINE "MergeTree"\nENGINE_SORTING_KEY user\n'


def files(sql: str, type: str = "endpoint", **others: str) -> Mapping[str, str]:
    """A project of one pipe `top`."""
    indented = "\n".join(f"    {line}" for line in sql.split("\n"))
    pipe = f"NODE n\nSQL >\n{indented}\nTYPE {type}\n"
    return {
        "events.datasource": EVENTS,
        "other.datasource": OTHER,
        "daily.datasource": DAILY,
        "top.pipe": pipe,
        **others,
    }


def check(sql: str, type: str = "endpoint", **others: str) -> CompiledProject:
    loaded = load_files(files(sql, type, **others))
    assert loaded.errors == ()
    return compile_project(loaded.project)


def problems(sql: str, type: str = "endpoint", **others: str) -> list[str]:
    return [f"{each.level} {each.code} {each}" for each in check(sql, type, **others).problems]


def test_a_column_is_looked_for_in_every_way() -> None:
    found = problems("%\nSELECT n FROM events WHERE 1\n{% if defined(u) %}\n AND usr = {{ String(u) }}\n{% end %}")
    assert found == ["error unknown-column top.pipe:6:10: unknown column `usr` (did you mean `user`?)"]
    found = problems(
        "%SELECT {% if k == 'a' %}n{% elif k == 'b' %}m{% else %}{{ column(c, 'o') }}{% end %} FROM events"
    )
    assert [each.partition(" (")[0] for each in found] == [
        "error unknown-column top.pipe:3:50: unknown column `m`",
        "error unknown-column top.pipe:3:61: unknown column `o`",
    ]


def test_a_function_and_a_table_in_a_way_that_needs_two_parameters() -> None:
    inner = "{% if Int32(b, 1) > 5 %}evnts{% else %}events{% end %}"
    sql = f"%SELECT n FROM {{% if defined(a) %}}{inner}{{% else %}}events{{% end %}}"
    assert problems(sql) == [
        "warning unknown-table top.pipe:3:63: unknown data source or pipe `evnts` (did you mean `events`?; calls that "
        "take this branch of the template fail)"
    ]
    assert problems("%SELECT n FROM {% if defined(a) %}events{% else %}evnts{% end %}") == [
        "error unknown-table top.pipe:3:55: unknown data source or pipe `evnts` (did you mean `events`?)"
    ]


def test_every_way_counts_for_what_is_read() -> None:
    compiled = check("%SELECT at FROM {% if defined(a) %}events{% else %}other{% end %}")
    assert compiled.problems == ()
    assert sorted(read.datasource for read in compiled.reads["top"]) == ["events", "other"]


def test_required_parameters_get_placeholders() -> None:
    sql = (
        "%SELECT n, {{ String(a) }}, {{ Float64(b) }} FROM events WHERE at >= {{ DateTime(c) }}"
        " AND toDate(at) < {{ Date(d) }} AND user IN {{ Array(e) }} AND n IN {{ Array(f, 'Int32') }}"
        " LIMIT {{ Int32(g) }}"
    )
    assert problems(sql) == []


def test_what_may_be_the_fault_of_a_placeholder_is_a_warning() -> None:
    [found] = problems("%SELECT n FROM events WHERE at > {{ String(since) }}")
    assert found.startswith("warning invalid-literal ")
    assert problems("%SELECT n FROM events WHERE at > {{ String(since, example='2024-01-01') }}") == []


def test_ways_without_sql_are_no_problem_where_others_have_some() -> None:
    assert problems("%{% if k == 'a' %}SELECT n FROM events{% elif k == 'b' %}SELECT user FROM events{% end %}") == []
    assert problems("%{% if not defined(a) %}{{ error('a is needed') }}{% end %}SELECT n FROM events") == []


def test_syntax_is_told_when_the_file_is_read() -> None:
    loaded = load_files(files("%\nSELECT {{ Strng(x) }}, {{ foo( }} FROM events"))
    assert [str(each).partition(" (")[0] for each in loaded.problems] == [
        "top.pipe:4:15: unknown function `Strng`",
        "top.pipe:4:31: invalid expression in `foo(`: '(' was never closed",
    ]


def test_a_view_is_rendered_with_its_defaults() -> None:
    sql = "%SELECT user, n FROM events WHERE n > {{ Int32(least, 5) }}{% if defined(u) %} AND usr = 1{% end %}"
    compiled = check(sql, "materialized\nDATASOURCE daily")
    assert compiled.problems == ()
    assert "5" in compiled.views["top"].query.sql
    [found] = problems("%SELECT user, n FROM events WHERE n > {{ Int32(least) }}", "materialized\nDATASOURCE daily")
    assert found == (
        "error missing-parameter top.pipe:3:46: the parameter `least` is missing "
        "(what runs without a request needs a default for each parameter)"
    )
    [found] = problems(
        "%SELECT user, n FROM events WHERE user = {{ tb_secret('a', 'b') }}", "materialized\nDATASOURCE daily"
    )
    assert found.startswith("error template-secret top.pipe:3:49: `tb_secret` cannot be used in what is materialized")


def test_a_template_is_of_clickhouses_dialect() -> None:
    pipe = "DIALECT spark\nNODE n\nSQL >\n    %SELECT {{ Int32(x, 1) }} AS a\nTYPE endpoint\n"
    [found] = compile_project(load_files({"top.pipe": pipe}).project).problems
    assert (found.code, str(found.location)) == ("unsupported-template", "top.pipe:4:5")


def test_changes_are_those_of_what_it_does() -> None:
    """A view by its compiled SQL; an endpoint by its text, since the call decides the rest."""

    def changes(before: str, after: str, type: str) -> list[str]:
        old, new = (load_files(files(sql, type)).project for sql in (before, after))
        return [f"{change.resource} {type}" for change in plan_projects(old, new, {}).changes]

    view = "materialized\nDATASOURCE daily"
    plain = "SELECT user, n FROM events WHERE n > toInt32('5')"
    assert changes(plain, "%SELECT user, n FROM events WHERE n > {{ Int32(a, 5) }}", view) == []
    assert changes("%SELECT user, n FROM events -- a", "%SELECT user,  n FROM events", view) == []
    assert changes(plain, "%SELECT user, n FROM events WHERE n > {{ Int32(a, 6) }}", view) != []
    assert (
        changes("%SELECT n FROM events WHERE user = 'a  b'", "%SELECT n FROM events WHERE user = 'a b'", "endpoint")
        != []
    )
    assert changes(
        "%SELECT n FROM events WHERE n > {{ Int32(a, 5) }}",
        "%SELECT n FROM events WHERE n > {{ Int32(b, 5) }}",
        "endpoint",
    )
    assert changes("%SELECT n FROM events", "%SELECT n FROM events", "endpoint") == []
