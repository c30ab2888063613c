from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.deploy.runtime.active_readers import ActiveReaders
from penstock.deploy.runtime.reader_lease_record import ReaderLeaseRecord
from penstock.state.database import open_database
from penstock.state.reader_leases import LeaseEnd, ReaderLeases


def ignore(deployment: int) -> None: ...


@pytest.fixture
def stored(tmp_path: Path) -> Iterator[ReaderLeases]:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    yield ReaderLeases(database)
    database.close()


def test_a_lease_keeps_its_deployment_and_its_table(stored: ReaderLeases) -> None:
    readers = ActiveReaders(ignore, ReaderLeaseRecord(stored, 60))
    readers.lease(1, "hits__d1", 60)
    assert (readers.read, readers.leases("hits__d1"), readers.leases("other")) == ({1}, True, False)
    assert readers.may_lease_any


def test_a_lease_ends_by_itself() -> None:
    readers = ActiveReaders(ignore)
    readers.lease(1, "hits__d1", 0)
    assert (readers.read, readers.leases("hits__d1"), readers.may_lease_any) == (frozenset(), False, False)


def test_a_later_lease_does_not_shorten_an_earlier_one() -> None:
    readers = ActiveReaders(ignore)
    readers.lease(1, "hits__d1", 60)
    readers.lease(1, "hits__d1", 0)
    assert readers.read == {1}


def test_the_next_server_knows_that_there_were_leases(stored: ReaderLeases) -> None:
    assert ActiveReaders(ignore, ReaderLeaseRecord(stored, 60)).knows_leases
    ActiveReaders(ignore, ReaderLeaseRecord(stored, 60)).lease(1, "hits__d1", 60)
    restarted = ActiveReaders(ignore, ReaderLeaseRecord(stored, 60))
    assert (restarted.knows_leases, restarted.may_lease("hits__d1"), restarted.may_lease_any) == (False, True, True)


def test_a_shorter_setting_does_not_shorten_what_was_promised(stored: ReaderLeases) -> None:
    ActiveReaders(ignore, ReaderLeaseRecord(stored, 3_600)).lease(1, "hits__d1", 3_600)
    assert ReaderLeaseRecord(stored, 1).earlier > time.monotonic() + 3_500


def test_leases_that_ended_hold_nothing(stored: ReaderLeases) -> None:
    stored.note(LeaseEnd(time.time() - 1, 60.0))
    assert ActiveReaders(ignore, ReaderLeaseRecord(stored, 60)).knows_leases


def test_a_clock_that_was_wrong_holds_nothing_for_longer_than_a_lease(stored: ReaderLeases) -> None:
    stored.note(LeaseEnd(time.time() + 1e9, 60.0))
    assert ReaderLeaseRecord(stored, 60).earlier <= time.monotonic() + 60


def test_it_is_written_ten_times_a_lease_at_most(stored: ReaderLeases) -> None:
    readers = ActiveReaders(ignore, ReaderLeaseRecord(stored, 1000))
    readers.lease(1, "hits__d1", 1000)
    first = stored.read()
    readers.lease(1, "hits__d1", 1000)
    assert stored.read() == first
