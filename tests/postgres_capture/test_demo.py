"""The walk of `make demo-postgres` without Penstock, so that it needs no JVM: three releases of an application while
its rows go over NATS into ClickHouse, with kills between them."""

from __future__ import annotations

import io
import shutil
from pathlib import Path

import pytest
from rich.console import Console
from scripts.postgres_programs import HOW, programs

from nats_server import nats_or_skip
from penstock.demo.issue_tracker.comparison_queries import compare_stores
from penstock.demo.issue_tracker.opened_stage import StageOptions, open_stage
from penstock.demo.issue_tracker.scenario import STEPS
from penstock.demo.issue_tracker.stage import TABLES


def test_a_store_follows_through_three_releases(tmp_path: Path) -> None:
    nats_or_skip(tmp_path).kill()
    found = programs()
    if found is None:
        pytest.skip(HOW)
    said = io.StringIO()
    with open_stage(Console(file=said), StageOptions(tmp_path / "demo", found, 20, has_penstock=False)) as stage:
        for step in STEPS:
            step(stage)
        compared = [*compare_stores(stage)]
    assert [each.table for each in compared] == [*TABLES, "issue_titles"]
    assert [each for each in compared if not each.is_equal] == [], said.getvalue()
    assert all(each.expected > 0 for each in compared)
    assert said.getvalue().count("migrations apply --phase at_lsn") == 3
    shutil.rmtree(tmp_path / "demo")
