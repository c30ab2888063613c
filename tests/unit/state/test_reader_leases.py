from __future__ import annotations

import pytest

from penstock.errors import Fenced
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease
from penstock.state.reader_leases import LeaseEnd, ReaderLeases


def test_a_store_without_leases(database: Database) -> None:
    assert ReaderLeases(database).read() is None


def test_the_lease_that_ends_last_is_kept(database: Database) -> None:
    leases = ReaderLeases(database)
    for end in (LeaseEnd(1_060.5, 60.0), LeaseEnd(4_600.0, 3_600.0), LeaseEnd(1_070.0, 60.0)):
        leases.note(end)
    assert ReaderLeases(database).read() == LeaseEnd(4_600.0, 3_600.0)


def test_a_lease_that_begins_in_the_future_is_forgotten(database: Database) -> None:
    leases = ReaderLeases(database)
    leases.note(LeaseEnd(9_000_000.0, 60.0))
    leases.note(LeaseEnd(1_060.0, 60.0))
    assert leases.read() == LeaseEnd(1_060.0, 60.0)


def test_a_server_that_was_replaced_gives_no_lease(database: Database, store_url: str) -> None:
    Lease(database).take(Lease(database).read(), {})
    other = open_database(store_url)
    Lease(other).take(Lease(other).read(), {})
    with pytest.raises(Fenced):
        ReaderLeases(database).note(LeaseEnd(1_060.0, 60.0))
    assert ReaderLeases(other).read() is None
    other.close()
