"""Spark's errors as one sentence that a user can act on.

In: an exception from PySpark, py4j or Python. Out: one line without stack trace, class names or JVM text.
Invariants: never more than `MAX_CHARACTERS` characters, never a secret; of a long text only a part is read.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from penstock.errors import Unavailable
from penstock.lake.spark.row_errors import is_row_error, java_causes, java_exceptions
from penstock.redaction import redact_start

MAX_CHARACTERS = 600
MOST_READ = 20_000
"""Only these characters of an error's text are read: a message may quote a value of any size."""
_CONDITION = re.compile(r"\[([A-Z_.0-9]+)\]")
_ENDED = (
    "Answer from Java side is empty",
    "SparkContext was shut down",
    "SparkContext has been shutdown",
    "stopped SparkContext",
    "CANNOT_OPEN_SOCKET",
)
_CALL_WITHOUT_ANSWER = re.compile(r"An error occurred while calling \S+")
"""All that py4j says where the connection broke while it sent a call; where Java refused the call, a trace follows."""
_NO_MEMORY = (
    "Java heap space",
    "GC overhead limit exceeded",
    "Requested array size exceeds VM limit",
    "OutOfMemoryError",
    "UNABLE_TO_ACQUIRE_MEMORY",
)
_POSTGRES_ERROR = "org.postgresql.util.PSQLException"
_AWAY = ("08", "57P")
"""SQLSTATEs of connections that broke or were refused, and of a server that stops or starts."""
# For texts whose white space is single spaces.
_NOISE = re.compile(r" ?(?:SQLSTATE: \w+|== SQL.*|JVM stacktrace.*|; line \d+ pos \d+.*|; ?'.*)")

# What Spark proposes, functions of its own and settings of its session, is of no use in ClickHouse SQL.
_ADVICE = re.compile(
    r" (?:If necessary,? set |To return NULL instead|(?:To avoid this error, |Please )?use [`'\"]?try_"
    r"|Use the SQL function `|If you have to (?:cast|call) "
    r"|(?:Consider (?:to set|setting) |Set )(?:the )?(?:SQL )?(?:config )?\"?spark\.).*$",
    re.IGNORECASE,
)

_NO_PYTHON_TIME = re.compile(r"year -?\d+ is out of range|ordinal must be >= 1")
"""What Python's dates and times say of a row whose value they cannot hold."""


class SparkEnded(Unavailable):
    """Spark's process has ended under a call; the server restarts it."""

    retry_after = 10


def spark_ended() -> SparkEnded:
    """The error for a call that was cut off, or came before Spark was back."""
    return SparkEnded("Spark's process has ended and is being restarted", hint="try again in some seconds")


def has_spark_ended(error: BaseException) -> bool:
    """Whether an error means that Spark's process is gone: its connections are cut or refused, or it shuts down."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, (Py4JNetworkError, ConnectionError, EOFError)):
            return True
        if isinstance(seen, (Py4JError, PySparkException, RuntimeError)) and _says_ended(seen):
            return True
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    return False


def _says_ended(error: Exception) -> bool:
    try:
        text = str(error)[:MOST_READ]  # of a Java exception: py4j asks the JVM for it
    except (Py4JError, OSError):
        return True
    if type(error) is Py4JError and _CALL_WITHOUT_ANSWER.fullmatch(text.strip()):
        return True
    return any(words in text for words in _ENDED)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the JVM had no memory left for the work."""
    if any("OutOfMemoryError" in name for name, _ in java_causes(error)):
        return True
    if is_row_error(error):
        return False  # it may quote any text
    text = f"{error_condition(error)} {_error_text(error)[:MOST_READ]}"
    return any(words in text for words in _NO_MEMORY)


def is_catalog_away(error: BaseException) -> bool:
    """Whether the database of the catalog did not answer, or broke a connection that was kept: what was asked may have
    been carried out. Source of the codes: Postgres' documentation, "PostgreSQL Error Codes"."""
    postgres = (each for each in java_exceptions(error) if each.getClass().getName() == _POSTGRES_ERROR)
    return any(str(each.getSQLState()).startswith(_AWAY) for each in postgres)


def explain_error(error: BaseException) -> str:
    """The cause of a failure in one line."""
    text = _error_text(error)
    if isinstance(error, ValueError) and _NO_PYTHON_TIME.match(text):
        return "a date or time outside of the years 1 to 9999, which no answer can hold"
    if "Traceback (most recent call last)" in text:  # from a Python worker: the last line is the cause
        text = text.rstrip().rpartition("\n")[2]
    words = " ".join(_CONDITION.sub(" ", text[:MOST_READ]).split())
    return redact_start(_ADVICE.sub("", _NOISE.sub("", words)).strip(), MAX_CHARACTERS - 1) or type(error).__name__


def error_condition(error: BaseException) -> str | None:
    """Spark's error condition (CAST_INVALID_INPUT …), if the error has one."""
    found = _CONDITION.search(_error_text(error), 0, MOST_READ)
    return found.group(1) if found else None


def _error_text(error: BaseException) -> str:
    if isinstance(error, Py4JJavaError):
        return _root_cause(error.java_exception)
    if isinstance(error, PySparkException):
        cause = getattr(error, "_origin", None)
        return _root_cause(cause) if cause is not None else str(error)
    return str(error) or type(error).__name__


def _root_cause(java: object) -> str:
    """The message of the innermost cause that has one; Spark wraps the errors of jobs several times."""
    message = ""
    while java is not None:
        message = java.getMessage() or message  # type: ignore[attr-defined]
        java = java.getCause()  # type: ignore[attr-defined]
    return message or "the JVM gave no message"
