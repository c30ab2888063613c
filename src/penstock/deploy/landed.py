"""How far a stream is landed in the versions that users rely on.

In: the running deployments and the registry. Out: a batch number. Called by the inbox, to know how much
waits. Invariant: a version that is still made, or stuck, does not keep rows of live from being taken.
"""

from __future__ import annotations

from collections.abc import Iterable

from penstock.deploy.core import Core
from penstock.model.cursor import Batches
from penstock.model.deployment import Deployment


def landed(core: Core, stream: str) -> int:
    """The last batch that live has (where live has no such stream, the others); 0 if it has none yet."""
    live = core.live()
    numbers = _numbers(core, [live] if live is not None else [], stream)
    return min(numbers or _numbers(core, core.board.running.deployments, stream), default=0)


def _numbers(core: Core, deployments: Iterable[Deployment], stream: str) -> list[int]:
    return [
        cursor.number if isinstance(cursor, Batches) else 0
        for deployment in deployments
        for landing in deployment.manifest.landings
        if landing.stream == stream
        for cursor in [core.registry.cursor(landing.table, landing.id)]
    ]
