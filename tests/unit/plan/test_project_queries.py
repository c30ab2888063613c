"""A view is compiled once, and again wherever something that it reads or writes is another."""

from __future__ import annotations

import pytest

from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.sql.query import CompiledView

FILES = {
    "hits.datasource": "SCHEMA >\n    `at` DateTime `json:$.at`,\n    `kind` String `json:$.kind`\n",
    "names.datasource": "SCHEMA >\n    `kind` String `json:$.kind`,\n    `name` String `json:$.name`\n",
    "seen.datasource": "SCHEMA >\n    `kind` String,\n    `name` String\n",
    "named.pipe": "NODE n\nSQL >\n    SELECT kind, name FROM names\n",
    "seen_mv.pipe": "NODE n\nSQL >\n    SELECT h.kind AS kind, d.name AS name FROM hits AS h JOIN named AS d "
    "ON h.kind = d.kind\nTYPE materialized\nDATASOURCE seen\n",
    "other.pipe": "NODE n\nSQL >\n    SELECT 1 AS one\n",
}


def _view(queries: ProjectQueries) -> CompiledView:
    pipe = queries.project.pipe("seen_mv")
    view = queries.view(pipe) if pipe is not None else None
    assert view is not None
    return view


def _project(**files: str) -> Project:
    return load_files(FILES | {name.replace("__", "."): text for name, text in files.items()}).project


def test_a_view_is_compiled_once_for_all_that_is_the_same() -> None:
    first = ProjectQueries(_project())
    again = ProjectQueries(_project(other__pipe=FILES["other.pipe"].replace("1", "2")), first)
    assert _view(first) is _view(first)
    assert _view(again) is _view(first)


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("hits.datasource", "`kind` String", "`kind` LowCardinality(String)"),
        ("names.datasource", "`name` String", "`name` LowCardinality(String)"),
        ("seen.datasource", "`name` String", "`name` String,\n    `more` UInt8"),
        ("named.pipe", "kind, name", "kind, upper(name) AS name"),
        ("seen_mv.pipe", "d.name AS name", "lower(d.name) AS name"),
    ],
)
def test_what_a_view_reads_and_writes_counts(name: str, old: str, new: str) -> None:
    first = ProjectQueries(_project())
    compiled = _view(first)
    changed = load_files(FILES | {name: FILES[name].replace(old, new)}).project
    assert _view(ProjectQueries(changed, first)) == _view(ProjectQueries(changed))
    assert _view(ProjectQueries(changed, first)) is not compiled


def test_a_name_that_is_put_together_by_a_template_counts() -> None:
    pipe = FILES["seen_mv.pipe"].replace("SELECT h", "%\n    SELECT h").replace("named", "{{table('na' + 'med')}}")
    first = ProjectQueries(_project(seen_mv__pipe=pipe))
    compiled = _view(first)
    changed = _project(seen_mv__pipe=pipe, named__pipe=FILES["named.pipe"].replace("kind, name", "kind, 'x' AS name"))
    assert _view(ProjectQueries(changed, first)) == _view(ProjectQueries(changed)) != compiled
