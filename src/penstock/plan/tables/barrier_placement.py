"""Barriers: tables whose history has to end at one common moment, so that a flow out of them can go on from there.

In: the flows of the next version and the names of the tables that are new. Out: the flows with their start, and a
`Meet` for each table with a barrier. Invariant: a resumed flow reads a table with a barrier, and each view into such
a table reads from the beginning either a live table, a clone of one, or another table with a barrier; so all of them
end at the moment at which the deployment was activated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from penstock.model.graph import Graph
from penstock.model.manifest import Flow, Meet, View


def place_barriers(flows: Iterable[Flow], new: Collection[str]) -> tuple[tuple[Flow, ...], tuple[Meet, ...]]:
    """The flows with their start, and the barriers. `new` are the names of tables that begin empty."""
    every = tuple(flows)
    views = [flow for flow in every if isinstance(flow, View)]
    resumed = {view.trigger.binding.table for view in views if view.starts == "resumed"}
    reads: dict[str, set[str]] = {}
    for view in views:
        reads.setdefault(view.table, set()).update({view.trigger.binding.table} & set(new))
    begun = resumed & set(new)
    found = frozenset({*begun, *Graph.of(reads).upstream(*begun)})
    return tuple(_start_at_barrier(flow, found) for flow in every), tuple(Meet(table) for table in sorted(found))


def _start_at_barrier(flow: Flow, tables: Collection[str]) -> Flow:
    if isinstance(flow, View) and flow.starts == "beginning" and flow.table in tables:
        return replace(flow, starts="met") if flow.trigger.binding.table in tables else flow
    return flow
