"""How far a stream is landed in every version that needs it.

In: the running deployments and the registry. Out: a batch number. Called by the inbox, to know how much
waits. Invariant: never more than what each landing table of the stream has.
"""

from __future__ import annotations

from penstock.deploy.core import Core
from penstock.model.cursor import Batches


def landed_everywhere(core: Core, stream: str) -> int:
    """The last batch that all running versions have; 0 where one has none yet."""
    numbers = [
        cursor.number if isinstance(cursor, Batches) else 0
        for deployment in core.board.running.deployments
        for landing in deployment.manifest.landings
        if landing.stream == stream
        for cursor in [core.registry.cursor(landing.table, landing.id)]
    ]
    return min(numbers, default=0)
