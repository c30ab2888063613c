from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.errors import Fenced
from penstock.state.batches import BatchLog
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease, LeaseRecord
from penstock.state.tokens import ApiTokens


@pytest.fixture
def other(database: Database) -> Iterator[Database]:
    """A second server's view of the same store."""
    opened = open_database(database.url)
    yield opened
    opened.close()


def test_the_first_server_takes_a_free_lease(database: Database) -> None:
    lease = Lease(database)
    assert lease.read() == LeaseRecord(0, 0, {})
    assert lease.take(lease.read(), {"host": "a"}) == 1
    lease.heartbeat()
    assert lease.read() == LeaseRecord(1, 2, {"host": "a"})


def test_after_a_takeover_the_first_server_writes_nothing(database: Database, other: Database) -> None:
    first, second = Lease(database), Lease(other)
    first.take(first.read(), {"host": "a"})
    assert second.take(second.read(), {"host": "b"}) == 2
    with pytest.raises(Fenced):
        first.heartbeat()
    with pytest.raises(Fenced):
        ApiTokens(database).create("t", ("read",))
    with pytest.raises(Fenced):
        first.release()
    assert ApiTokens(other).list() == ()
    assert second.read() == LeaseRecord(2, 1, {"host": "b"})


def test_a_beat_between_look_and_take_keeps_the_lease(database: Database, other: Database) -> None:
    first, second = Lease(database), Lease(other)
    first.take(first.read(), {})
    seen = second.read()
    first.heartbeat()
    with pytest.raises(Fenced):
        second.take(seen, {})
    first.heartbeat()


def test_of_two_that_wait_one_gets_it(database: Database, other: Database) -> None:
    first, second = Lease(database), Lease(other)
    seen = first.read()
    first.take(seen, {})
    with pytest.raises(Fenced):
        second.take(seen, {})
    assert BatchLog(database).heads() == {}


def test_a_lease_that_was_let_go_is_free(database: Database, other: Database) -> None:
    first, second = Lease(database), Lease(other)
    first.take(first.read(), {})
    assert not second.read().is_free
    first.release()
    assert second.read().is_free
    assert second.take(second.read(), {}) == 2
