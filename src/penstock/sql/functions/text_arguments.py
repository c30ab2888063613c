"""What functions on texts take: literals, numbers as Spark's INT, NULL as no elements.

In: `Typed` arguments. Out: SQL and literal values. Called by the families of functions on texts. Invariant: a
number out of INT's range becomes the nearest that is in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import TokenType

from penstock.sql.functions.function import BadArguments
from penstock.sql.let import let
from penstock.sql.typed import Typed, text
from penstock.sql.value_types import text_literal

_LARGEST = 2**31 - 1


def constant_text(value: Typed, what: str) -> str:
    """The text of a literal. Raises BadArguments for what is none."""
    if not isinstance(value.constant, str):
        raise BadArguments(f"{what} must be a text literal")
    return value.constant


def constant_texts(value: Typed, what: str) -> list[Typed]:
    """The texts of a literal array. Raises BadArguments for what is none."""
    try:
        tokens = sqlglot.tokenize(value.sql, dialect="spark")
    except SqlglotError:
        tokens = []
    found = [text(token.text) for token in tokens if token.token_type == TokenType.STRING]
    if not found or value.sql != f"array({', '.join(each.sql for each in found)})":
        raise BadArguments(f"{what} must be a literal array of texts")
    return found


def constant_number(value: Typed, what: str) -> int:
    """A literal integer. Raises BadArguments for what is none."""
    if not isinstance(value.constant, int) or isinstance(value.constant, bool):
        raise BadArguments(f"{what} must be a literal number")
    return value.constant


def as_int(value: Typed) -> str:
    """A number as Spark's INT, the nearest where it is out of range."""
    if value.spark == "INT":
        return value.sql
    if isinstance(value.constant, int) and abs(value.constant) <= _LARGEST:
        return str(int(value.constant))
    if value.spark == "BOOLEAN":
        return f"CAST({value.sql} AS INT)"
    if value.spark == "BIGINT":
        return f"CAST(greatest(least({value.sql}, {_LARGEST}), -{_LARGEST}) AS INT)"
    return let(f"CAST({value.sql} AS DECIMAL(20,0))", _of_unsigned)


def _of_unsigned(v: str) -> str:
    """A UInt64 is read as an Int64."""
    negative = f"greatest({v} - 18446744073709551616, -{_LARGEST})"
    return f"CAST(if({v} > 9223372036854775807, {negative}, least({v}, {_LARGEST})) AS INT)"


def all_or_none(array: str, value: Typed, spark: str = "ARRAY<STRING>") -> str:
    """Of a NULL there are no elements: an array is never NULL."""
    return f"coalesce({array}, CAST(array() AS {spark}))" if value.nullable else array


def at_most(array: str, values: Sequence[Typed], place: int = 2) -> str:
    """The first elements of an array of texts, as many as the argument says; all for 0 and less."""
    if len(values) <= place:
        return array
    most = constant_number(values[place], "the largest number of parts")
    return array if most <= 0 else f"slice({array}, 1, {min(most, _LARGEST)})"


def as_bytes(sql: str) -> str:
    """A text as Spark's BINARY: what is done to it is done to bytes."""
    return f"CAST({sql} AS BINARY)"


def byte_text(sql: str) -> str:
    """Bytes as a text; they stay what they are, valid or not."""
    return f"CAST({sql} AS STRING)"


def quoted(value: str) -> str:
    """A literal in a template of `simple`, whose braces are doubled."""
    return text_literal(value).replace("{", "{{").replace("}", "}}")
