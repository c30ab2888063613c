"""The sum of the test processes: nothing that failed may be counted as passed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def run_tests() -> ModuleType:
    spec = importlib.util.spec_from_file_location("run_tests", ROOT / "scripts/run_tests.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look for their module
    spec.loader.exec_module(module)
    return module


def report(folder: Path, attributes: str) -> Path:
    path = folder / "report.xml"
    path.write_text(f"<testsuites><testsuite {attributes}/></testsuites>")
    return path


def test_passed_failed_and_skipped(run_tests: ModuleType, tmp_path: Path) -> None:
    path = report(tmp_path, 'tests="10" failures="2" errors="1" skipped="3"')
    assert run_tests.counted(path, 1) == run_tests.Count(passed=4, failed=3, skipped=3)


def test_the_seconds_of_each_file(run_tests: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "report.xml"
    cases = "".join(f'<testcase classname="{name}" time="{took}"/>' for name, took in [("a", 2), ("b", 1), ("a", 3.5)])
    path.write_text(f'<testsuites><testsuite tests="3">{cases}</testsuite></testsuites>')
    found = run_tests.counted(path, 0) + run_tests.counted(path, 0)
    assert (found.passed, found.seconds.most_common()) == (6, [("a", 11.0), ("b", 2.0)])


def test_a_process_that_died_is_a_failure(run_tests: ModuleType, tmp_path: Path) -> None:
    assert run_tests.counted(tmp_path / "none.xml", -9) == run_tests.Count(failed=1)


def test_an_exit_code_that_no_test_explains_is_a_failure(run_tests: ModuleType, tmp_path: Path) -> None:
    path = report(tmp_path, 'tests="0" failures="0" errors="0" skipped="0"')
    assert run_tests.counted(path, 5) == run_tests.Count(failed=1)


def test_every_folder_of_tests_is_in_one_process(run_tests: ModuleType) -> None:
    first, *others = run_tests.processes(fast=False)
    assert "unit" in first
    assert all(len(folders) == 1 for folders in others), "one Spark session a process"
    there = {path.name for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py"))}
    assert {name for folders in (first, *others) for name in folders} == there
    assert run_tests.processes(fast=True) == [first]
