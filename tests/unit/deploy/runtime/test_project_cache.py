from __future__ import annotations

from datetime import datetime, timezone

import pytest

from penstock.deploy.runtime import project_cache as module
from penstock.deploy.runtime.project_cache import MOST_PROJECTS, ProjectCache
from penstock.model.deployment import Deployment
from penstock.model.manifest import Manifest

FILES = {"datasources/events.datasource": "SCHEMA >\n    `id` UInt64 `json:$.id`\n"}
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)


def deployment(id: int) -> Deployment:
    return Deployment(id, "", "live", None, NOW, NOW, FILES, {}, Manifest())


def test_files_of_a_deployment_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[object] = []
    load_files = module.load_files
    monkeypatch.setattr(module, "load_files", lambda files: parsed.append(files) or load_files(files))
    cache = ProjectCache()
    first = cache.load(deployment(1))
    assert first.project.datasources[0].name == "events"
    assert cache.load(deployment(1)) is first
    assert len(parsed) == 1


def test_the_projects_that_were_asked_for_last_are_kept() -> None:
    cache = ProjectCache()
    first = cache.load(deployment(1))
    for id in range(2, MOST_PROJECTS + 1):
        cache.load(deployment(id))
    assert cache.load(deployment(1)) is first
    second = cache.load(deployment(2))
    cache.load(deployment(MOST_PROJECTS + 1))
    assert cache.load(deployment(1)) is first
    assert cache.load(deployment(2)) is second
