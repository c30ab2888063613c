"""A deletion with a rebuild goes on after a crash at any point: rows go once, and one deployment rebuilds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock import crash_points
from penstock.deploy.ingest.event_ingestion import Receipt
from penstock.deploy.ingest.row_rebuilds import MOST_ATTEMPTS, RebuildContext, RowRebuilds
from penstock.errors import Conflict, Failed, InvalidProject, Timeout
from penstock.state.batch_keys import ReusedKey
from penstock.state.database import open_database
from penstock.state.jobs import Job, Jobs


@dataclass
class Parts:
    """What deletes, waits and deploys; it has no memory of who asked but the keys and times."""

    removed: dict[str, str] = field(default_factory=dict)
    made: list[SimpleNamespace] = field(default_factory=list)
    error: Exception | None = None
    is_late: bool = False

    def delete(self, name: str, where: str, key: str) -> Receipt:
        if self.error is not None:
            raise self.error
        self.removed[key] = where
        return Receipt(name, 1, 0, 0)

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        if self.is_late:
            raise Timeout("the rows are kept but not queryable yet")
        return receipt

    def rebuild_once(self, name: str, since: datetime, *, promote: bool) -> SimpleNamespace:
        assert self.removed, "the rows go first"
        for each in self.made:
            if each.created_at >= since:
                return each
        self.made.append(SimpleNamespace(id=len(self.made) + 7, created_at=datetime.now(timezone.utc), promote=promote))
        return self.made[-1]

    def in_state(self, *states: str) -> list[SimpleNamespace]:
        return self.made


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield Jobs(database)
    database.close()


def rebuilds(jobs: Jobs, parts: Parts) -> RowRebuilds:
    return RowRebuilds(RebuildContext(jobs, parts, parts, parts, parts))  # type: ignore[arg-type]


def ask(jobs: Jobs, parts: Parts, key: str = "k") -> Job:
    return rebuilds(jobs, parts).create("hits", "id = 4711", key, promote=False)


@pytest.mark.parametrize("point", ["rebuild.deleted", "rebuild.begun", "state.before", "state.after"])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_it_goes_on_after_a_crash(jobs: Jobs, point: str, at: int) -> None:
    parts = Parts()
    job = ask(jobs, parts)
    crash_points.arm(point, at, lambda: None)
    with suppress(crash_points.Crashed):
        rebuilds(jobs, parts).run_once()
    crash_points.disarm()
    rebuilds(jobs, parts).run_once()
    done = jobs.get(job.id)
    assert (done.state, done.deployment, len(parts.made)) == ("done", 7, 1)
    assert parts.removed == {"k": "id = 4711"}
    assert set(done.parameters) == {"key", "digest", "promote"}, "whose rows they were is not kept"


def test_the_same_key_is_one_job(jobs: Jobs) -> None:
    parts = Parts()
    first = ask(jobs, parts)
    assert ask(jobs, parts).id == first.id
    with pytest.raises(ReusedKey):
        rebuilds(jobs, parts).create("hits", "id = 4712", "k", promote=False)
    assert ask(jobs, parts, "other").id != first.id
    rebuilds(jobs, parts).run_once()
    assert ask(jobs, parts).id == first.id
    assert [each.promote for each in parts.made] == [False, False], "the second began after its own rows were gone"


def test_it_waits_for_versions_that_are_filled_and_for_rows_to_go(jobs: Jobs) -> None:
    parts = Parts(error=Conflict("deployment 3 is being filled"))
    job = ask(jobs, parts)
    for _ in range(MOST_ATTEMPTS + 1):
        rebuilds(jobs, parts).run_once()
    waiting = jobs.get(job.id)
    told = waiting.error or {}
    assert (waiting.state, told["error"], told["attempts"]) == ("reading", "deployment 3 is being filled", 1)
    parts.error, parts.is_late = None, True
    rebuilds(jobs, parts).run_once()
    assert parts.made == []
    parts.is_late = False
    rebuilds(jobs, parts).run_once()
    assert (jobs.get(job.id).state, jobs.get(job.id).error) == ("done", None)


def test_one_that_cannot_be_carried_out_fails_and_says_why(jobs: Jobs) -> None:
    parts = Parts(error=InvalidProject("no such column"))
    job, runs = ask(jobs, parts), rebuilds(jobs, parts)
    runs.run_once()
    with pytest.raises(Failed, match="no such column"):
        runs.wait(job, 0.0)
    assert runs.find_under_way("hits") is None


def test_one_that_is_under_way_is_found_until_its_deployment_is_live(jobs: Jobs) -> None:
    parts = Parts()
    job, runs = ask(jobs, parts), rebuilds(jobs, parts)
    assert runs.find_under_way("others") is None
    for _ in range(2):
        found = runs.find_under_way("hits")
        assert found is not None
        assert found.id == job.id
        runs.run_once()
    parts.made.clear()
    assert runs.find_under_way("hits") is None
