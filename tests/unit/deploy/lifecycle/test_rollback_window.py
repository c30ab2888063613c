from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.deploy.lifecycle import rollback_window as module
from penstock.deploy.lifecycle.rollback_window import RollbackWindow
from penstock.model.manifest import Manifest
from penstock.state.database import Database, open_database
from penstock.state.deployments import Deployments, StateMove
from penstock.state.live_pointer import LivePointer
from unit.deploy.lifecycle.set_clock import SetClock


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


def test_the_previous_one_is_retired_after_its_window_whatever_the_clock_says(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    deployments, pointer = Deployments(database), LivePointer(database)
    for _ in range(2):
        deployments.create("", None, {}, {}, Manifest())
    store = SimpleNamespace(pointer=pointer, deployments=deployments)
    retired: list[str] = []
    window = RollbackWindow(store, 2, retired.append)  # type: ignore[arg-type]
    window.run_once()
    pointer.swap(0, 2, 1, [StateMove(1, ("planned",), "previous"), StateMove(2, ("planned",), "live")])
    window.run_once()
    now[0] += 2 * 3600 - 60
    window.run_once()
    assert retired == []
    now[0] += 120
    window.run_once()
    assert retired == ["1"]


def test_a_clock_that_is_set_forward_retires_nothing_early(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither one that is wrong when the server starts, and is set right later, nor one that jumps meanwhile."""
    clock = SetClock(monkeypatch)
    deployments, pointer = Deployments(database), LivePointer(database)
    for _ in range(2):
        deployments.create("", None, {}, {}, Manifest())
    pointer.swap(0, 2, 1, [StateMove(1, ("planned",), "previous"), StateMove(2, ("planned",), "live")])
    store, retired = SimpleNamespace(pointer=pointer, deployments=deployments), list[str]()
    clock.wrong = timedelta(days=400)
    window = RollbackWindow(store, 24, retired.append)  # type: ignore[arg-type]
    window.run_once()
    clock.passed += 1800
    clock.wrong = timedelta()
    window.run_once()
    clock.passed += 3600
    window.run_once()
    clock.wrong = timedelta(days=400)
    window.run_once()
    assert retired == []
    clock.passed += 23 * 3600
    window.run_once()
    assert retired == ["1"]
