from __future__ import annotations

from penstock.state.database import Database
from penstock.state.operations import Operation, OperationsLog


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
