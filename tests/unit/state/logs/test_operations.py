from __future__ import annotations

import pytest
import sqlalchemy as sa

from penstock.errors import Unavailable
from penstock.state.database import Database
from penstock.state.logs import operations as module
from penstock.state.logs.operations import Operation, OperationsLog


def test_the_newest_come_back_first_and_equal(database: Database) -> None:
    operations = OperationsLog(database)
    logged = [Operation("append", "flights", 1, written_rows=number, elapsed_time=0.25) for number in range(3)]
    for operation in logged:
        operations.log(operation)
    assert operations.recent(2) == (logged[2], logged[1])


def test_a_failure_keeps_its_error(database: Database) -> None:
    operations = OperationsLog(database)
    failed = Operation("append", "flights", result="error", error="disk full")
    operations.log(failed)
    assert operations.recent(10) == (failed,)


def test_an_error_that_quotes_any_row_is_kept(database: Database) -> None:
    operations = OperationsLog(database)
    operations.log(Operation("append", "flights", result="error", error="a\0b é"))
    assert operations.recent(1)[0].error == "a\N{REPLACEMENT CHARACTER}b é"


def stored(database: Database) -> int:
    with database.read() as connection:
        return int(connection.execute(sa.text("SELECT count(*) FROM operations")).scalar_one())


def test_entries_are_written_together(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: clock[0])
    operations = OperationsLog(database)
    for _ in range(100):
        operations.log(Operation("append", "flights"))
    assert stored(database) == 1, "the first one is written at once"
    clock[0] = 1.0
    operations.log(Operation("append", "flights"))
    assert stored(database) == 101
    operations.log(Operation("append", "flights"))
    operations.flush()
    assert stored(database) == 102


def test_a_store_that_is_away_fails_nobody_and_gets_the_entries_later(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = OperationsLog(database)
    with monkeypatch.context() as away:
        away.setattr(module, "MOST_WAITING", 3)

        def refuse() -> None:
            raise Unavailable("the store is away")

        away.setattr(database, "write", refuse)
        for number in range(5):
            operations.log(Operation("append", "flights", written_rows=number))
            operations.flush()
    assert [each.written_rows for each in operations.recent(10)] == [4, 3, 2]
