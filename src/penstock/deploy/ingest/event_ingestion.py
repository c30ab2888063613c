"""Rows that come in by HTTP: find their stream, keep them, say what became of them.

In: a data source's name and a body of NDJSON. Out: `Receipt`. Called by `pipeline`. Invariant: a
receipt exists only for rows that are on disk and in the batch log.

How far a stream is landed in the versions that users rely on.

In: the running deployments and the registry. Out: a batch number. Called by the inbox, to know how much
waits. Invariant: a version that is still made, or stuck, does not keep rows of live from being taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from penstock.deploy.runtime.core import Core
from penstock.errors import InvalidRequest, NotFound, Timeout, did_you_mean
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.lag import find_lags
from penstock.flow.landing.row_parser import RowParser
from penstock.model.cursor import BatchCursor
from penstock.model.deployment import Deployment
from penstock.model.manifest import Landing


@dataclass(frozen=True, slots=True)
class Receipt:
    """`batch` is the number in the stream's batch log. Rows are counted by the rules of the version
    that is live: the quarantined ones do not fit it."""

    stream: str
    batch: int
    successful_rows: int
    quarantined_rows: int


def append(core: Core, inbox: Inbox, name: str, body: bytes, key: str | None) -> Receipt:
    """Keep the rows of a body, durably.

    Raises NotFound for a name without table, InvalidRequest for a body without JSON.
    """
    landing = _landing(core, name)
    lines = [line for raw in body.split(b"\n") if (line := raw.strip())]
    quarantined = _rejected(_typer(landing), lines)
    if not lines or (quarantined == len(lines) and not any(map(_is_json, lines))):
        raise InvalidRequest("the body holds no JSON", hint="send one JSON object a line (NDJSON)")
    batch = inbox.append(landing.stream, lines, key)
    return Receipt(landing.stream, batch, len(lines) - quarantined, quarantined)


def wait(core: Core, receipt: Receipt, timeout: float) -> Receipt:
    """Return when the receipt's batch is in every live table that derives from its stream.

    Raises Timeout; the rows are kept all the same.
    """
    heads = {receipt.stream: receipt.batch}

    def arrived() -> bool:
        live = core.live()
        return live is not None and not find_lags(core.registry, live.manifest, heads)

    if not core.scheduler.wait(arrived, timeout):
        raise Timeout("the rows are kept but not queryable yet", hint="see `penstock status` for failing flows")
    return receipt


def _landing(core: Core, name: str) -> Landing:
    """The landing of the live version; of one that is ready where live does not have the name."""
    known: list[str] = []
    for deployment in sorted(core.board.running.deployments, key=lambda each: each.state != "live"):
        if deployment.state in ("live", "ready"):
            landing = deployment.manifest.landing(name)
            if landing is not None:
                return landing
            known += [binding.name for binding in deployment.manifest.bindings]
    raise NotFound(f"there is no data source `{name}`", hint=did_you_mean(name, known) or "deploy a project first")


@lru_cache(maxsize=256)
def _typer(landing: Landing) -> RowParser:
    return RowParser((landing,))


def _rejected(typer: RowParser, lines: Sequence[bytes]) -> int:
    return sum(1 for line in lines if typer.type(line).rejects)


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def landed_batch(core: Core, stream: str) -> int:
    """The last batch that live has (where live has no such stream, the others); 0 if it has none yet."""
    live = core.live()
    numbers = _numbers(core, [live] if live is not None else [], stream)
    return min(numbers or _numbers(core, core.board.running.deployments, stream), default=0)


def _numbers(core: Core, deployments: Iterable[Deployment], stream: str) -> list[int]:
    return [
        cursor.number if isinstance(cursor, BatchCursor) else 0
        for deployment in deployments
        for landing in deployment.manifest.landings
        if landing.stream == stream
        for cursor in [core.registry.cursor(landing.table, landing.id)]
    ]
