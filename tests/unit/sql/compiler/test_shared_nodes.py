"""Compilations that share nodes, beside compilations that share none: the same queries, reads, problems and steps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlglot import exp

import penstock
from penstock.errors import InvalidQuery
from penstock.model.datasource import Text
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.parse.project_loader import load_files, load_folder
from penstock.plan.pipe_check import check_pipe
from penstock.sql.compile import compile_pipe, compile_view
from penstock.sql.compiler.budget import CompileBudget
from penstock.sql.compiler.caller import Caller
from penstock.sql.compiler.shared_nodes import SharedNodes
from penstock.sql.syntax.tree import parse_query
from penstock.template.render_frame import CHECK, RenderInput

EXAMPLES = Path(penstock.__file__).parent / "examples"
EVENTS = "SCHEMA >\n    `id` UInt64 `json:$.id`,\n    `user` String `json:$.user`,\n    `size` UInt64 `json:$.size`\n"


def pipe(*sql: str, type: str = "endpoint") -> str:
    nodes = [f"NODE n{place}\nSQL >\n    {each}\n" for place, each in enumerate(sql)]
    return "\n".join(nodes) + (f"TYPE {type}\n" if type else "")


DIAMOND = {
    "events.datasource": EVENTS,
    "other.datasource": EVENTS,
    "base.pipe": pipe("SELECT id, user FROM events WHERE size > 1", type=""),
    "left.pipe": pipe("SELECT id, user FROM base", "SELECT id FROM n0 WHERE user != ''", type=""),
    "right.pipe": pipe("SELECT id FROM other WHERE id IN (SELECT id FROM base)", type=""),
    "both.pipe": pipe("SELECT l.id FROM left AS l JOIN right AS r ON l.id = r.id"),
    "first_right.pipe": pipe("SELECT id FROM right UNION ALL SELECT id FROM left UNION ALL SELECT id FROM base"),
    "chosen.pipe": pipe("%\nSELECT id FROM {% if defined(x) %}left{% else %}other{% end %}", "SELECT id FROM n0"),
    "reads_chosen.pipe": pipe("SELECT id FROM chosen"),
    "last.pipe": pipe("SELECT id FROM base UNION ALL SELECT id FROM reads_chosen"),
}


def project(files: Mapping[str, str]) -> Project:
    loaded = load_files(files)
    assert not loaded.errors
    return loaded.project


def outcome(project: Project, pipe: Pipe, caller: Caller) -> object:
    """All that a compilation and a check of a pipe tell."""
    try:
        if pipe.materialized is not None:
            return compile_view(project, pipe, pipe.materialized, caller)
        return compile_pipe(project, pipe, CHECK, caller), check_pipe(project, pipe, caller)
    except InvalidQuery as error:
        return error.message, error.problems


def assert_alike(project: Project) -> None:
    """In the order of the names, backwards, and each pipe twice."""
    alone = {each.name: outcome(project, each, Caller()) for each in project.pipes}
    for pipes in (project.pipes, project.pipes[::-1], [each for each in project.pipes for _ in range(2)]):
        nodes = SharedNodes()
        for each in pipes:
            assert outcome(project, each, Caller(nodes=nodes)) == alone[each.name], each.name


@pytest.mark.parametrize("name", ["web-analytics", "flights-v2"])
def test_the_examples(name: str) -> None:
    assert_alike(load_folder(EXAMPLES / name).project)


def test_what_a_node_reads_by_others_is_read_by_its_readers() -> None:
    """The node `base` is compiled first by one way, then by another, and then found by both."""
    assert_alike(project(DIAMOND))
    read = compile_pipe(project(DIAMOND), next(each for each in project(DIAMOND).pipes if each.name == "both"))
    assert [each.placeholder for each in read.reads] == ["__all_events__", "__all_other__"]


def test_a_view_reads_new_rows_where_an_endpoint_reads_all() -> None:
    files = DIAMOND | {
        "kept.datasource": "SCHEMA >\n    `id` UInt64\nENGINE MergeTree\nENGINE_SORTING_KEY id\n",
        "view.pipe": pipe("SELECT id FROM left", type="materialized\nDATASOURCE kept"),
    }
    assert_alike(project(files))


@pytest.mark.parametrize(
    "wrong",
    [
        "SELECT nothing AS id, user FROM events",
        "SELECT id, user FROM both",
        "SELECT id, nowhere(user) AS user FROM events",
    ],
    ids=["column", "cycle", "function"],
)
def test_problems_are_told_to_each_reader(wrong: str) -> None:
    assert_alike(project(DIAMOND | {"base.pipe": pipe(wrong, type="")}))


def test_a_template_is_rendered_for_each_call() -> None:
    made, nodes = project(DIAMOND), SharedNodes()
    reads = next(each for each in made.pipes if each.name == "reads_chosen")
    for given, table in (({}, "other"), ({"x": "1"}, "events"), ({}, "other")):
        query = compile_pipe(made, reads, RenderInput("check", dict(given)), Caller(nodes=nodes))
        assert [each.datasource for each in query.reads] == [table]


def test_steps_are_counted_as_if_nothing_was_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ladder whose steps each read the two before: each counts once, however it is reached."""
    ladder = {
        f"p{n}.pipe": pipe(f"SELECT a.id FROM p{n - 1} AS a JOIN p{n - 2} AS b ON a.id = b.id") for n in range(2, 9)
    }
    base = {f"p{n}.pipe": pipe("SELECT id FROM events") for n in range(2)}
    made = project({"events.datasource": EVENTS, **base, **ladder})
    budgets: list[CompileBudget] = []

    def new_budget(caller: Caller) -> CompileBudget:
        budgets.append(CompileBudget(caller=caller))
        return budgets[-1]

    monkeypatch.setattr("penstock.sql.compile.CompileBudget", new_budget)
    for nodes in (None, SharedNodes()):
        for each in made.pipes:
            compile_pipe(made, each, CHECK, Caller(nodes=nodes))
    half = len(budgets) // 2
    assert [each.left for each in budgets[:half]] == [each.left for each in budgets[half:]]
    assert len({each.left for each in budgets}) > half // 2


def test_each_node_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []

    def noted(text: Text) -> exp.Query:
        parsed.append(text.text)
        return parse_query(text)

    monkeypatch.setattr("penstock.sql.compile.parse_query", noted)
    made, nodes = project(DIAMOND), SharedNodes()
    for each in made.pipes:
        compile_pipe(made, each, CHECK, Caller(nodes=nodes))
    assert parsed.count("SELECT id, user FROM events WHERE size > 1") == 2  # as a pipe of its own, and as a node
