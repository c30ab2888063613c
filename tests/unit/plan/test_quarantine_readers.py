"""Pipes that read `<name>_quarantine`: endpoints and copies may, materialized views may not."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.compiled_project import CompiledProject, compile_project
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.plan.diff.query_equality import is_same_pipe

EVENTS = "SCHEMA >\n    `id` Int64,\n    `raw` String\n"
READS = "SELECT raw, length(problems) AS reasons, toDate(inserted_at) AS day FROM events_quarantine"


def compiled(sql: str, ending: str) -> CompiledProject:
    files = {
        "events.datasource": EVENTS,
        "kept.datasource": "SCHEMA >\n    `raw` String,\n    `reasons` UInt64,\n    `day` Date\n",
        "p.pipe": f"NODE n\nSQL >\n    {sql}\n{ending}\n",
    }
    loaded = load_files(files)
    assert not loaded.problems
    return compile_project(loaded.project)


@pytest.mark.parametrize("ending", ["TYPE endpoint", "TYPE copy\nTARGET_DATASOURCE kept"])
@pytest.mark.parametrize("sql", [READS, f"{READS} JOIN events ON events.raw = events_quarantine.raw"])
def test_queries_read_them(sql: str, ending: str) -> None:
    made = compiled(sql.replace("SELECT raw,", "SELECT events_quarantine.raw AS raw,"), ending)
    assert made.problems == ()
    assert {each.datasource for each in made.reads["p"]} == ({"events"} if "JOIN" in sql else set())


def test_a_view_does_not() -> None:
    (problem,) = compiled(READS, "TYPE materialized\nDATASOURCE kept").problems
    assert problem.code == "unsupported-view"
    assert "`events_quarantine`: rows leave it" in problem.message
    assert problem.location is not None
    assert (problem.location.file, problem.location.line) == ("p.pipe", 3)


def test_there_is_none_without_its_data_source() -> None:
    (problem,) = compiled("SELECT raw FROM nothing_quarantine", "TYPE endpoint").problems
    assert problem.code == "unknown-table"


def test_a_reader_changes_only_with_its_query() -> None:
    before, spaced, other = (
        compiled(sql, "TYPE endpoint").project
        for sql in (READS, READS.replace("length", " length"), f"{READS} LIMIT 1")
    )
    assert is_same_pipe(ProjectQueries(before), ProjectQueries(spaced), "p")
    assert not is_same_pipe(ProjectQueries(before), ProjectQueries(other), "p")
