"""The state store of a folder that the former release made is read under this one.

`tests/former_release/folder.tar.gz` is a project folder, made by commit 41dcb92 at /srv/former: two deployments, the
second promoted; a view whose state column was recomputed; six posted bodies; one token beside the admin's.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest

from penstock.state.batches import BatchLog
from penstock.state.crash_counts import CrashCounts
from penstock.state.database import Database, open_database
from penstock.state.deployments import Deployments
from penstock.state.jobs import Jobs
from penstock.state.journal import Journal
from penstock.state.lease import Lease
from penstock.state.live_pointer import LivePointer
from penstock.state.made_tables import MadeTables
from penstock.state.tokens import ApiTokens

FOLDER = Path(__file__).parents[2] / "former_release" / "folder.tar.gz"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The folder of the former release, at another place."""
    with tarfile.open(FOLDER) as folder:
        folder.extractall(tmp_path, filter="data")
    return tmp_path / ".penstock"


@pytest.fixture
def database(home: Path) -> Iterator[Database]:
    opened = open_database(f"sqlite:///{home / 'state.db'}")
    yield opened
    opened.close()


def test_deployments_plans_and_journals_are_read(database: Database) -> None:
    first, second = (Deployments(database).get(number) for number in (1, 2))
    assert (first.state, second.state, second.base) == ("previous", "live", 1)
    assert LivePointer(database).read().live == 2
    assert {table.id for table in second.manifest.tables} >= {"events__d1", "totals__d2"}
    assert {flow.table for flow in second.manifest.flows} >= {"events__d1", "totals__d2"}
    assert second.plan["resources"]
    assert "kind" in second.files["datasources/events.datasource"]
    marks = {entry.mark for each in (1, 2) for entry in Journal(database).entries(each)}
    assert marks == {"done"}


def test_the_batch_log_and_the_rows_of_its_segments_are_read(database: Database, home: Path) -> None:
    log = BatchLog(database)
    batches = log.read_after("events__d1", 0, 1_000, 10**9) or log.read_after("events", 0, 1_000, 10**9)
    assert len(batches) == 6
    assert all((home / "inbox" / each.segment).stat().st_size == each.bytes for each in batches)


def test_tokens_stay_valid_and_nobody_has_the_lease(database: Database, home: Path) -> None:
    tokens = ApiTokens(database)
    admin = tokens.find((home / "admin_token").read_text().strip())
    assert admin is not None
    assert admin.scopes == ("admin",)
    assert [each.scopes for each in tokens.list() if each.name == "tracker"] == [("append:events", "declared")]
    assert Lease(database).read().is_free
    assert [each.id for each in MadeTables(database).all()] != []
    assert Jobs(database).open_jobs() == ()
    assert dict(CrashCounts(database).deaths) == {}


def test_what_is_added_is_written_as_ever(database: Database) -> None:
    log = BatchLog(database)
    (stream,) = log.heads()
    added = log.append(stream, f"{stream}/new.ndjson", 1, 10, datetime.now(timezone.utc))
    assert added.number == 7
