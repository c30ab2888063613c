"""What a new version waits for: its own histories and rows, and not for a flow of live that keeps failing."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from penstock.deploy.lifecycle.executor import ATTEMPTS, _is_caught_up, _is_worth_trying
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.model.cursor import Cursor, HistoryCursor, TailCursor
from penstock.model.manifest import Binding, Landing, Manifest, Source, Table, View

LANDING = Landing("s", "s__d1", "v", ())


def view(table: str, source: str) -> View:
    return View(f"to.{table}", "to", table, table, "SELECT 1", Source("t", Binding(source, source, ())), ())


STUCK = view("stuck__d1", "s__d1")
LIVE = Manifest(flows=(LANDING, STUCK))
OWN = view("own__d2", "stuck__d1")
BESIDE = view("beside__d2", "s__d1")


@pytest.mark.parametrize(
    ("own", "cursor", "failing", "caught_up"),
    [
        (OWN, TailCursor(1), True, True),
        (OWN, TailCursor(1), False, False),
        (OWN, HistoryCursor(1, 7), True, False),
        (BESIDE, TailCursor(1), True, False),
    ],
)
def test_a_failing_flow_of_live_is_not_waited_for(own: View, cursor: Cursor, failing: bool, caught_up: bool) -> None:
    tables = tuple(Table(id, ()) for id in ("s__d1", "stuck__d1", own.table))
    progress = {
        "s__d1": Progress(BatchCursor(9), {"s": 9}),
        "stuck__d1": Progress(TailCursor(1), {"s": 3}),
        own.table: Progress(cursor, {"s": 3}),
    }
    registry = SimpleNamespace(
        readable=lambda table: SimpleNamespace(progress=SimpleNamespace(get=lambda flow: progress[table])),
        cursor=lambda table, flow: progress[table].cursor,
    )
    failed = {("stuck__d1", STUCK.id)} if failing else set()
    core = SimpleNamespace(
        warehouse=SimpleNamespace(registry=registry),
        board=SimpleNamespace(live=lambda: SimpleNamespace(manifest=LIVE)),
        flows=SimpleNamespace(failing=lambda attempts: frozenset(failed) if attempts == ATTEMPTS else frozenset()),
    )
    manifest = Manifest(tables=tables, flows=(LANDING, STUCK, own))
    assert _is_caught_up(core, manifest, {"s": 9}) is caught_up  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("failing", "attempts", "lag", "worth"),
    [
        (OWN, 0, 1.0, True),
        (OWN, 1, 1.0, False),
        (OWN, ATTEMPTS, 1.0, True),
        (STUCK, 1, 1.0, True),
        (OWN, 0, 31.0, False),
    ],
)
def test_a_promotion_waits_for_the_next_attempt_of_its_own_flow(
    failing: View, attempts: int, lag: float, worth: bool
) -> None:
    """One that has failed ATTEMPTS times is not waited for: the promotion is refused, and says why."""
    key = (failing.table, failing.id)
    core = SimpleNamespace(
        board=SimpleNamespace(live=lambda: SimpleNamespace(manifest=LIVE)),
        settings=SimpleNamespace(deploy=SimpleNamespace(max_lag_seconds=30)),
        flows=SimpleNamespace(
            failing=lambda least: frozenset({key} if attempts >= least else ()), lag=lambda manifest: lag
        ),
    )
    assert _is_worth_trying(core, Manifest(flows=(LANDING, STUCK, OWN))) is worth  # type: ignore[arg-type]
