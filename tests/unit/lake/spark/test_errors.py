"""Which errors mean that Spark's process has ended: those get 503, not the blame of the query."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from penstock.errors import InvalidQuery, PenstockError, TooLarge, Unavailable
from penstock.lake.read.query_execution import retry_query
from penstock.lake.spark.errors import has_spark_ended


def chained(cause: Exception) -> Exception:
    try:
        try:
            raise cause
        except Exception as error:
            raise ValueError("while it was read") from error
    except ValueError as error:
        return error


ENDED = (
    ConnectionRefusedError(111, "Connection refused"),
    ConnectionResetError(104, "Connection reset by peer"),
    EOFError(),
    Py4JNetworkError("Answer from Java side is empty"),
    Py4JError("Answer from Java side is empty"),
    RuntimeError("Job 7 cancelled because SparkContext was shut down"),
)


@pytest.mark.parametrize("error", [*ENDED, *map(chained, ENDED)], ids=repr)
def test_a_call_that_is_cut_off_can_be_tried_again(error: Exception) -> None:
    def ask() -> int:
        raise error

    with pytest.raises(Unavailable) as refused:
        retry_query(ask)
    assert (refused.value.status, refused.value.retry_after, refused.value.code) == (503, 10, "unavailable")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("division by zero"), InvalidQuery),
        (RuntimeError("Connection refused is a text here"), InvalidQuery),
        (RuntimeError("Job aborted: java.lang.OutOfMemoryError: Java heap space"), TooLarge),
    ],
)
def test_other_errors_are_the_querys(error: Exception, kind: type[PenstockError]) -> None:
    def ask() -> int:
        raise error

    assert not has_spark_ended(error)
    with pytest.raises(kind):
        retry_query(ask)


def test_a_jvm_that_ends_while_it_explains_an_error() -> None:
    class Unreadable(Exception):
        def __str__(self) -> str:
            raise ConnectionResetError(104, "Connection reset by peer")

    def ask() -> int:
        raise Unreadable

    with pytest.raises(Unavailable):
        retry_query(ask)
