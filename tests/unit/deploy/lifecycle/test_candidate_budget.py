"""A candidate over a limit fails, with the reason; live and what it runs too never do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.deploy.lifecycle import candidate_budget as module
from penstock.deploy.lifecycle.candidate_budget import CandidateBudget, CandidateUsage, exceeded_limit
from penstock.lake.tables.snapshots import Progress, Snapshot, Snapshots
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Landing, Manifest
from penstock.model.settings import DeploySettings, MaintenanceSettings, Settings
from penstock.state.batches import BatchLog
from penstock.state.database import Database, open_database

NOW = datetime.now(timezone.utc)
LIMITS = DeploySettings(candidate_inbox_bytes=1_000, candidate_snapshots=100, candidate_stalled_hours=5)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("usage", "words"),
    [
        (CandidateUsage(1_000, 100, 5 * 3600.0), None),
        (CandidateUsage(inbox_bytes=1_001), "1,001 bytes of raw rows"),
        (CandidateUsage(snapshots=101), "101 snapshots"),
        (CandidateUsage(stalled_seconds=7 * 3600.0), "stood still while rows waited for 7 hours"),
    ],
)
def test_the_limits(usage: CandidateUsage, words: str | None) -> None:
    found = exceeded_limit(usage, LIMITS)
    assert found is None if words is None else found is not None and words in found


class Pipeline:
    """A live and a staging version of one stream, each with a table of its own."""

    def __init__(self, database: Database, landed: dict[str, int], inbox_seconds: int = 3_600):
        self.landed = landed
        self.moved: list[tuple[int, str, dict[str, object]]] = []
        landings = [Landing("s", table, table, ()) for table in ("s__d1", "s__d2")]
        live, staging = (
            Deployment(id, "", state, None, NOW, NOW, {}, {}, Manifest(flows=(landing,)), paused=id == 2)
            for id, state, landing in ((1, "live", landings[0]), (2, "ready", landings[1]))
        )
        registry = SimpleNamespace(cursor=self._cursor, readable=self._readable)
        board = SimpleNamespace(
            live=lambda: live, running=SimpleNamespace(deployments=(live, staging)), refresh=lambda: None
        )
        deployments = SimpleNamespace(move=lambda id, to, of, error: self.moved.append((id, to, error)))
        batches = BatchLog(database)
        for number in range(4):
            batches.append("s", f"s/{number}", 1, 400, NOW - timedelta(hours=9 - number))
        core = SimpleNamespace(
            board=board,
            settings=Settings(deploy=LIMITS, maintenance=MaintenanceSettings(inbox_seconds=inbox_seconds)),
            store=SimpleNamespace(deployments=deployments),
            warehouse=SimpleNamespace(registry=registry),
            flows=SimpleNamespace(arrivals=SimpleNamespace(heads={"s": 4})),
        )
        self.staging = staging
        self.budget = CandidateBudget(core, batches)  # type: ignore[arg-type]

    def _cursor(self, table: str, flow: str) -> BatchCursor:
        return BatchCursor(self.landed[table])

    def _readable(self, table: str) -> Snapshots:
        progress = {"landing.s": Progress(BatchCursor(self.landed[table]), {"s": self.landed[table]})}
        return Snapshots((Snapshot(1, True, 1, progress),))


def test_raw_rows_that_only_the_candidate_needs(database: Database) -> None:
    made = Pipeline(database, {"s__d1": 3, "s__d2": 1})
    assert made.budget.usage(made.staging).inbox_bytes == 800
    made.budget.run_once()
    assert made.moved == []
    made.landed = {"s__d1": 4, "s__d2": 1}
    made.budget.run_once()
    [(id, to, error)] = made.moved
    assert (id, to) == (2, "failed")
    assert "1,200 bytes of raw rows" in str(error["error"])


@pytest.mark.parametrize(("inbox_seconds", "size"), [(86_400, 0), (7 * 3_600 + 1_800, 800)])
def test_raw_rows_that_are_kept_in_any_case_are_not_for_the_candidate(
    database: Database, inbox_seconds: int, size: int
) -> None:
    """One that waits for its history has landed nothing: it must not fail for what a busy stream keeps of a day."""
    made = Pipeline(database, {"s__d1": 4, "s__d2": 0}, inbox_seconds)
    assert made.budget.usage(made.staging).inbox_bytes == size
    made.budget.run_once()
    assert made.moved == []


def test_a_candidate_that_stands_still(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    made = Pipeline(database, {"s__d1": 4, "s__d2": 2})
    made.budget.run_once()
    now[0] += 3_700
    made.landed["s__d2"] = 3  # it moves
    made.budget.run_once()
    assert made.moved == []
    now[0] += 3_700
    made.budget.run_once()
    assert [(id, to) for id, to, _ in made.moved] == [(2, "failed")]
    made.moved.clear()
    made.landed["s__d2"] = 4  # nothing waits for it
    now[0] += 3_700
    made.budget.run_once()
    now[0] += 3_700
    made.budget.run_once()
    assert made.moved == []
