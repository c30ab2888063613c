"""Options that all tests share; for scripts/run_tests.py, the name of the test that runs."""

from __future__ import annotations

import faulthandler
import os
import signal
from pathlib import Path

import hypothesis
import pytest

# No test asserts a duration: an example takes long on a busy machine.
hypothesis.settings.register_profile("penstock", deadline=None)
hypothesis.settings.load_profile("penstock")


def pytest_configure() -> None:
    """A shell without job control starts what runs in the background with Ctrl-C ignored, and so would be all commands
    that tests start."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure() -> None:
    """Native code may end the process while it exits, when pytest listens no more: then this file says how."""
    if named := os.environ.get("PENSTOCK_TEST_CRASH"):
        faulthandler.enable(os.open(named, os.O_WRONLY | os.O_CREAT))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the expected files of golden tests anew")


def pytest_runtest_logstart(nodeid: str) -> None:
    """A process that dies says nothing more: what it ran then is in this file."""
    if named := os.environ.get("PENSTOCK_TEST_STARTED"):
        Path(named).write_text(nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """A folder whose tests are all of the other kind has none to run. One without any is a failure, as ever."""
    told = session.config.pluginmanager.get_plugin("terminalreporter")
    left_out = told is not None and told.stats.get("deselected")
    if "PENSTOCK_TEST_STARTED" in os.environ and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and left_out:
        session.exitstatus = pytest.ExitCode.OK


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden tests write what they should compare with."""
    return bool(request.config.getoption("--update-golden"))
