"""The catalog of functions that SQL of DIALECT clickhouse may call, for the documentation and its tests.

Invariant: a name in the catalog compiles; any other one is refused as unknown.
"""

from __future__ import annotations

from typing import Literal

from penstock.model.quick_dataclass import dataclass
from penstock.sql.aggregates.table import aggregate_named, aggregate_names
from penstock.sql.calls.special_forms import SPECIAL_FORMS
from penstock.sql.calls.windows import WINDOW_FUNCTIONS
from penstock.sql.functions.table import find_function, function_names


@dataclass(frozen=True, slots=True)
class SupportedFunction:
    """A supported function."""

    name: str
    kind: Literal["scalar", "aggregate", "window"]
    exact: bool = True
    """Its result equals ClickHouse's."""
    states: bool = False
    """-State and -Merge are supported."""


def supported_functions() -> tuple[SupportedFunction, ...]:
    """All functions, sorted by kind and name."""
    scalars = [
        SupportedFunction(name, "scalar", row.exact) for name in function_names() if (row := find_function(name))
    ]
    forms = [SupportedFunction(name, "scalar") for name in SPECIAL_FORMS]
    aggregates = [
        SupportedFunction(name, "aggregate", found.exact, found.has_state)
        for name in aggregate_names()
        if (found := aggregate_named(name))
    ]
    windows = [SupportedFunction(name, "window") for name in WINDOW_FUNCTIONS]
    return tuple(sorted((*scalars, *forms, *aggregates, *windows), key=lambda each: (each.kind, each.name)))
