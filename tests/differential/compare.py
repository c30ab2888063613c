"""Compare one query on both engines: the same, different, or answered by only one of them.

In: ClickHouse SQL. Out: a verdict and what differs. The names of types count, but for LowCardinality; the order of rows
counts only if the query has an ORDER BY.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, TypeAlias

from pyspark.errors import AnalysisException, ParseException, PySparkException
from tests.differential.engines import ClickHouse, Rows, Spark, readable, same

from penstock.errors import InvalidQuery

Verdict: TypeAlias = Literal["same", "differs", "refused", "fails", "clickhouse refuses"]
"""`refused`: by the compiler, which is always right to do so; the other way round there is nothing to compare.
`fails`: on Spark, over the rows there are (an overflow, a year that Python does not know): said aloud, and a debt of
docs/sql-functions.md. SQL that Spark does not take at all should have been refused: that differs."""


def compared(sql: str, clickhouse: ClickHouse, spark: Spark) -> tuple[Verdict, str]:
    """The verdict, and what differs."""
    try:
        query = spark.compile(sql)
    except InvalidQuery as error:
        return "refused", error.problems[0].message
    try:
        _, types, theirs = clickhouse.rows(sql)
    except RuntimeError as error:
        return "clickhouse refuses", str(error)
    try:
        ours = spark.rows(query)
    except (AnalysisException, ParseException) as error:
        return "differs", f"Spark does not take it: {str(error)[:500]}"
    except (PySparkException, ValueError, OverflowError) as error:
        return "fails", str(error)[:500]
    mine = [without_hint(str(of)) for _, of in query.columns]
    if mine != list(map(without_hint, types)):
        return "differs", f"types: ours {mine}, theirs {types}"
    return _rows_compared(sql, ours, theirs)


def _rows_compared(sql: str, ours: Rows, theirs: Rows) -> tuple[Verdict, str]:
    if not re.search(r"\bORDER BY (?!.*\bOVER\b)", sql) or "OVER" in sql:
        ours, theirs = by_text(ours), by_text(theirs)
    if len(ours) != len(theirs):
        return "differs", f"rows: ours {len(ours)}, theirs {len(theirs)}: {ours[:3]} {theirs[:3]}"
    different = [pair for pair in zip(ours, theirs, strict=True) if not same(*pair)]
    return ("differs", f"rows (ours, theirs): {different[:3]}") if different else ("same", "")


def by_text(rows: Rows) -> Rows:
    """In an order that both engines' ways to write a number agree on."""
    return sorted(rows, key=lambda row: json.dumps(_rough(row), sort_keys=True, default=str))


def _rough(value: object) -> object:
    match value:
        case "-nan":
            return "nan"
        case str() if re.fullmatch(r"-?\d+(\.\d+)?", value):
            return _rough(Decimal(value))
        case str():
            return readable(value)
        case bool() | None:
            return value
        case int() | float() | Decimal():
            exact = int(value) if math.isfinite(value) and value == int(value) else ""
            return f"{float(value):.5g} {exact}"
        case list() | tuple():
            return [_rough(each) for each in value]
        case dict():
            return {key: _rough(each) for key, each in value.items()}
        case _:
            return str(value)


def without_hint(of: str) -> str:
    """LowCardinality is a hint, which functions keep in ClickHouse and lose here."""
    return re.sub(r"LowCardinality\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)", r"\1", of)


def statements(text: str) -> Sequence[str]:
    """The queries of a file: each ends with `;` at the end of a line; `--` begins a comment line."""
    cut = re.split(r";\s*\n", re.sub(r"(?m)^--.*$", "", text))
    return [each.strip() for each in cut if each.strip()]
