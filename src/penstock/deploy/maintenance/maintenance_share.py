"""How much maintenance may do while rows of live wait.

In: the lag of live's flows, and how long each task took. Out: whether a task may begin now. Invariant: a table whose
rows do not wait is maintained at once; one whose rows wait gets its part of the time all the same, since a table that
is never compacted makes every step slower. A flow that fails holds up nothing: its rows wait however idle the server.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable

from penstock.deploy.runtime.core import Core
from penstock.flow.lag import FlowLag
from penstock.model.manifest import Manifest

MOST_LAG = 100
"""Batches by which a flow of live may lag before maintenance of its tables gives way."""
PARTS = 4
"""While rows wait, maintenance takes at most one of so many parts of the time."""
VALID_SECONDS = 1.0
"""Seconds for which the lag is taken to be the same."""


class MaintenanceShare:
    """Decides whether a task begins. For one thread."""

    def __init__(self, waiting: Callable[[], Collection[str]], clock: Callable[[], float] = time.monotonic):
        """`waiting` gives the tables whose rows wait."""
        self._find_waiting = waiting
        self._clock = clock
        self._waiting: tuple[float, frozenset[str]] = (float("-inf"), frozenset())
        self._next = float("-inf")

    def allows(self, table: str | None) -> bool:
        """Whether a task on a table may begin now; None: a task on all of them."""
        waiting = self._tables()
        free = table not in waiting if table is not None else not waiting
        return free or self._clock() >= self._next

    def ran(self, seconds: float) -> None:
        """Count the time that a task took."""
        self._next = self._clock() + seconds * (PARTS - 1)

    def _tables(self) -> frozenset[str]:
        at, tables = self._waiting
        if self._clock() - at > VALID_SECONDS:
            tables = frozenset(self._find_waiting())
            self._waiting = self._clock(), tables
        return tables


def waiting_tables(core: Core) -> frozenset[str]:
    """Live's tables that lag, and those that they read; without flows that fail, and what derives from their tables."""
    live = core.board.live()
    if live is None:
        return frozenset()
    late = core.flows.late(live.manifest, core.flows.arrivals.heads, core.flows.failing())
    return lagging_tables(live.manifest, late)


def lagging_tables(manifest: Manifest, late: Iterable[FlowLag]) -> frozenset[str]:
    """The tables of flows that lag by more than MOST_LAG batches, and those that they derive from."""
    tables = {each.table for each in late if each.head - each.at > MOST_LAG}
    return frozenset({*tables, *manifest.table_graph.upstream(*tables)}) if tables else frozenset()
