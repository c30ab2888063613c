"""The queries before the last one of a view or an endpoint: `nodes={"name": Node("SELECT …", description="…")}`.

In: SQL by name, alone or with what it is for. Out: `Node` by name. Invariant: the order stays, since a query may read
those before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Node:
    """A query that those after it read by its name. Raises TypeError, where it is given, for what is no SQL.

    >>> steps = {"home": Node(f"SELECT id, at FROM {events} WHERE page = '/'", description="Visits of the first page.")}
    >>> first_visits = View("first_visits", "SELECT id, min(at) AS at FROM home GROUP BY id", nodes=steps)
    """

    sql: str
    description: str = ""


Nodes: TypeAlias = Mapping[str, Union[str, Node]]


def nodes_of(owner: str, given: Nodes | None) -> dict[str, Node]:
    """The queries by name. Raises TypeError for what is none."""
    found = {}
    for name, each in (given or {}).items():
        if not isinstance(each, (str, Node)):
            raise TypeError(f"{owner}: the node {name!r} must be SQL or a Node, not {type(each).__name__}")
        found[name] = Node(each) if isinstance(each, str) else each
    return found
