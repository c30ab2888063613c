"""`penstock table` refuses what would lose a version that somebody needs; docs/python-tutorial.md runs it for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from python_projects import HEAD, write_project
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

FIRST = HEAD.count("\n")
TWO = """
class Row(BaseModel):
    a: Key[UInt8]

OlapTable[Row]("flights", OlapConfig(version="0.0"))
OlapTable[Row]("flights", OlapConfig(version="0.1"))
"""


@pytest.fixture
def versions(project: Path, pipeline: MemoryPipeline, penstock: Run) -> Path:
    (project / "datasources" / "flights.datasource").unlink()
    (project / "top.pipe").unlink()
    write_project(project, TWO)
    assert penstock("deploy")[0] == 0
    return project


def test_a_version_that_the_project_still_has_is_not_retired(versions: Path, penstock: Run) -> None:
    code, _, err = penstock("table", "retire", "flights", "0.0", "--yes")
    assert (code, f"app/main.py:{FIRST + 5}:1: the project still has `flights_0_0`" in err) == (1, True), err


def test_what_live_does_not_have_is_said(versions: Path, penstock: Run) -> None:
    code, _, err = penstock("table", "retire", "flights", "0.2")
    assert (code, "live has no version 0.2 of `flights`" in err, "its versions: 0.0, 0.1" in err) == (1, True, True)
    code, _, err = penstock("table", "versions", "flihgts")
    assert (code, "live has no table `flihgts`" in err) == (1, True)
