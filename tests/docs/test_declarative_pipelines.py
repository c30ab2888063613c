"""The page for people who come from Spark Declarative Pipelines: its project has no problem, and its change is
planned as the page says."""

from __future__ import annotations

import re
from pathlib import Path

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.plan.offline import plan_loaded
from penstock.plan.project_check import check_loaded

PAGE = Path(__file__).parents[2] / "docs/coming-from-declarative-pipelines.md"
BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def read(folder: Path, text: str) -> SourceProject:
    (folder / "app").mkdir(parents=True)
    (folder / "app/main.py").write_text(text)
    (folder / "penstock.toml").touch()
    found = load_source_folder(folder)
    assert found.loaded.problems == ()
    assert check_loaded(found.loaded).problems == ()
    return found


def test_the_page_is_true(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    project, change = [text for kind, text in blocks if kind == "python"]
    plan = [text for kind, text in blocks if kind == "text"][-1]
    head, _, rest = project.partition("@materialized_view(target=clean")
    changed = head + change + "\n\n@materialized_view" + rest.partition("@materialized_view")[2]
    assert changed.count("@materialized_view") == 2
    before = read(tmp_path / "before", project)
    planned = plan_loaded(before.loaded, read(tmp_path / "after", changed).loaded)
    found = {each.name: each.strategy for each in planned.resources if each.kind == "datasource"}
    assert found == dict(line.split() for line in plan.splitlines())
    other = project.replace('filter("size > 0")', 'where("size > 0")  # not empty')
    assert other != project
    assert plan_loaded(before.loaded, read(tmp_path / "same", other).loaded).changes == ()
