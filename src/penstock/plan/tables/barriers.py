"""Where the flows of a new table have to meet, so that a flow out of it can go on from there.

In: the flows of the next version and the tables that are new. Out: the flows, and a `Meet` for each
table whose history has to end at one place. Called by `plan`. Invariant: a flow that is resumed reads
from a table that meets, and every view into a table that meets reads from the beginning of a table of
live, of a clone of one, or of one that meets itself: so all of them end at the place where the
deployment was activated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from penstock.model.manifest import Flow, Meet, View


def place_barriers(flows: Iterable[Flow], new: Collection[str]) -> tuple[tuple[Flow, ...], tuple[Meet, ...]]:
    """`new` are tables that begin empty."""
    every = tuple(flows)
    views = [flow for flow in every if isinstance(flow, View)]
    resumed = {view.trigger.binding.table for view in views if view.starts == "resumed"}
    tables = sorted(resumed & set(new))
    above: dict[str, set[str]] = {}
    for view in views:
        above.setdefault(view.table, set()).add(view.trigger.binding.table)
    for table in tables:  # grows while it is walked
        tables += sorted((above.get(table, set()) & set(new)) - set(tables))
    found = frozenset(tables)
    return tuple(_start_at_barrier(flow, found) for flow in every), tuple(Meet(table) for table in sorted(found))


def _start_at_barrier(flow: Flow, tables: Collection[str]) -> Flow:
    if isinstance(flow, View) and flow.starts == "beginning" and flow.table in tables:
        return replace(flow, starts="met") if flow.trigger.binding.table in tables else flow
    return flow
