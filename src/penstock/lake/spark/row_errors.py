"""Whether an error of Spark says that a value of a row is at fault, or anything else.

In: an exception from PySpark or py4j. Out: true or false. Invariant: true only for errors that the same rows give
again: a value that cannot be cast, an overflow, a call of raise_error. An error of the catalog, of a disk, of the
memory, of the state store or of a cancelled job is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

_SQL_STATE = re.compile(r"SQLSTATE: ([0-9A-Z]{5})")
_DATA_STATES = ("22", "23", "P0", "54000")
"""Classes of SQLSTATE: data exception, violated constraint (a NULL), raise_error; and the state of an array that would
have more elements than Spark can hold. Source: ISO 9075-2 and Spark's error-states.json."""
_JAVA_ERRORS = frozenset(
    {
        "java.lang.ArithmeticException",
        "java.lang.NumberFormatException",
        "java.lang.ArrayIndexOutOfBoundsException",
        "java.lang.StringIndexOutOfBoundsException",
        "java.lang.NegativeArraySizeException",
        "java.time.DateTimeException",
        "java.time.format.DateTimeParseException",
        "java.util.regex.PatternSyntaxException",
    }
)
"""What expressions of Spark raise without an error condition of its own."""
_PYTHON_ERRORS = ("pyarrow.lib.ArrowInvalid", "pyarrow.lib.ArrowTypeError", "OverflowError", "UnicodeEncodeError")
"""What a Python worker raises that cannot hand a value to Spark."""
_PYTHON_WORKER = "org.apache.spark.api.python.PythonException"


def is_row_error(error: BaseException) -> bool:
    """Whether a value of a row is the cause, so that the step fails again with the same rows and not without them."""
    causes = list(java_causes(error))
    if not causes or any("OutOfMemoryError" in name for name, _ in causes):
        return False
    traces = [message for name, message in causes if name == _PYTHON_WORKER]
    if traces:
        return _raised_by_python(traces[-1]).startswith(_PYTHON_ERRORS)
    name, message = causes[-1]
    state = _SQL_STATE.findall(message)
    return name in _JAVA_ERRORS or bool(state and state[-1].startswith(_DATA_STATES))


def _raised_by_python(trace: str) -> str:
    """The last line of a Python stack trace, which names the exception; its other lines are indented."""
    lines = [line for line in trace.splitlines() if line[:1].strip()]
    return lines[-1] if lines else ""


def java_causes(error: BaseException) -> Iterator[tuple[str, str]]:
    """Class and message of the Java exception and of its causes, the innermost last."""
    for java in java_exceptions(error):
        yield str(java.getClass().getName()), str(java.getMessage() or "")


def java_exceptions(error: BaseException) -> Iterator[JavaObject]:
    """The Java exception and its causes, the innermost last."""
    java = error.java_exception if isinstance(error, Py4JJavaError) else None
    if isinstance(error, PySparkException):
        java = getattr(error, "_origin", None)
    while java is not None:
        yield java
        java = java.getCause()
