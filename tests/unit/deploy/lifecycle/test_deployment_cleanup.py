"""Deployments that ended long ago are forgotten, those that failed long ago are discarded, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from penstock.deploy.lifecycle.deployment_cleanup import DeploymentCleanup
from penstock.deploy.runtime.steady_clock import SETTLED_SECONDS
from penstock.model.manifest import Manifest, Table
from penstock.model.settings import MaintenanceSettings, Settings
from penstock.state.database import Database, open_database
from penstock.state.deployments import Deployments
from penstock.state.schema import deployments as table
from unit.deploy.lifecycle.set_clock import SetClock

HOUR = timedelta(hours=1)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


def age(database: Database, number: int, by: timedelta) -> None:
    with database.write() as connection:
        changed = {"updated_at": datetime.now(timezone.utc) - by}
        connection.execute(sa.update(table).where(table.c.id == number).values(changed))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    return SetClock(monkeypatch)


def test_only_what_is_old_and_over_goes(database: Database, clock: SetClock) -> None:
    deployments, discarded = Deployments(database), list[str]()
    for _ in range(5):
        deployments.create("", None, {}, {}, Manifest(tables=(Table("t", ()),)))
    for number in (1, 2):
        deployments.move(number, "discarded", of=["planned"])
    for number in (3, 4):
        deployments.move(number, "failed", of=["planned"])
    deployments.mark_swept([1, 2])
    age(database, 1, 3 * HOUR)
    age(database, 3, 3 * HOUR)
    age(database, 5, 300 * HOUR)
    settings = Settings(maintenance=MaintenanceSettings(deployment_seconds=7_200))
    cleanup = DeploymentCleanup(deployments, settings, discarded.append, list)
    clock.wrong = timedelta(days=400)
    assert cleanup.run_once() == 0, "the server has only begun"
    clock.passed += SETTLED_SECONDS
    assert cleanup.run_once() == 1, "a clock that was set forward makes nothing older"
    assert discarded == ["3"]
    assert [each.id for each in deployments.list()] == [5, 4, 3, 2]
    assert cleanup.run_once() == 0


def test_hundreds_of_deployments_leave_one_record(database: Database, clock: SetClock) -> None:
    deployments = Deployments(database)
    for number in range(1, 302):
        deployments.create("", number - 1 or None, {"a": "b"}, {}, Manifest(), ["step"])
        deployments.move(number, "discarded", of=["planned"])
    deployments.mark_swept(range(1, 302))
    with database.write() as connection:
        connection.execute(sa.update(table).values(updated_at=datetime.now(timezone.utc) - 3 * HOUR))
    settings = Settings(maintenance=MaintenanceSettings(deployment_seconds=60))
    cleanup = DeploymentCleanup(deployments, settings, str, list)
    clock.passed += SETTLED_SECONDS
    assert cleanup.run_once() == 300
    with database.read() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM journal")).scalar_one() == 1


def test_a_discard_that_fails_delays_nothing_else(database: Database, clock: SetClock) -> None:
    deployments, tried = Deployments(database), list[str]()
    for number in range(1, 5):
        deployments.create("", None, {}, {}, Manifest())
        deployments.move(number, "failed" if number < 3 else "discarded", of=["planned"])
    deployments.mark_swept([3, 4])
    for number in range(1, 5):
        age(database, number, 3 * HOUR)

    def discard(id: str) -> None:
        tried.append(id)
        raise OSError("the catalog is away")

    settings = Settings(maintenance=MaintenanceSettings(deployment_seconds=7_200))
    cleanup = DeploymentCleanup(deployments, settings, discard, list)
    clock.passed += SETTLED_SECONDS
    assert cleanup.run_once() == 1
    assert sorted(tried) == ["1", "2"]
