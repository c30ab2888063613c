"""The example projects are right, and version 2 of `flights` differs where it says and nowhere else."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

import penstock
from penstock.api.project.source_project import load_source_folder
from penstock.model.manifest import Copy
from penstock.parse.project_loader import load_files, load_folder
from penstock.plan.offline import plan_loaded

EXAMPLES = Path(penstock.__file__).parent / "examples"
NAMES = tuple(sorted(path.name for path in EXAMPLES.iterdir() if path.is_dir()))
CHANGED = {
    "datasources/flights.datasource",
    "datasources/carrier_daily.datasource",
    "materializations/carrier_daily_mv.pipe",
    "endpoints/top_carriers.pipe",
    "README.md",
}


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_no_problems(name: str) -> None:
    loaded = load_source_folder(EXAMPLES / name).loaded
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.project.datasources
    assert loaded.project.pipes
    assert (EXAMPLES / name / "README.md").is_file()


def test_version_2_differs_where_it_says() -> None:
    before, after = _texts("flights"), _texts("flights-v2")
    assert before.keys() - after.keys() == {"fixtures/flights.ndjson", "fixtures/weather.ndjson"}
    assert after.keys() <= before.keys()
    assert {path for path in after if before[path] != after[path]} == CHANGED


@pytest.mark.parametrize("turned", [False, True], ids=["to Python", "to datafiles"])
@pytest.mark.parametrize("name", ["flights", "web-analytics"])
def test_an_example_in_python_is_that_of_datafiles(name: str, turned: bool) -> None:
    folders = (EXAMPLES / name, EXAMPLES / f"{name}-python")
    before, after = (load_source_folder(each).loaded for each in (reversed(folders) if turned else folders))
    plan = plan_loaded(before, after)
    assert (plan.changes, plan.problems) == ((), ())
    assert {each.strategy for each in plan.resources} == {"none"}
    assert before.project.names == after.project.names


def test_a_column_of_a_view_in_mid_stream_leaves_topic_and_landing_as_they_are() -> None:
    before = load_folder(EXAMPLES / "clickstream")
    texts = dict(before.files)
    for path, old, new in (
        ("datasources/page_views.datasource", "`page` String,", "`page` String,\n    `is_mobile` UInt8,"),
        ("materializations/page_views_mv.pipe", "AS page, at", "AS page, user_agent LIKE '%Mobile%' AS is_mobile, at"),
    ):
        assert old in texts[path]
        texts[path] = texts[path].replace(old, new)
    plan = plan_loaded(before, load_files(texts))
    assert [problem for problem in plan.problems if problem.level == "error"] == []
    strategies = {each.name: each.strategy for each in plan.resources}
    assert strategies["page_views"] != "none"
    assert strategies.get("clicks", "none") == "none"
    assert strategies["sessions"] in ("none", "reuse")
    assert plan.manifest is not None
    [landing] = [each for each in plan.manifest.landings if each.stream == "clicks"]
    assert not any(isinstance(each, Copy) and each.table == landing.table for each in plan.manifest.flows)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/fixtures/*.ndjson")), ids=lambda path: path.name)
def test_fixtures_are_rows_of_a_data_source(path: Path) -> None:
    project = load_folder(path.parent.parent).project
    assert project.datasource(path.stem) is not None
    rows = [orjson.loads(line) for line in path.read_text().splitlines()]
    assert rows
    assert all(isinstance(row, dict) for row in rows)


def _texts(name: str) -> dict[str, str]:
    folder = EXAMPLES / name
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
