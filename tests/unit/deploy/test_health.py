"""What is wrong is said in words that name no table and no machine, and what stops posts or queries is told apart."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

from penstock.deploy.failing_flows import FailingFlow
from penstock.deploy.health import (
    DiskSpace,
    FlowHealth,
    HealthCheck,
    _disk_check,
    _flows_check,
    _lag_check,
    _landing_check,
    _reached,
    local_folder,
    read_disks,
)
from penstock.deploy.runtime.background_reading import Reading

FAILING = FailingFlow("t__d1", "p.n", "t", (1,), True, "no number", 3, datetime(2026, 1, 1, tzinfo=timezone.utc), "")
FINE = FlowHealth(0.5, (), 0, 0)


def flows(value: FlowHealth) -> Reading[FlowHealth]:
    return Reading(value, 0.1, None)


@pytest.mark.parametrize(
    ("check", "reason", "stops"),
    [
        (_reached("store", "the state store", Reading(True, 0.1, None)), None, False),
        (
            _reached("store", "the state store", Reading(True, 12.2, "at 10.0.0.1: refused")),
            "the state store has not answered for 12 s",
            True,
        ),
        (_disk_check(Reading((DiskSpace("inbox", 2**20, 9),), 0.1, None), 2**20), None, False),
        (
            _disk_check(Reading((DiskSpace("inbox", 2**20 - 1, 9),), 0.1, None), 2**20),
            "less than 1 MiB are free for posted rows",
            True,
        ),
        (_disk_check(Reading((DiskSpace("warehouse", 0, 9),), 0.1, None), 2**20), None, False),
        (_disk_check(Reading(None, 9, "FileNotFoundError: inbox"), 1), "a disk does not answer", True),
        (_landing_check(flows(FINE)), None, False),
        (
            _landing_check(flows(FlowHealth(0, (), 2, 0))),
            "2 landings of live fail; posted rows are kept and wait",
            False,
        ),
        (_landing_check(flows(FlowHealth(0, (), 0, 1))), "1 data source takes no rows: too much waits", True),
        (_lag_check(flows(FINE), 30), None, False),
        (_lag_check(flows(FlowHealth(45.4, (), 0, 0)), 30), "rows of live have waited for 45 s", False),
        (_flows_check(flows(FlowHealth(0, (FAILING,), 0, 0))), "1 flow fails; `penstock status` names them", False),
        (_flows_check(flows(FINE)), None, False),
    ],
)
def test_checks(check: HealthCheck, reason: str | None, stops: bool) -> None:
    assert (check.reason, check.stops, check.ok) == (reason, stops, reason is None)


def test_a_warehouse_elsewhere_has_no_disk() -> None:
    assert local_folder("s3a://bucket/warehouse") is None
    assert local_folder("file:///data/ware%20house") == Path("/data/ware house")
    assert local_folder("/data") == Path("/data")


def test_disks(tmp_path: Path) -> None:
    found = read_disks({"inbox": tmp_path, "warehouse": tmp_path / "missing"})
    assert [each.folder for each in found] == ["inbox"]
    assert 0 < found[0].free_bytes <= found[0].total_bytes
    with pytest.raises(OSError, match="missing"):
        read_disks({"inbox": tmp_path / "missing"})
