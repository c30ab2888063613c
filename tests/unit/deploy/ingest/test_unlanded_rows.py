"""What live has not landed is asked of the batch log: nobody else knows of a commit whose answer was lost."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from penstock.deploy.ingest.event_ingestion import EventIngestion
from penstock.flow.inbox.arrivals import Arrivals
from penstock.flow.inbox.inbox import Inbox
from penstock.model.cursor import BatchCursor
from penstock.parse.project_loader import load_files
from penstock.plan.planner import PlanOptions, make_plan
from penstock.state.batches import BatchLog
from penstock.state.database import open_database

FILES = {"datasources/issues.datasource": "SCHEMA >\n    id UInt64\n"}


def test_a_batch_that_nobody_was_told_of_is_not_landed(tmp_path: Path) -> None:
    database = open_database(f"sqlite:///{tmp_path}/state.db")
    log, progress = BatchLog(database), {}
    inbox = Inbox(tmp_path / "inbox", log, lambda batch: None)
    registry = SimpleNamespace(readable=lambda table: SimpleNamespace(progress=progress))
    flows = SimpleNamespace(arrivals=Arrivals({}), registry=registry)
    ingestion = EventIngestion(SimpleNamespace(), flows, inbox, log)  # type: ignore[arg-type]
    manifest = make_plan(None, load_files(FILES).project, PlanOptions("d1")).manifest
    assert manifest is not None
    live, landing = SimpleNamespace(manifest=manifest), manifest.landing("issues")
    assert landing is not None
    assert ingestion.unlanded(live) == {}  # type: ignore[arg-type]
    number = inbox.append(landing.stream, [b"{}"], None)
    assert ingestion.unlanded(live) == {"issues": 1}  # type: ignore[arg-type]
    progress[landing.id] = SimpleNamespace(cursor=BatchCursor(number))
    assert ingestion.unlanded(live) == {}  # type: ignore[arg-type]
    inbox.close()
    database.close()
