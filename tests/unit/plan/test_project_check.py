from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.parse.project_loader import load_files
from penstock.plan.project_check import ProjectCheck, check_loaded

SOURCE = "SCHEMA >\n    id UInt64 `json:$.id`,\n    name String `json:$.name`\n"
TARGET = "SCHEMA >\n    name String,\n    n UInt64\n\nENGINE SummingMergeTree\nENGINE_SORTING_KEY name\n"
FILES = {
    "rows.datasource": SOURCE,
    "counts.datasource": TARGET,
    "counting.pipe": (
        "NODE n\nSQL >\n    SELECT name, count() AS n FROM rows GROUP BY name\nTYPE materialized\nDATASOURCE counts\n"
    ),
    "top.pipe": "NODE n\nSQL >\n    SELECT name, n FROM counts\nTYPE endpoint\n",
    "base.pipe": "NODE n\nSQL >\n    SELECT id, name FROM rows\n",
    "list.pipe": "NODE n\nSQL >\n    %\n    SELECT id FROM base WHERE id > {{UInt64(least, 1)}}\nTYPE endpoint\n",
}


def check(**changed: str | None) -> ProjectCheck:
    """The check of the project with other files; None removes one."""
    edits = {name.replace("_", "."): text for name, text in changed.items()}
    return check_loaded(load_files({name: text for name, text in (FILES | edits).items() if text is not None}))


def outcomes(found: ProjectCheck) -> dict[str, str]:
    return {each.name: each.outcome for each in found.resources}


def places(found: ProjectCheck) -> list[str]:
    return [f"{problem.location} {problem.code}" for problem in found.errors]


def test_a_sound_project_has_no_problem() -> None:
    found = check()
    assert found.problems == ()
    assert set(outcomes(found).values()) == {"deploys"}
    assert [each.name for each in found.resources] == ["counts", "rows", "base", "counting", "list", "top"]


def test_a_broken_file_hides_no_problem_of_another() -> None:
    """The file itself cannot be read; the SQL of another one is wrong; a third one reads the first."""
    found = check(
        rows_datasource=SOURCE.replace("UInt64", "UInt63"),
        top_pipe=FILES["top.pipe"].replace("name, n", "nome, n"),
        list_pipe=FILES["list.pipe"].replace("id >", "leng(id) >"),
    )
    assert places(found) == [
        "list.pipe:4:31 unknown-function",
        "rows.datasource:2:8 invalid-type",
        "top.pipe:3:12 unknown-column",
    ]


def test_what_follows_from_another_file_is_not_reported() -> None:
    """`list` and `counting` would be told that columns or tables are missing."""
    found = check(rows_datasource="SCHEMA >\n    id UInt64 `json:$.id`,\n    name Strong `json:$.name`\n")
    assert places(found) == ["rows.datasource:3:10 invalid-type"]
    found = check(base_pipe="NODE n\nSQLL >\n    SELECT id FROM rows\n")
    assert {place.split(":")[0] for place in places(found)} == {"base.pipe"}


def test_what_falls_names_its_cause() -> None:
    found = check(base_pipe="NODE n\nSQL >\n    SELECT idd FROM rows\n")
    assert places(found) == ["base.pipe:3:12 unknown-column"]
    assert outcomes(found)["base"] == "broken"
    assert [name for name, outcome in outcomes(found).items() if outcome != "deploys"] == ["base", "list"]
    assert [each.because for each in found.resources if each.name == "list"] == [("base",)]


def test_a_table_without_its_view_would_deploy_and_get_no_rows() -> None:
    found = check(counting_pipe=FILES["counting.pipe"].replace("count()", "cont()"))
    assert [(each.name, each.unfed_by) for each in found.resources if each.unfed_by] == [("counts", ("counting",))]
    assert outcomes(found)["top"] == "deploys"


@pytest.mark.parametrize("name", ["counts", "rows"])
def test_a_view_falls_with_its_target_and_with_its_source(name: str) -> None:
    found = check(**{f"{name}_datasource": "SCHEMA >\n    name Strong\n"})
    assert outcomes(found)["counting"] == "falls"
    assert [each.because for each in found.resources if each.name == "counting"] == [(name,)]


def test_a_missing_file_is_the_readers_problem() -> None:
    found = check(base_pipe=None)
    assert places(found) == ["list.pipe:4:20 unknown-table"]
    assert outcomes(found)["list"] == "broken"


def test_a_file_that_cannot_be_read_at_all_is_listed() -> None:
    found = check(base_pipe="")
    assert outcomes(found)["base"] == "broken"
    assert outcomes(found)["list"] == "falls"


def test_a_forward_query_that_cannot_be_read_is_a_warning() -> None:
    """The first deployment does not use it."""
    found = check(rows_datasource=SOURCE + "FORWARD_QUERY >\n    SELECT (id, name\n")
    assert (found.errors, [problem.level for problem in found.problems]) == ((), ["warning"])
    assert str(found.problems[0].location).startswith("rows.datasource:5:")
    assert check(rows_datasource=SOURCE + "FORWARD_QUERY >\n    SELECT id, upper(name) AS name\n").problems == ()


@pytest.mark.parametrize("end", ["TYPE copy\nTARGET_DATASOURCE rws\n", "TYPE materialized\nDATASOURCE rws\n"])
def test_an_unknown_target_is_one_problem(end: str) -> None:
    """The files are compared with each other, and the query with its target: both find it."""
    found = check(other_pipe=f"NODE n\nSQL >\n    SELECT id, name FROM rows\n{end}")
    assert [problem.message for problem in found.errors] == ["there is no data source `rws`"]
    assert found.errors[0].hint == "did you mean `rows`?"


def test_a_cycle_and_wrong_settings_are_problems() -> None:
    back = "NODE n\nSQL >\n    SELECT n AS id, name FROM counts\nTYPE materialized\nDATASOURCE rows\n"
    found = check(back_pipe=back)
    assert [problem.code for problem in found.errors] == ["cycle"]
    assert outcomes(found)["base"] == "deploys"
    assert places(check(penstock_toml="[serverr]\n")) == ["penstock.toml:1:2 unknown-setting"]


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_what_is_said_to_deploy_deploys_alone(data: st.DataObject) -> None:
    """Any line of any file may be lost, doubled or garbled; no such project makes the check fail."""
    files = dict(FILES)
    for name in data.draw(st.lists(st.sampled_from(sorted(FILES)), min_size=1, max_size=3, unique=True)):
        lines = files[name].split("\n")
        at = data.draw(st.integers(0, len(lines) - 1))
        lines[at : at + 1] = data.draw(
            st.sampled_from([[], [lines[at]] * 2, [lines[at][:-2]], [lines[at] + " x"], [lines[at].replace("n", "m")]])
        )
        files[name] = "\n".join(lines)
    found = check_loaded(load_files(files))
    kept = [each.file for each in found.resources if each.outcome == "deploys"]
    assert bool(found.errors) == any(each.outcome != "deploys" for each in found.resources)
    alone = check_loaded(load_files({path: files[path] for path in kept}))
    assert alone.errors == ()
    assert sorted(outcomes(alone)) == sorted(each.name for each in found.resources if each.outcome == "deploys")
