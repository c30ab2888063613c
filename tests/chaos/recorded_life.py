"""The life of a pipeline for the power cut tests, and the life after a power cut.

`recorded_life.py <folder>`, under the recorder: in the empty folder a pipeline lands rows, feeds views, fills a second
version, promotes it, compacts, expires and trims; each answer to a post is a line of the file `acknowledged`. It ends
without closing. `recorded_life.py <folder> after` opens what is left and prints as JSON how many batches there are
and, by running deployment, the answer to each query once all rows are in every table. `recorded_life.py <folder>
"beside damage"`, over a damaged table `total`, prints the drift, and the code of the error of a query of it, once
another row is in `events`. A life ends with all processes of its session, none of them between a change of a file and
its record.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from chaos.project_versions import QUERIES, V1, V2, row
from chaos.recorded_disk import end_recording, end_session
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.maintenance.snapshot_cleanup import SnapshotExpiry
from penstock.deploy.pipeline import Pipeline
from penstock.errors import PenstockError
from penstock.flow import materialized_view
from penstock.flow.landing import direct_landing
from penstock.model.settings import (
    MaintenanceSettings,
    Settings,
    SparkSettings,
)
from waiting import wait_until

ACKNOWLEDGED = "acknowledged"
ROWS = 20
UNDER_WAY = {"preparing", "backfilling"}
SETTINGS = Settings(
    spark=SparkSettings(
        master="local[2]", driver_memory="1g", conf=json.loads(os.environ.get("PENSTOCK_POWER_CUT_CONF", "{}"))
    ),
    maintenance=MaintenanceSettings(interval_seconds=1, compact_files=4, snapshot_seconds=1, inbox_seconds=1),
)


class Life:
    """A pipeline, and the rows posted to it."""

    def __init__(self, home: Path):
        if SETTINGS.spark.conf:  # with another file system, whose files are to be looked at: no others are written
            direct_landing.SMALL_ROWS = materialized_view.DIRECT_STEP_ROWS = -1
        self.pipeline = Pipeline(SETTINGS, home)
        self._told = os.open(home / ACKNOWLEDGED, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._posted = 0

    def deploy(self, files: dict[str, str], promote: bool, then: Callable[[], None]) -> None:
        """Deploy; while the history is filled, call `then`."""
        made = self.pipeline.deployer.deploy(files, DeployOptions(False, promote, False, None))
        then()
        for _ in self.pipeline.deployer.events(made.id):
            pass
        self.until(lambda: self.pipeline.store.find(str(made.id)).state == ("live" if promote else "ready"))

    def post(self, times: int) -> None:
        """Post bodies, each when the one before is in every table."""
        for _ in range(times):
            first, self._posted = self._posted, self._posted + ROWS
            body = "\n".join(json.dumps(row(number)) for number in range(first, self._posted)).encode()
            receipt = self.pipeline.ingestion.append("events", body, f"from {first}")
            told = {"batch": receipt.batch, "first": first, "end": self._posted}
            os.write(self._told, json.dumps(told).encode() + b"\n")
            self.pipeline.ingestion.wait(receipt, 180)

    def until(self, done: Callable[[], bool]) -> None:
        wait_until(done, 240, self.pipeline.status)

    def until_cleaned(self) -> None:
        """Wait for a compaction, an expiry and a trim."""
        counts = self.pipeline.maintenance.counts
        self.until(lambda: all(counts.done.get(kind) for kind in ("compaction", "expiry", "trim")))


def first_life(home: Path) -> None:
    # No reader is older than that here, and steps may take long on a busy machine.
    SnapshotExpiry.safe = property(lambda self: 3.0)  # type: ignore[method-assign, assignment]
    life = Life(home)
    life.deploy(V1, True, lambda: None)
    life.post(8)
    life.deploy(V2, False, lambda: life.post(2))
    life.post(2)
    life.pipeline.deployer.promote(None)
    life.post(4)
    life.until_cleaned()
    life.post(2)


def life_after(home: Path) -> None:
    life = Life(home)
    pipeline = life.pipeline
    life.until(lambda: not {each.state for each in pipeline.store.deployments.list()} & UNDER_WAY)
    life.until(lambda: not any(each["behind"] for each in pipeline.status()["deployments"]))  # type: ignore[attr-defined, index]
    running = [each for each in pipeline.store.deployments.list() if each.state in ("ready", "live", "previous")]
    answers = {
        f"{each.id} {name}": [int(str(value)) for value in pipeline.reader.sql(sql, str(each.id)).rows[0]]
        for each in running
        for name, sql in QUERIES.items()
    }
    print(json.dumps({"batches": pipeline.batches.head("events"), "answers": answers}))


def life_beside_damage(home: Path) -> None:
    life = Life(home)
    pipeline = life.pipeline
    before = pipeline.reader.sql("SELECT count() FROM events", "live").rows[0][0]
    pipeline.ingestion.append("events", json.dumps(row(1)).encode(), None)
    life.until(lambda: pipeline.reader.sql("SELECT count() FROM events", "live").rows[0][0] == before + 1)
    pipeline.drift.run_once()
    try:
        pipeline.reader.sql(QUERIES["total"], "live")
    except PenstockError as error:
        print(json.dumps({"drift": [each.difference.kind for each in pipeline.drift.found], "code": error.code}))


LIVES = {"first": first_life, "after": life_after, "beside damage": life_beside_damage}


def main() -> None:
    LIVES[sys.argv[2] if len(sys.argv) > 2 else "first"](Path(sys.argv[1]))
    sys.stdout.flush()
    if log := os.environ.get("PENSTOCK_DISK_LOG"):
        end_recording(log)
    end_session(os.getsid(0))
    os._exit(0)


if __name__ == "__main__":
    main()
