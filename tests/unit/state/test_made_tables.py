from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.errors import Fenced
from penstock.state.database import Database, open_database
from penstock.state.lease import Lease
from penstock.state.made_tables import MadeColumn, MadeTable, MadeTables

FLIGHTS = MadeTable("flights__d1", "0b6c", (MadeColumn("id", "long", 1), MadeColumn("_seq", "long", 2)), 3, 7)
AIRPORTS = MadeTable("airports__d1", "ff01", (MadeColumn("code", "string", 1),))


def test_records_read_back_equal_in_another_process(database: Database) -> None:
    MadeTables(database).keep([FLIGHTS, AIRPORTS])
    other = open_database(database.url)
    assert MadeTables(other).all() == (AIRPORTS, FLIGHTS)
    other.close()


def test_a_table_has_one_record_the_last(database: Database) -> None:
    store = MadeTables(database)
    store.keep([FLIGHTS, AIRPORTS])
    changed = replace(FLIGHTS, columns=FLIGHTS.columns[:1], newest=9)
    store.keep([changed])
    assert store.all() == (AIRPORTS, changed)


def test_forgetting_leaves_the_others(database: Database) -> None:
    store = MadeTables(database)
    store.keep([FLIGHTS, AIRPORTS])
    store.forget("flights__d1")
    store.forget("never__d1")
    assert store.all() == (AIRPORTS,)


def test_nothing_to_keep_is_no_write(database: Database) -> None:
    lease = Lease(database)
    lease.take(lease.read(), {})
    other = open_database(database.url)
    taken = Lease(other)
    taken.take(taken.read(), {})
    MadeTables(database).keep([])
    with pytest.raises(Fenced):
        MadeTables(database).keep([FLIGHTS])
    assert MadeTables(other).all() == ()
    other.close()
