"""Spark's errors as one sentence that a user can act on.

In: an exception from PySpark, py4j or Python. Out: one line without stack trace, class names or JVM text.
Invariant: never more than `MAX_CHARACTERS` characters, never a secret.
"""

from __future__ import annotations

import re

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from penstock.redaction import redact

MAX_CHARACTERS = 600
_CONDITION = re.compile(r"\[([A-Z_.0-9]+)\]\s*")
_NOISE = re.compile(r"\s*(SQLSTATE: \w+|== SQL.*|JVM stacktrace.*|; line \d+ pos \d+.*|;\s*'.*)", re.DOTALL)


def explain_error(error: BaseException) -> str:
    """The cause of a failure in one line."""
    text = _error_text(error)
    if "Traceback (most recent call last)" in text:  # from a Python worker: the last line is the cause
        text = text.strip().splitlines()[-1]
    first = _NOISE.sub("", _CONDITION.sub("", text)).strip()
    line = redact(" ".join(first.split())) or type(error).__name__
    return line if len(line) <= MAX_CHARACTERS else line[: MAX_CHARACTERS - 1] + "…"


def error_condition(error: BaseException) -> str | None:
    """Spark's error condition (CAST_INVALID_INPUT …), if the error has one."""
    found = _CONDITION.search(_error_text(error))
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
