"""What a candidate may hold up for others, after which it fails: raw batches, snapshots and time.

In: a running deployment that is neither live nor previous, and the limits of `[deploy]`. Out: `CandidateUsage`; a
candidate over a limit becomes `failed`, which releases everything that was kept for it. Invariant: only flows that
live does not run count, so a candidate is never failed for what live does, and live never is.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import TypeAlias

from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime.periodic_task import PeriodicTask
from penstock.errors import Failed, Problem
from penstock.flow.lag import FlowLag, find_lags
from penstock.model.cursor import BatchCursor, HistoryCursor, TailCursor, encode_cursor
from penstock.model.deployment import Deployment, DeploymentState
from penstock.model.manifest import Flow, Landing, View
from penstock.model.settings import DeploySettings
from penstock.state.batches import BatchLog

PAUSE = 60.0
CANDIDATES: tuple[DeploymentState, ...] = ("backfilling", "ready")
STILL_SECONDS = 3_600.0
"""A candidate is stalled if no flow of its own has moved for so long; one that fills a long history moves."""
log = logging.getLogger("penstock.deploy")
Positions: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CandidateUsage:
    """What is kept for a candidate alone, and how long it has stood still."""

    inbox_bytes: int = 0
    """Raw batches that live has landed and the candidate has not, without those that are young enough to be kept for
    nobody."""
    snapshots: int = 0
    """The most snapshots of one table that it has not read."""
    stalled_seconds: float = 0.0
    """How long its oldest row has waited; 0 while its flows move."""


def exceeded_limit(usage: CandidateUsage, limits: DeploySettings) -> str | None:
    """Which limit a candidate exceeds, as a sentence; None if it exceeds none."""
    if usage.inbox_bytes > limits.candidate_inbox_bytes:
        return (
            f"{usage.inbox_bytes:,} bytes of raw rows wait in the inbox for it alone, more than the "
            f"{limits.candidate_inbox_bytes:,} of [deploy] candidate_inbox_bytes"
        )
    if usage.snapshots > limits.candidate_snapshots:
        return (
            f"{usage.snapshots:,} snapshots of one table are kept for it, more than the "
            f"{limits.candidate_snapshots:,} of [deploy] candidate_snapshots"
        )
    if usage.stalled_seconds > limits.candidate_stalled_hours * 3600.0:
        return (
            f"it has stood still while rows waited for {usage.stalled_seconds / 3600:,.0f} hours, more than the "
            f"{limits.candidate_stalled_hours} of [deploy] candidate_stalled_hours"
        )
    return None


class CandidateBudget(PeriodicTask):
    """Checks every candidate once a minute."""

    def __init__(self, core: Core, batches: BatchLog):
        super().__init__("candidate budget", PAUSE)
        self._core = core
        self._batches = batches
        self._moved: dict[int, tuple[Positions, float]] = {}

    def run_once(self) -> None:
        """Fail the candidates that exceed a limit."""
        candidates = [each for each in self._core.board.running.deployments if each.state in CANDIDATES]
        self._moved = {each.id: self._moved[each.id] for each in candidates if each.id in self._moved}
        self.try_each({f"what is kept for deployment {each.id}": partial(self._check, each) for each in candidates})

    def _check(self, candidate: Deployment) -> None:
        why = exceeded_limit(self.usage(candidate), self._core.settings.deploy)
        if why is not None:
            self._fail(candidate, why)

    def usage(self, candidate: Deployment) -> CandidateUsage:
        """What is kept for a candidate now."""
        flows = tuple(self._own_flows(candidate))
        return CandidateUsage(
            sum(self._bytes_kept(flow) for flow in flows if isinstance(flow, Landing)),
            max((self._snapshots_kept(flow) for flow in flows if isinstance(flow, View)), default=0),
            self._stalled_seconds(candidate, flows),
        )

    def _own_flows(self, candidate: Deployment) -> Iterator[Flow]:
        """The flows that live does not run."""
        live = self._core.board.live()
        known = {(flow.table, flow.id) for flow in live.manifest.flows} if live is not None else set()
        return (flow for flow in candidate.manifest.flows if (flow.table, flow.id) not in known)

    def _bytes_kept(self, landing: Landing) -> int:
        live = self._core.board.live()
        theirs = [each for each in live.manifest.landings if each.stream == landing.stream] if live is not None else []
        kept_anyway = timedelta(seconds=self._core.settings.maintenance.inbox_seconds)
        old = self._batches.last_received(landing.stream, datetime.now(timezone.utc) - kept_anyway)
        upto = min((old, *(self._landed(each) for each in theirs))) if theirs else 0
        first = self._batches.first_untrimmed(landing.stream, self._landed(landing))
        return self._batches.bytes_between(landing.stream, first - 1, upto) if first is not None else 0

    def _landed(self, landing: Landing) -> int:
        cursor = self._core.warehouse.registry.cursor(landing.table, landing.id)
        return cursor.number if isinstance(cursor, BatchCursor) else 0

    def _snapshots_kept(self, view: View) -> int:
        registry = self._core.warehouse.registry
        source, cursor = registry.snapshots(view.trigger.binding.table), registry.cursor(view.table, view.id)
        read = cursor.snapshot if isinstance(cursor, (TailCursor, HistoryCursor)) else None
        return source.kept_after(read) if read is not None else 0

    def _stalled_seconds(self, candidate: Deployment, flows: tuple[Flow, ...]) -> float:
        registry, now = self._core.warehouse.registry, time.monotonic()
        cursors = (registry.cursor(flow.table, flow.id) for flow in flows)
        positions = tuple(encode_cursor(each) if each is not None else "" for each in cursors)
        before, since = self._moved.get(candidate.id, (None, now))
        since = since if before == positions else now
        self._moved[candidate.id] = (positions, since)
        if now - since < STILL_SECONDS:
            return 0.0
        own = {(flow.table, flow.id) for flow in flows}
        late = find_lags(registry, candidate.manifest, self._core.flows.arrivals.heads)
        return max((self._waited(candidate, each) for each in late if (each.table, each.flow) in own), default=0.0)

    def _waited(self, candidate: Deployment, lag: FlowLag) -> float:
        """Seconds by the dates in the state store, which outlast a restart."""
        first = self._batches.first_received(lag.stream, lag.at) if lag.stream else candidate.updated_at
        return (datetime.now(timezone.utc) - first).total_seconds() if first is not None else 0.0

    def _fail(self, candidate: Deployment, why: str) -> None:
        message = f"deployment {candidate.id} was ended for the sake of live: {why}"
        hint = "`penstock deployment discard` removes its tables; correct what held it up, and deploy again"
        log.error("%s", message)
        error = Failed(message, [Problem("candidate-limit", message, hint=hint)])
        self._core.store.deployments.move(candidate.id, "failed", of=CANDIDATES, error=error.as_json())
        self._core.board.refresh()
