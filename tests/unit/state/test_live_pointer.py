from __future__ import annotations

import threading

import pytest

from penstock.errors import Conflict
from penstock.model.manifest import Manifest
from penstock.state.database import Database
from penstock.state.deployments import Deployments, StateMove
from penstock.state.live_pointer import LivePointer, LiveVersions


@pytest.fixture
def deployments(database: Database) -> Deployments:
    made = Deployments(database)
    for number in (1, 2):
        made.create(f"d{number}", None, {}, {}, Manifest())
        made.move(number, "ready", of=["planned"])
    return made


def test_at_first_nothing_is_live(database: Database) -> None:
    assert LivePointer(database).read() == LiveVersions(None, None, 0)


def test_a_swap_changes_the_pointer_and_the_states_together(database: Database, deployments: Deployments) -> None:
    pointer = LivePointer(database)
    assert pointer.swap(0, 1, None, [StateMove(1, ("ready",), "live")]) == LiveVersions(1, None, 1)
    pointer.swap(1, 2, 1, [StateMove(1, ("live",), "previous"), StateMove(2, ("ready",), "live")])
    assert pointer.read() == LiveVersions(2, 1, 2)
    assert [each.state for each in deployments.list()] == ["live", "previous"]


def test_an_old_version_is_refused_and_nothing_changes(database: Database, deployments: Deployments) -> None:
    pointer = LivePointer(database)
    pointer.swap(0, 1, None, [StateMove(1, ("ready",), "live")])
    with pytest.raises(Conflict):
        pointer.swap(0, 2, None, [StateMove(2, ("ready",), "live")])
    assert pointer.read() == LiveVersions(1, None, 1)
    assert deployments.get(2).state == "ready"


def test_a_move_that_is_not_legal_leaves_the_pointer(database: Database, deployments: Deployments) -> None:
    pointer = LivePointer(database)
    with pytest.raises(Conflict):
        pointer.swap(0, 1, None, [StateMove(1, ("ready",), "live"), StateMove(2, ("live",), "previous")])
    assert pointer.read() == LiveVersions(None, None, 0)
    assert deployments.get(1).state == "ready"


def test_of_many_swaps_at_once_one_wins(database: Database, deployments: Deployments) -> None:
    pointer = LivePointer(database)
    outcomes: list[str] = []

    def swap() -> None:
        try:
            pointer.swap(0, 1, None)
            outcomes.append("won")
        except Conflict:
            outcomes.append("lost")

    threads = [threading.Thread(target=swap) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["lost"] * 5 + ["won"]
