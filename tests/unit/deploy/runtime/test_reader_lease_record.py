from __future__ import annotations

import time
from pathlib import Path

from penstock.deploy.runtime.active_readers import ActiveReaders
from penstock.deploy.runtime.reader_lease_record import ReaderLeaseRecord


def ignore(deployment: int) -> None: ...


def test_a_lease_keeps_its_deployment_and_its_table(tmp_path: Path) -> None:
    readers = ActiveReaders(ignore, ReaderLeaseRecord(tmp_path / "leases", 60))
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


def test_the_next_server_knows_that_there_were_leases(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    assert ActiveReaders(ignore, ReaderLeaseRecord(path, 60)).knows_leases
    ActiveReaders(ignore, ReaderLeaseRecord(path, 60)).lease(1, "hits__d1", 60)
    restarted = ActiveReaders(ignore, ReaderLeaseRecord(path, 60))
    assert (restarted.knows_leases, restarted.may_lease("hits__d1"), restarted.may_lease_any) == (False, True, True)


def test_leases_that_ended_and_damaged_records_hold_nothing(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    for text in ("", "x", str(time.time() - 1)):
        path.write_text(text)
        assert ActiveReaders(ignore, ReaderLeaseRecord(path, 60)).knows_leases


def test_a_clock_that_was_wrong_holds_nothing_for_longer_than_a_lease(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    path.write_text(str(time.time() + 1e9))
    assert ReaderLeaseRecord(path, 60).earlier <= time.monotonic() + 67


def test_it_is_written_ten_times_a_lease_at_most(tmp_path: Path) -> None:
    path = tmp_path / "leases"
    readers = ActiveReaders(ignore, ReaderLeaseRecord(path, 1000))
    readers.lease(1, "hits__d1", 1000)
    first = path.stat().st_ino
    readers.lease(1, "hits__d1", 1000)
    assert path.stat().st_ino == first
