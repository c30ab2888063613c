"""What is kept of calls does not depend on the values that callers send."""

from __future__ import annotations

import pytest

from penstock.deploy.queries.queryable_project import (
    MOST_CALLS,
    MOST_CHARACTERS,
    CompiledCall,
    CompiledCalls,
    EndpointCall,
    QueryableProject,
)
from penstock.errors import InvalidRequest
from penstock.parse.project_loader import load_files
from penstock.sql.compile import compile_pipe
from penstock.sql.query import Query
from penstock.template.render_frame import RenderInput, RenderTrace


def call(value: str) -> EndpointCall:
    return "top", (("page", value),)


def query(sql: str) -> CompiledCall:
    return CompiledCall(Query(sql, (), ()), frozenset())


def test_the_calls_that_were_added_last_are_kept() -> None:
    calls = CompiledCalls()
    for number in range(MOST_CALLS + 10):
        calls.add(call(str(number)), query(f"SELECT {number}"))
    assert calls.get(call("9")) is None
    assert calls.get(call("10")) == query("SELECT 10")
    assert calls.get(call(str(MOST_CALLS + 9))) == query(f"SELECT {MOST_CALLS + 9}")


def test_large_calls_are_few() -> None:
    calls, large = CompiledCalls(), "x" * (MOST_CHARACTERS // 4)
    for number in range(20):
        calls.add(call(str(number)), query(large))
        calls.add(call(str(number)), query(large))
    assert [number for number in range(20) if calls.get(call(str(number))) is not None] == [17, 18, 19]
    calls.add(call(large * 5), query("SELECT 1"))
    assert calls._queries == {}
    assert calls._characters == 0


def test_parameters_that_an_endpoint_does_not_read_make_no_other_call() -> None:
    """A browser that adds a number to each address asks for the same again."""
    pipe = "NODE top\nSQL >\n    %\n    SELECT {{Int32(b)}} + {{Int32(a)}} AS n\nTYPE endpoint\n"
    loaded = load_files({"top.pipe": pipe})
    project = QueryableProject(loaded.project, loaded.settings.dialect)
    read = project.parameters_read(loaded.project.pipes[0], {"b": "1", "_": "1764000000", "a": "2"})
    assert list(read.items()) == [("a", "2"), ("b", "1")]


def test_a_fixed_parameter_reaches_a_pipe_that_a_parameter_names() -> None:
    """No text of the endpoint names that pipe, so what it reads is not known before."""
    loaded = load_files(
        {
            "hits.datasource": "SCHEMA >\n    `org` Int32\n",
            "rows.pipe": "NODE n\nSQL >\n    %\n    SELECT org FROM hits WHERE org = {{Int32(org, 0)}}\n",
            "top.pipe": "NODE n\nSQL >\n    %\n    SELECT * FROM {{table(which)}}\nTYPE endpoint\n",
        }
    )
    project = QueryableProject(loaded.project, loaded.settings.dialect)
    pipe = loaded.project.pipe("top")
    assert pipe is not None
    read = project.parameters_read(pipe, {"which": "rows", "org": "8", "x": "1"}, {"org": "7"})
    assert read == {"org": "7", "which": "rows"}
    trace = RenderTrace()
    found = compile_pipe(loaded.project, pipe, RenderInput("call", read, trace=trace))
    assert "org" in trace.read
    assert "CAST('7' AS INT)" in found.sql


def copied(sql: str) -> QueryableProject:
    """The project of one copy with this SQL, and of a pipe that it may read."""
    files = {
        "days.datasource": "SCHEMA >\n    `n` Int32\n",
        "base.pipe": "NODE n\nSQL >\n    %\n    SELECT {{ Int32(first, 1) }} AS n\n",
        "daily.pipe": f"NODE n\nSQL >\n    {sql}\nTYPE copy\nTARGET_DATASOURCE days\n",
    }
    loaded = load_files(files)
    return QueryableProject(loaded.project, loaded.settings.dialect)


@pytest.mark.parametrize(
    ("sql", "given", "hint"),
    [
        ("%\n    SELECT {{ Int32(without, 1) }} AS n", "withuot", "did you mean `without`?"),
        ("%\n    SELECT n + {{ Int32(last, 1) }} AS n FROM base", "x", "available: first, last"),
        ("SELECT 1 AS n", "n", "no template of it reads any"),
    ],
)
def test_a_run_is_refused_a_parameter_that_nothing_reads(sql: str, given: str, hint: str) -> None:
    """A range with a misspelt parameter was another range: its rows were appended a second time."""
    project = copied(sql)
    pipe = project.project.pipe("daily")
    assert pipe is not None
    with pytest.raises(InvalidRequest, match=f"`daily` has no parameter `{given}`") as refused:
        project.check_names(pipe, {given: "1"})
    assert refused.value.hint == hint


@pytest.mark.parametrize(
    ("sql", "given"),
    [
        ("%\n    SELECT n + {{ Int32(last, 1) }} AS n FROM base", "first"),
        ("%\n    {% if defined(last) %} SELECT 1 AS n {% else %} SELECT 2 AS n {% end %}", "last"),
        ("SELECT 1 AS n", "job_timestamp"),
        ("%\n    SELECT n FROM {{ table(source) }}", "first"),
    ],
)
def test_a_run_takes_what_it_may_read(sql: str, given: str) -> None:
    project = copied(sql)
    pipe = project.project.pipe("daily")
    assert pipe is not None
    project.check_names(pipe, {given: "1"})
