"""The projects that the planner's speed is measured on are projects, and the measuring runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.plan.diff.changes import ColumnAdded, ColumnRenamed, ColumnTypeChanged, ViewChanged
from penstock.plan.offline import plan_folders

BENCH = Path(__file__).parents[3] / "bench"
RESOURCES = 120


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(BENCH / script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def generate(folder: Path, seed: int) -> dict[str, str]:
    run("generate.py", str(folder), "--resources", str(RESOURCES), "--seed", str(seed))
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("generated")
    generate(found, 1)
    return found


def test_the_same_numbers_give_the_same_files(tmp_path: Path) -> None:
    first = generate(tmp_path / "a", 1)
    assert first == generate(tmp_path / "b", 1)
    assert first != generate(tmp_path / "c", 2)


def test_the_edited_copy_has_every_kind_of_change_and_plans(folder: Path) -> None:
    plan, before, after = plan_folders(folder / "before", folder / "after")
    assert (before.problems, after.problems, plan.errors) == ((), (), ())
    kinds = {type(change) for change in plan.changes}
    assert {ColumnAdded, ColumnRenamed, ColumnTypeChanged, ViewChanged} <= kinds
    assert len(before.project.names) >= RESOURCES
    assert len(before.project.pipes) * 2 == pytest.approx(len(before.project.names), rel=0.2)
    assert {len(source.columns) for source in before.project.datasources} == {50}


def test_some_files_are_the_same_and_some_have_moved(folder: Path) -> None:
    before, after = ({path.name: path for path in (folder / side).rglob("*.*")} for side in ("before", "after"))
    assert before.keys() == after.keys()
    same = [name for name in before if before[name].read_text() == after[name].read_text()]
    moved = [name for name in same if "moved" in after[name].parts]
    assert 0 < len(same) < len(before)
    assert moved


def test_the_measuring_gives_a_table() -> None:
    assert "| resources | seconds | seconds per 1,000 |" in run("plan_scale.py", "--sizes", "20")


def test_each_shape_has_a_plan() -> None:
    shapes = [word for name in ("views", "chain", "columns", "diamonds") for word in ("--shape", name, "3")]
    rows = [line for line in run("plan_shapes.py", *shapes).splitlines() if line.startswith("| 3 |")]
    assert len(rows) == 4
