"""Values of Postgres as expressions of ClickHouse, and Enums.

In: the text that Postgres writes for a value, or the type of an Enum. Out: an expression; the Enum with a label more.
Invariant: a value that the type does not have is refused, never clamped.
"""

from __future__ import annotations

import re

from penstock.postgres.catalog.replicated_table import ReplicatedColumn
from penstock.postgres.catalog.store_types import clickhouse_type
from penstock.postgres.translation.clickhouse.schema import text_literal
from penstock.postgres.translation.refusal import CannotTranslate

_YEAR = re.compile(r"(\d{4})-\d\d-\d\d")
_FIRST_YEAR, _LAST_YEAR = 1900, 2299
_ENUM = re.compile(r"(?s)(Nullable\()?(Enum(?:8|16)\((.*)\))")
_LABEL = re.compile(r"'((?:[^'\\]|\\.)*)' = (-?\d+)")


def value_expression(column: ReplicatedColumn, text: str) -> str:
    """An expression with the value of a text of Postgres. Raises CannotTranslate."""
    of = column.type.stored.name
    if of == "boolean":
        return "true" if text.startswith("t") else "false"
    if of.startswith("timestamp") or of == "date":
        _check_year(column.name, text)
    if of.startswith("timestamp"):
        return f"parseDateTime64BestEffort({text_literal(text)}, 6, 'UTC')"
    plain = clickhouse_type(column).removeprefix("Nullable(").removesuffix(")" * (not column.not_null))
    return text_literal(text) if plain == "String" else f"CAST({text_literal(text)}, {text_literal(plain)})"


def _check_year(column: str, text: str) -> None:
    found = _YEAR.match(text)
    if found is None or "BC" in text or not _FIRST_YEAR <= int(found[1]) <= _LAST_YEAR:
        hint = f"ClickHouse has {_FIRST_YEAR} to {_LAST_YEAR}: give the rows another value in Postgres"
        raise CannotTranslate(f"the old rows of `{column}` have {text}, which ClickHouse has no value for", hint)


def enum_values(type_name: str) -> dict[str, int] | None:
    """The labels of an Enum and their numbers; None for another type."""
    found = _ENUM.fullmatch(type_name)
    if found is None:
        return None
    return {re.sub(r"\\(.)", r"\1", label): int(number) for label, number in _LABEL.findall(found[3])}
