"""The parts of a pipeline start in their listed order and stop in reverse order. Spark is a mock."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import MagicMock

import pytest

from penstock.deploy import pipeline as module
from penstock.deploy.lifecycle import table_cleanup
from penstock.deploy.pipeline import Pipeline, PipelinePart
from penstock.model.settings import Settings


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    lake = MagicMock()
    monkeypatch.setattr(module, "open_lake", lambda settings, home, java: lake)
    monkeypatch.setattr(table_cleanup.physical_tables, "list_tables", lambda lake: ())
    return lake


def test_a_pipeline_without_deployments_opens_and_closes(lake: MagicMock, tmp_path: Path) -> None:
    pipeline = Pipeline(Settings(), tmp_path)
    assert pipeline.ready
    status = pipeline.status()
    assert (status["deployments"], status["failures"], status["apart"]) == ([], [], {"process": None, "tables": []})
    pipeline.close()
    assert not pipeline.ready
    lake.close.assert_called_once_with()


def test_parts_stop_in_reverse_order(lake: MagicMock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def recorded(self: Pipeline) -> tuple[PipelinePart, ...]:
        return tuple(
            PipelinePart(
                part.name,
                lambda part=part: calls.append(f"start {part.name}"),  # type: ignore[misc]
                lambda part=part: calls.append(f"stop {part.name}"),  # type: ignore[misc]
            )
            for part in listed(self)
        )

    listed = Pipeline._list_parts
    monkeypatch.setattr(Pipeline, "_list_parts", recorded)
    pipeline = Pipeline(Settings(), tmp_path)
    started = [call.removeprefix("start ") for call in calls]
    assert started.index("scheduler") < started.index("unfinished deployments") < started.index("copies")
    calls.clear()
    pipeline.close()
    pipeline.database.close()
    assert calls == [f"stop {name}" for name in reversed(started)]
    assert calls.index("stop inbox") < calls.index("stop scheduler") < calls.index("stop Spark")
