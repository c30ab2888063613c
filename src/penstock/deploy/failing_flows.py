"""The flows that fail now: which, why, since when and what to do. The first thing that an operator wants to see.

In: the scheduler's failures and the running deployments. Out: `FailingFlow` values, those of live first. Invariant: a
flow is listed from its first failed step until a step of it succeeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from penstock.deploy.runtime.running_deployments import DeploymentBoard
from penstock.deploy.runtime.running_flows import RunningFlows
from penstock.flow.work_items import WorkItem
from penstock.model.manifest import View


@dataclass(frozen=True, slots=True)
class FailingFlow:
    """A flow whose last step failed."""

    table: str
    flow: str
    datasource: str
    """The data source that gets no rows from it."""
    deployments: tuple[int, ...]
    """The deployments that need it."""
    is_live: bool
    message: str
    attempts: int
    """How many steps have failed in a row."""
    since: datetime
    hint: str
    """What to do."""

    def __str__(self) -> str:
        of = "" if self.is_live else f" of deployment {', '.join(map(str, self.deployments))}"
        since = self.since.isoformat(timespec="seconds")
        return f"{self.flow} into `{self.datasource}`{of} fails since {since}: {self.message}"

    def as_json(self) -> dict[str, object]:
        return {
            "table": self.table,
            "flow": self.flow,
            "datasource": self.datasource,
            "deployments": list(self.deployments),
            "live": self.is_live,
            "message": self.message,
            "attempts": self.attempts,
            "since": self.since.isoformat(timespec="seconds"),
            "hint": self.hint,
        }


def failing_flows(flows: RunningFlows, board: DeploymentBoard) -> Sequence[FailingFlow]:
    """The flows that fail now, those of live first, then those that fail longest."""
    works = {work.key: work for work in flows.scheduler.work}
    live = board.live()
    manifests = [each.manifest for each in board.running.deployments]
    found = []
    for (table, flow), failure in flows.scheduler.failures.items():
        work = works.get((table, flow))
        needing = work.deployments if work is not None else ()
        names = (manifest.name_of(table) for manifest in manifests)
        found.append(
            FailingFlow(
                table,
                flow,
                next((name for name in names if name != table), table),
                needing,
                live is not None and live.id in needing,
                failure.message,
                failure.attempts,
                failure.since,
                failure.hint or _advice(work),
            )
        )
    return sorted(found, key=lambda each: (not each.is_live, each.since))


def _advice(work: WorkItem | None) -> str:
    if work is not None and isinstance(work.run, View):
        if work.run.on_error == "stop":
            return (
                "only this view waits: correct its query and deploy, or write `ON_ERROR quarantine` in its node and "
                "deploy, so that rows for which it fails go to the quarantine of its target"
            )
        return (
            "only this view waits. At its third attempt the rows for which it fails go to the quarantine of its target;"
            " if it still fails then, correct its query or a table that it joins, and deploy"
        )
    return "its rows are kept and the step is tried again by itself; the log has the cause"
