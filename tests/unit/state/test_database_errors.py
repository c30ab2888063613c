from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError

from penstock.errors import Failed, StorageFull, Unavailable
from penstock.state import database
from penstock.state.database import Database, open_database, translate_error
from penstock.state.schema import pointer, tokens
from postgres_server import Postgres


def test_a_statement_that_makes_no_sense_is_a_failure_that_quotes_nothing(database: Database) -> None:
    with pytest.raises(Failed) as raised, database.read() as connection:
        connection.execute(sa.text("SELECT x FROM nowhere WHERE x = :secret"), {"secret": "s3cret"})
    assert "nowhere" in str(raised.value)
    assert "s3cret" not in str(raised.value)


def test_a_broken_constraint_passes_as_it_is(database: Database) -> None:
    with pytest.raises(IntegrityError), database.write() as connection:
        connection.execute(sa.insert(pointer).values(id=1, version=1))


def test_a_full_disk_of_sqlite(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path / 'state.db'}")
    with database.read() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
    values = {"name": "x" * 100_000, "digest": "d", "scopes": [], "created_at": sa.func.now()}

    def write() -> None:
        with database.write() as connection:
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
            connection.execute(sa.insert(tokens).values(values))

    with pytest.raises(StorageFull):
        write()
    database.close()


@pytest.mark.parametrize(
    ("state", "kind"),
    [
        ("53100", StorageFull),
        ("53200", Unavailable),
        ("57P01", Unavailable),
        ("40P01", Unavailable),
        ("55P03", Unavailable),
        ("08006", Unavailable),
        ("42501", Failed),
        ("22001", Failed),
    ],
)
def test_what_postgres_says(postgres: Postgres, state: str, kind: type[Exception]) -> None:
    """As a real server raises it, with whatever exception the driver makes of that SQLSTATE."""
    database = open_database(postgres.store())
    raising = f"DO $$ BEGIN RAISE EXCEPTION 'said so' USING ERRCODE = '{state}', DETAIL = 's3cret'; END $$"
    with pytest.raises(kind, match="said so") as raised, database.write() as connection:
        connection.exec_driver_sql(raising)
    assert "s3cret" not in str(raised.value)
    database.close()


def test_a_deadlock_is_told_to_one_of_the_two(postgres: Postgres) -> None:
    database = open_database(postgres.store())
    both, raised = threading.Barrier(2), list[Exception]()

    def run(first: int, second: int) -> None:
        try:
            with database.write() as connection:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(first)))
                both.wait()
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(second)))
        except Exception as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=pair) for pair in ((1, 2), (2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [type(each) for each in raised] == [Unavailable]
    database.close()


def test_who_stands_still_in_a_transaction_loses_it(postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server stopped in the middle of a write keeps nobody from taking over."""
    settings = database.POSTGRES_SETTINGS | {"idle_in_transaction_session_timeout": "300"}
    monkeypatch.setattr(database, "POSTGRES_SETTINGS", settings)
    url = postgres.store()
    still, other = open_database(url), open_database(url)

    def stand() -> None:
        with still.write() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(1)))
            with other.write() as waiting:
                waiting.execute(sa.select(sa.func.pg_advisory_xact_lock(1)))
            connection.execute(sa.select(sa.func.now()))

    with pytest.raises(Unavailable):
        stand()
    for each in (still, other):
        each.close()


@pytest.mark.parametrize("said", ["database is locked", "database table is locked: tokens"])
def test_a_busy_sqlite_is_asked_again_later(said: str) -> None:
    error = DBAPIError.instance("SELECT 1", None, sqlite3.OperationalError(said), sqlite3.Error)
    assert isinstance(error, DBAPIError)
    assert isinstance(translate_error(error), Unavailable)
