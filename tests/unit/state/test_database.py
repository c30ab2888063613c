from __future__ import annotations

import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from penstock.errors import Failed
from penstock.state.database import Database, open_database
from penstock.state.schema import METADATA, tokens


def test_migrations_build_what_the_schema_says(database: Database) -> None:
    with database.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, METADATA) == []


def test_opening_again_changes_nothing(store_url: str) -> None:
    open_database(store_url).close()
    second = open_database(store_url)
    with second.read() as connection:
        assert connection.execute(sa.text("select count(*) from alembic_version")).scalar_one() == 1
    second.close()


def test_it_opens_while_somebody_is_in_the_middle_of_a_write(database: Database, store_url: str) -> None:
    opened = threading.Event()
    with database.write():
        thread = threading.Thread(target=lambda: (open_database(store_url).close(), opened.set()))
        thread.start()
        assert opened.wait(10)
    thread.join()


def test_what_is_written_is_durable_and_readers_go_on(database: Database) -> None:
    with database.read() as connection:
        if connection.dialect.name == "sqlite":
            asked = {"PRAGMA journal_mode": "wal", "PRAGMA synchronous": 2}
        else:
            asked = {"SHOW synchronous_commit": "on", "SHOW transaction_isolation": "read committed"}
        assert {query: connection.exec_driver_sql(query).scalar() for query in asked} == asked


def test_a_write_that_raises_leaves_nothing(database: Database) -> None:
    values = {"name": "a", "digest": "d", "scopes": [], "created_at": None}

    def fail() -> None:
        with database.write() as connection:
            connection.execute(sa.insert(tokens).values(values | {"created_at": sa.func.now()}))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.read() as connection:
        assert connection.execute(sa.select(tokens)).all() == []


def test_a_read_does_not_wait_for_a_writer(database: Database) -> None:
    seen = threading.Event()

    def read() -> None:
        with database.read() as connection:
            connection.execute(sa.select(tokens)).all()
        seen.set()

    with database.write() as connection:
        connection.execute(sa.delete(tokens))
        thread = threading.Thread(target=read)
        thread.start()
        assert seen.wait(5)
    thread.join()


def test_many_openers_at_once_migrate_once(store_url: str) -> None:
    failures: list[Exception] = []

    def open_and_close() -> None:
        try:
            open_database(store_url).close()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=open_and_close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_place_that_cannot_be_opened_is_said(tmp_path: Path) -> None:
    with pytest.raises(Failed, match="cannot be opened"):
        open_database(f"sqlite:///{tmp_path / 'no' / 'state.db'}")
