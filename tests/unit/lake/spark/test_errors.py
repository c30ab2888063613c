"""Which errors mean that Spark's process has ended: those get 503, not the blame of the query."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from penstock.errors import InvalidQuery, PenstockError, TooLarge, Unavailable
from penstock.lake.read.query_execution import retry_query
from penstock.lake.spark.errors import explain_error, has_spark_ended, is_out_of_memory


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
    Py4JError("An error occurred while calling o24.setJobGroup"),
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
        (
            Py4JError("An error occurred while calling o24.f. Trace:\npy4j.Py4JException: no such method\n"),
            InvalidQuery,
        ),
        (RuntimeError("Job aborted: java.lang.OutOfMemoryError: Java heap space"), TooLarge),
    ],
)
def test_other_errors_are_the_querys(error: Exception, kind: type[PenstockError]) -> None:
    def ask() -> int:
        raise error

    assert not has_spark_ended(error)
    with pytest.raises(kind):
        retry_query(ask)


@pytest.mark.parametrize("kind", [Exception, Py4JError])
def test_a_jvm_that_ends_while_it_explains_an_error(kind: type[Exception]) -> None:
    class Unreadable(kind):  # type: ignore[misc,valid-type]
        def __str__(self) -> str:
            raise ConnectionResetError(104, "Connection reset by peer")

    def ask() -> int:
        raise Unreadable

    with pytest.raises(Unavailable):
        retry_query(ask)


def test_an_error_whose_text_the_jvm_cannot_give_any_more_means_that_it_ended() -> None:
    class Unreadable(Py4JError):  # type: ignore[misc]
        def __str__(self) -> str:
            raise ConnectionRefusedError(111, "Connection refused")

    assert has_spark_ended(Unreadable())


@dataclass(frozen=True)
class Thrown:
    """A Java exception, as py4j shows it."""

    name: str
    message: str
    cause: Thrown | None = None

    def getClass(self) -> Thrown:  # noqa: N802 - Java's
        return self

    def getName(self) -> str:  # noqa: N802
        return self.name

    def getMessage(self) -> str:  # noqa: N802
        return self.message

    def getCause(self) -> Thrown | None:  # noqa: N802
        return self.cause


def raised(thrown: Thrown) -> PySparkException:
    error = PySparkException(thrown.message)
    error._origin = thrown  # type: ignore[attr-defined]
    return error


@pytest.mark.parametrize(
    ("expected", "thrown"),
    [
        (True, Thrown("java.lang.OutOfMemoryError", "Java heap space")),
        (True, Thrown("java.lang.OutOfMemoryError", "Not enough memory to build and broadcast the table")),
        (True, Thrown("org.apache.spark.memory.SparkOutOfMemoryError", "[UNABLE_TO_ACQUIRE_MEMORY] Unable to acquire")),
        (True, Thrown("org.apache.spark.SparkException", "Job aborted: java.lang.OutOfMemoryError: Java heap space")),
        (
            False,
            Thrown(
                "org.apache.spark.SparkNumberFormatException",
                "[CAST_INVALID_INPUT] The value 'java.lang.OutOfMemoryError: Java heap space' cannot be cast."
                " SQLSTATE: 22018",
            ),
        ),
        (
            False,
            Thrown(
                "org.apache.spark.SparkRuntimeException",
                "[USER_RAISED_EXCEPTION] Java heap space SQLSTATE: P0001",
            ),
        ),
    ],
)
def test_a_row_that_quotes_a_lack_of_memory_is_none(expected: bool, thrown: Thrown) -> None:
    assert is_out_of_memory(raised(thrown)) is expected
    wrapped = Thrown("org.apache.spark.SparkException", f"Job aborted: {thrown.name}: {thrown.message}", thrown)
    assert is_out_of_memory(raised(wrapped)) is expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "[ARITHMETIC_OVERFLOW] long overflow. Use 'try_add' to tolerate overflow and return NULL instead."
            ' If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 22003',
            "long overflow.",
        ),
        ("[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0.", "Division by zero."),
        (
            "Valid range for seconds is [0, 60]. To avoid this error, use `try_make_timestamp`, which returns NULL",
            "Valid range for seconds is [0, 60].",
        ),
        (
            "The variant value `1` cannot be cast. Please use `try_variant_get` instead.",
            "The variant value `1` cannot be cast.",
        ),
        (
            "The index 5 is out of bounds. The array has 1 elements. Use the SQL function `get()` to tolerate it.",
            "The index 5 is out of bounds. The array has 1 elements.",
        ),
        (
            'cannot cast with ANSI mode on. If you have to cast "A" to "B", you can set',
            "cannot cast with ANSI mode on.",
        ),
        (
            'The value is too long. Set the config "spark.sql.x" to "true" to allow it. Or set it otherwise.',
            "The value is too long.",
        ),
        ("A sentence. Use a smaller number.", "A sentence. Use a smaller number."),
    ],
)
def test_no_function_or_setting_of_spark_is_proposed(text: str, shown: str) -> None:
    assert explain_error(ValueError(text)) == shown
