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


def report(folder: Path, cases: str, tests: int, skipped: int = 0) -> Path:
    path = folder / "report.xml"
    path.write_text(f'<testsuites><testsuite tests="{tests}" skipped="{skipped}">{cases}</testsuite></testsuites>')
    return path


def test_passed_failed_and_skipped(run_tests: ModuleType, tmp_path: Path) -> None:
    cases = (
        '<testcase classname="a" name="x"><failure message="assert 1&#10;  == 2">all of it</failure></testcase>'
        '<testcase classname="b" name="y"><error message="no server"/></testcase>'
        '<testcase classname="b" name="z"><skipped message="no"/></testcase>'
    )
    found = run_tests.count_report(report(tmp_path, cases, tests=10, skipped=3), 1, "tests/unit")
    assert (found.passed, found.skipped) == (5, 3)
    assert found.failed == ("a::x: assert 1 == 2", "b::y: no server")


def test_the_seconds_of_each_file(run_tests: ModuleType, tmp_path: Path) -> None:
    cases = "".join(f'<testcase classname="{name}" time="{took}"/>' for name, took in [("a", 2), ("b", 1), ("a", 3.5)])
    path = report(tmp_path, cases, tests=3)
    found = run_tests.count_report(path, 0, "tests/unit") + run_tests.count_report(path, 0, "tests/unit")
    assert (found.passed, found.seconds.most_common()) == (6, [("a", 11.0), ("b", 2.0)])


def test_a_process_that_died_is_a_failure_named_by_its_last_test(
    run_tests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = tmp_path / "test_dies.py"
    test.write_text("import os\ndef test_lives():\n    pass\ndef test_dies():\n    os._exit(7)\n")
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    (failed,) = run_tests.run_pytest(["test_dies.py"], []).failed
    assert failed == "test_dies.py: ended with exit code 7 while it ran test_dies.py::test_dies"


def test_a_process_that_a_thread_keeps_is_killed_and_is_a_failure(
    run_tests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "import threading, time\ndef test_one():\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n"
    (tmp_path / "test_leaves.py").write_text(test)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "EXIT_SECONDS", 0.5)
    found = run_tests.run_pytest(["test_leaves.py"], [])
    assert found.passed == 1
    assert found.failed == ("test_leaves.py: a thread that a test left kept the process from its end",)


def test_what_runs_beside_the_others_is_shown_whole_and_counts(
    run_tests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for folder, test in (
        ("unit", "def test_one():\n    assert 0, 'beside'\n"),
        ("flow", "def test_two():\n    pass\n"),
    ):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "tests" / folder / f"test_{folder}.py").write_text(test)
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    assert run_tests.main([]) == 1
    shown = capfd.readouterr().out
    assert shown.index("== pytest tests/unit") < shown.index("AssertionError: beside") < shown.index("1 failed in")
    assert shown.splitlines()[-2:] == [
        "FAILED tests.unit.test_unit::test_one: AssertionError: beside assert 0",
        "1 passed, 1 failed",
    ]


def test_an_exit_code_that_no_test_explains_is_a_failure(run_tests: ModuleType, tmp_path: Path) -> None:
    (failed,) = run_tests.count_report(report(tmp_path, "", tests=0), 5, "tests/flow").failed
    assert failed == "pytest ended with exit code 5, and no test failed: tests/flow"


def test_what_ends_a_process_after_its_last_test_is_named(
    run_tests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_quick.py").write_text(
        "import atexit, ctypes\n\ndef crash_at_exit():\n    ctypes.string_at(0)\n\n"
        "def test_quick():\n    atexit.register(crash_at_exit)\n"
    )
    (tmp_path / "tests" / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    (failed,) = run_tests.run_pytest(["tests/unit"], []).failed
    assert failed.startswith("pytest ended with exit code -11, and no test failed: tests/unit: Fatal Python error")
    assert "in crash_at_exit" in failed


def test_a_folder_without_tests_of_the_kind_is_none_and_nothing_at_all_is_no_success(
    run_tests: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tests" / "unit").mkdir(parents=True)
    (tmp_path / "tests" / "unit" / "test_quick.py").write_text("def test_quick():\n    pass\n")
    (tmp_path / "tests" / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text())
    (tmp_path / "tests" / "empty").mkdir()
    monkeypatch.setattr(run_tests, "ROOT", tmp_path)
    assert run_tests.run_pytest(["tests/unit"], ["-m", "slow"]) == run_tests.Count()
    (failed,) = run_tests.run_pytest(["tests/empty"], ["-m", "slow"]).failed
    assert failed == "pytest ended with exit code 5, and no test failed: tests/empty: "
    assert (run_tests.main([]), run_tests.main(["--slow"])) == (0, 1)


def test_every_folder_of_tests_is_in_one_process(run_tests: ModuleType) -> None:
    pure, *others = run_tests.test_processes(without_jvm=False)
    assert "tests/unit" in pure
    names = [name for folders in (pure, *others) for name in folders]
    assert sorted(names) == sorted(
        f"tests/{path.name}" for path in (ROOT / "tests").iterdir() if any(path.rglob("test_*.py"))
    )
    assert run_tests.test_processes(without_jvm=True) == [pure]


def test_fixtures_of_folders_that_share_a_process_end_with_their_folder(run_tests: ModuleType) -> None:
    """One Spark session at a time."""
    for folder in run_tests.SHARED:
        assert (ROOT / "tests" / folder / "__init__.py").exists(), "pytest knows the end of a package only"
        assert not [path for path in (ROOT / "tests" / folder).glob("*.py") if 'scope="session"' in path.read_text()]
