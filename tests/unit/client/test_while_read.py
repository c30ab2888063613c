"""A project that inserts while it is read sends nothing, and is told the line."""

from __future__ import annotations

from pathlib import Path

import pytest

from python_projects import read_project, shown

MAIN = """
class Event(BaseModel):
    id: Key[str]

events = OlapTable[Event]("events")
events.insert([Event(id="a")])
"""


def test_rows_are_not_inserted_while_a_project_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", "http://127.0.0.1:9")
    found = shown(read_project(tmp_path, MAIN))
    assert found[0].startswith("app/main.py:14:1: ")
    assert "uses the network" in found[0]
