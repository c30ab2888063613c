"""The names of new physical columns.

In: a logical name, and the names that a table has or had. Out: a name for its physical column. Invariant: no two names
of a table differ in case only, and none is one that Iceberg keeps for itself: Spark could not read the table.
"""

from __future__ import annotations

from penstock.model.manifest import ICEBERG_NAMES


def take_physical_name(name: str, taken: set[str]) -> str:
    """The logical name if it is free, else the next free one with a number. It is added to `taken`, whose names are
    folded to one case."""
    found, number = name, 1
    while found.casefold() in taken or found.casefold() in ICEBERG_NAMES:
        number += 1
        found = f"{name}__{number}"
    taken.add(found.casefold())
    return found
