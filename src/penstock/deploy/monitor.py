"""What operators ask a running pipeline: its status, its figures, its health, in every outage.

In: the parts of a pipeline. Out: status, figures and checks. Invariant: an answer takes at most ANSWER_SECONDS,
whatever hangs; what could not be read is as it was last read, and says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.deploy.figures import PipelineFigures, read_figures
from penstock.deploy.health import HealthChecks, local_folder
from penstock.deploy.ingest.imports.file_import import ImportStatus
from penstock.deploy.ingest.topics.topic_status import TopicStatus
from penstock.deploy.lifecycle.drift_watch import Drift
from penstock.deploy.maintenance.maintained_tables import MaintenanceCounts
from penstock.deploy.runtime.background_reading import Reading, SharedRead
from penstock.deploy.runtime.core import Core
from penstock.deploy.runtime_config import inbox_folder
from penstock.deploy.status import pipeline_status, status_in_outage
from penstock.flow.inbox.inbox import Inbox
from penstock.state.batches import BatchLog
from penstock.state.database import Database

ANSWER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class MonitoredParts:
    """What is monitored."""

    core: Core
    database: Database
    batches: BatchLog
    inbox: Inbox
    drift: Callable[[], Iterable[Drift]]
    maintenance: MaintenanceCounts
    topics: Callable[[], Sequence[TopicStatus]]
    imports: Callable[[], Sequence[ImportStatus]]


class PipelineMonitor:
    """Answers for one pipeline. `health` has its checks."""

    def __init__(self, parts: MonitoredParts, home: Path):
        self._parts = parts
        self.health = HealthChecks(parts.core, parts.database, parts.inbox, monitored_folders(parts.core, home))
        self._status = SharedRead("status", self._read_status)
        self._figures = SharedRead("figures", self._read_figures)

    def start(self) -> None:
        self.health.start()

    def stop(self) -> None:
        self.health.stop()

    def status(self) -> dict[str, object]:
        """The running deployments, their progress and what fails, as JSON values; while the store or the catalog do not
        answer, as they were when they last did, with what fails and which checks fail now."""
        found = status_in_outage(self._parts.core, self._status.wait(ANSWER_SECONDS), self.health.checks())
        topics, imports = self._parts.topics(), self._parts.imports()
        return {
            **found,
            "topics": [each.as_json() for each in topics],
            "imports": [each.as_json() for each in imports],
        }

    def figures(self) -> Reading[PipelineFigures]:
        """The figures for `/metrics`; the last ones while the store or the catalog do not answer."""
        return self._figures.wait(ANSWER_SECONDS)

    def _read_status(self) -> dict[str, object]:
        parts = self._parts
        return pipeline_status(parts.core, parts.batches, parts.drift(), parts.maintenance)

    def _read_figures(self) -> PipelineFigures:
        parts = self._parts
        found = read_figures(parts.core, parts.batches, parts.inbox, parts.drift(), parts.maintenance)
        return replace(found, topics=tuple(parts.topics()), imports=tuple(parts.imports()))


def monitored_folders(core: Core, home: Path) -> dict[str, Path]:
    """The folders whose disks must not become full; a warehouse that is not on this machine has none."""
    settings = core.settings
    tables = local_folder(settings.catalog.get("warehouse", (home / "warehouse").as_uri()))
    folders = {"inbox": inbox_folder(settings, home), "state": home}
    return folders | ({"warehouse": tables} if tables is not None else {})
