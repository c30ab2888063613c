"""Sorting and partition keys (ClickHouse expressions) as Iceberg sort orders and partition transforms.

In: the keys of a data source and the physical column of each logical one. Out: `TableLayout`, with a warning for
each expression that Iceberg has no transform for (https://iceberg.apache.org/spec/#partition-transforms).
Invariant: a layout never changes the result of a query, so an expression without a transform is left out, not
refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from penstock.errors import Location, Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import BoundColumn, Transform
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import AggregateFunction, Array, Date, DateTime, DateTime64, Map, Tuple, Type, unwrap_type
from penstock.parse.sql_syntax.engine_keys import column_name

TimeUnit = Literal["years", "months", "days", "hours"]

UNIT_FUNCTIONS: Mapping[str, TimeUnit] = {
    "todate": "days",
    "todate32": "days",
    "tostartofday": "days",
    "toyyyymmdd": "days",
    "toyyyymm": "months",
    "tostartofmonth": "months",
    "toyear": "years",
    "tostartofyear": "years",
    "tostartofhour": "hours",
}
"""ClickHouse functions of a date or time (in lower case) that order rows as a unit of time does."""

_KEY_EXPRESSION = re.compile(
    r"\s*(?:(?P<function>\w+)\s*\(\s*)?(?P<column>\w+|`[^`\\.]+`|\"[^\"\\.]+\")\s*(?(function)\)\s*)"
)
"""A column, or a function of one. A dot within a name is for Iceberg the way to an inner field."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """How the rows of a table are partitioned and sorted."""

    partition: tuple[Transform, ...]
    sort: tuple[Transform, ...]
    problems: tuple[Problem, ...]
    """Warnings for the parts of the keys that are left out."""


@dataclass(frozen=True, slots=True)
class _Key:
    directive: str
    expressions: tuple[str, ...]
    location: Location | None


def build_layout(source: DataSource, columns: Sequence[BoundColumn]) -> TableLayout:
    """The layout of a table that holds a data source in the given physical columns."""
    bound = {column.name: column for column in columns}
    place = source.engine.location
    sorting, partitioning = "ENGINE_SORTING_KEY", "ENGINE_PARTITION_KEY"
    sort, unsorted = _convert_key(_Key(sorting, source.engine.sorting_key, place(sorting)), bound)
    cut, uncut = _convert_key(_Key(partitioning, source.engine.partition_key, place(partitioning)), bound)
    return TableLayout(_keep_first_unit(cut), sort, (*uncut, *unsorted))


def _convert_key(key: _Key, bound: Mapping[str, BoundColumn]) -> tuple[tuple[Transform, ...], tuple[Problem, ...]]:
    found: dict[Transform, None] = {}
    problems = []
    for expression in key.expressions:
        transform = _convert_expression(expression, bound)
        if transform is None:
            problems.append(_unused_key_problem(key, expression))
        else:
            found[transform] = None
    return tuple(found), tuple(problems)


def _convert_expression(expression: str, bound: Mapping[str, BoundColumn]) -> Transform | None:
    found = _KEY_EXPRESSION.fullmatch(expression)
    column = bound.get(column_name(found["column"])) if found else None
    if found is None or column is None:
        return None
    if found["function"] is None:
        return Transform("identity", column.physical) if _is_sortable(column.type) else None
    unit = UNIT_FUNCTIONS.get(found["function"].lower())
    return Transform(unit, column.physical) if unit and _has_unit(column.type, unit) else None


def _has_unit(of: Type, unit: TimeUnit) -> bool:
    match unwrap_type(of):
        case DateTime64(precision):
            return precision <= 6  # finer times are stored as decimals
        case DateTime():
            return True
        case Date():
            return unit != "hours"
        case _:
            return False


def _is_sortable(of: Type) -> bool:
    return not isinstance(unwrap_type(of), (Array, Map, Tuple, AggregateFunction))


def _keep_first_unit(transforms: Sequence[Transform]) -> tuple[Transform, ...]:
    """The transforms with one unit of time per column, the first one written: Iceberg allows only one in a partition
    key."""
    kept: dict[tuple[str, bool], Transform] = {}
    for transform in transforms:
        kept.setdefault((transform.column, transform.kind == "identity"), transform)
    return tuple(kept.values())


def _unused_key_problem(key: _Key, expression: str) -> Problem:
    return Problem(
        "key-not-used",
        f"`{expression}` in {key.directive} is not used to lay out files",
        key.location,
        "results do not depend on it; a column, and toDate, toStartOfHour, toYYYYMM or toYear of one are used",
        "warning",
    )
