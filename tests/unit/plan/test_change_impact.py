"""What a change reaches, by the words of the SQL."""

from __future__ import annotations

from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.diff.change_impact import find_impact, full_impact, with_upstream
from penstock.plan.diff.project_diff import diff_projects

EVENTS = """SCHEMA >
    `a` String `json:$.a`,
    `b` String `json:$.b`

ENGINE MergeTree
ENGINE_SORTING_KEY a
"""
TARGET = "SCHEMA >\n    `k` String\n\nENGINE MergeTree\nENGINE_SORTING_KEY k\n"


def view(sql: str, target: str) -> str:
    return f"NODE n\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE {target}\n"


FILES = {
    "events.datasource": EVENTS,
    "by_a.datasource": TARGET,
    "by_b.datasource": TARGET,
    "below.datasource": TARGET,
    "other.datasource": EVENTS,
    "to_a.pipe": view("SELECT a AS k FROM events", "by_a"),
    "to_b.pipe": view("SELECT b AS k FROM events", "by_b"),
    "to_below.pipe": view("SELECT k FROM by_b", "below"),
    "all.pipe": "NODE n\nSQL >\n    SELECT * FROM events\nTYPE endpoint\n",
}


def project(files: dict[str, str]) -> Project:
    loaded = load_files(files)
    assert not loaded.errors
    return loaded.project


def reached(files: dict[str, str], strategies: tuple[str, ...] = ()) -> set[str]:
    before, after = project(FILES), project(files)
    return set(find_impact(before, after, diff_projects(before, after), strategies).reached)


def test_no_change_reaches_nothing() -> None:
    assert reached(FILES) == set()


def test_a_column_reaches_who_names_it_and_who_may_read_every_column() -> None:
    retyped = {**FILES, "events.datasource": EVENTS.replace("`b` String", "`b` LowCardinality(String)")}
    assert reached(retyped) == {"events", "to_b", "by_b", "to_below", "below", "all"}


def test_a_table_that_may_be_replaced_reaches_all_below() -> None:
    retyped = {**FILES, "events.datasource": EVENTS.replace("`b` String", "`b` LowCardinality(String)")}
    below = {"events", "to_a", "by_a", "to_b", "by_b", "to_below", "below", "all"}
    assert reached(retyped, ("events",)) == below
    fleeting = EVENTS + "FORWARD_QUERY >\n    SELECT * REPLACE (toString(now()) AS b)\n"
    assert reached({**FILES, "events.datasource": fleeting}) == below


def test_a_removed_pipe_reaches_what_it_fed() -> None:
    files = {path: text for path, text in FILES.items() if path != "to_b.pipe"}
    assert reached(files) == {"by_b", "to_below", "below"}


def test_a_changed_view_reaches_its_target_and_below() -> None:
    changed = {**FILES, "to_b.pipe": view("SELECT upper(b) AS k FROM events", "by_b")}
    assert reached(changed) == {"to_b", "by_b", "to_below", "below"}


def test_everything_and_upstream() -> None:
    whole = project(FILES)
    assert full_impact(whole).reached == set(whole.names)
    assert with_upstream(whole, {"below"}) == {"below", "to_below", "by_b", "to_b", "events"}
