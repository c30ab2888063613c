"""Values of Python as literals of Spark SQL, in the type that PySpark gives them.

In: a literal of PySpark. Out: its text. Invariant: Spark reads the text as a value of the same type that equals the
literal; a value that no text of one line has is refused.
"""

from __future__ import annotations

import decimal
import re
from collections.abc import Callable

from pyspark.sql import types as spark

from penstock.api.dataframes.refusal import RefusedInView

_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x85\u2028\u2029]")
_PLAIN_FLOAT = re.compile(r"-?[0-9]+\.[0-9]+")
_LEAST: dict[type[spark.DataType], int] = {
    spark.ByteType: -(2**7),
    spark.ShortType: -(2**15),
    spark.IntegerType: -(2**31),
    spark.LongType: -(2**63),
}
"""The least number of each type, which has no literal: it is minus a number that the type does not have."""


def literal_text(value: object, of: spark.DataType) -> str:
    """The text of a literal. Times are given as PySpark keeps them: days, or microseconds in UTC. Raises
    RefusedInView."""
    if value is None:
        return "NULL"
    if isinstance(of, spark.ArrayType) and isinstance(value, list):
        return f"array({', '.join(literal_text(each, of.elementType) for each in value)})"
    write = _WRITERS.get(type(of))
    if write is None:
        message = f"a value of type {of.simpleString()} cannot be written in SQL"
        raise RefusedInView(message, "make it of numbers and texts, by a function of pyspark.sql.functions")
    return write(value, of)


def text_literal(value: object, _: spark.DataType | None = None) -> str:
    """A text in quotes. Raises RefusedInView for control characters, which a line of SQL cannot hold."""
    text = str(value)
    found = _UNWRITABLE.search(text)
    if found is not None:
        message = f"the text {text[:40]!r} has the character {found[0]!r}, which a line of SQL cannot hold"
        raise RefusedInView(message, "write it as F.char(…) or leave it out")
    return "'" + "".join(_ESCAPES.get(each, each) for each in text) + "'"


def _number(value: object, of: spark.DataType) -> str:
    name = of.simpleString()
    is_least = value == _LEAST[type(of)]
    if is_least:
        return f"CAST('{value}' AS {name})"
    return f"{value}" if isinstance(of, spark.IntegerType) else f"CAST({value} AS {name})"


def _float(value: object, of: spark.DataType) -> str:
    text = repr(value)
    plain = isinstance(of, spark.DoubleType) and _PLAIN_FLOAT.fullmatch(text)
    return f"CAST({text if plain else repr(text)} AS {of.simpleString()})"


def _decimal(value: object, _: spark.DataType) -> str:
    number = decimal.Decimal(str(value))
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        raise RefusedInView(f"{number} is no number of a decimal type", "use a float")
    scale = max(-exponent, 0)
    precision = max(len(number.as_tuple().digits) + max(exponent, 0), scale)
    if precision > 38:
        raise RefusedInView(f"{number} has more than 38 digits", "use a float or a text")
    return f"CAST('{number:f}' AS DECIMAL({precision}, {scale}))"


def _date(value: object, of: spark.DataType) -> str:
    return f"CAST('{spark.DateType().fromInternal(int(str(value))).isoformat()}' AS DATE)"


_WRITERS: dict[type, Callable[[object, spark.DataType], str]] = {
    spark.BooleanType: lambda value, _: "TRUE" if value else "FALSE",
    spark.ByteType: _number,
    spark.ShortType: _number,
    spark.IntegerType: _number,
    spark.LongType: _number,
    spark.FloatType: _float,
    spark.DoubleType: _float,
    spark.DecimalType: _decimal,
    spark.StringType: text_literal,
    spark.BinaryType: lambda value, _: f"X'{bytes(value).hex().upper()}'",  # type: ignore[call-overload]
    spark.DateType: _date,
    spark.TimestampType: lambda value, _: f"timestamp_micros(CAST({value} AS BIGINT))",
}
