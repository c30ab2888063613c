from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli.conftest import Run

BEFORE = "SCHEMA >\n    a UInt8 `json:$.a`\n"
AFTER = BEFORE.rstrip() + ",\n    b Nullable(String) `json:$.b`\n"


def folder(place: Path, text: str) -> str:
    place.mkdir()
    (place / "flights.datasource").write_text(text)
    return str(place)


def test_a_plan_needs_no_server(penstock: Run, tmp_path: Path) -> None:
    pytest.importorskip("penstock.plan.offline")
    before, after = folder(tmp_path / "before", BEFORE), folder(tmp_path / "after", AFTER)
    code, out, _ = penstock("plan", before, after)
    assert (code, "in_place" in out) == (0, True)
    code, out, _ = penstock("plan", before, after, "--output", "json")
    assert [each["strategy"] for each in json.loads(out)["resources"]] == ["in_place"]
    assert "nothing changes" in penstock("plan", before, before)[1]


def test_a_wrong_project_is_1_with_its_problems(penstock: Run, tmp_path: Path) -> None:
    pytest.importorskip("penstock.plan.offline")
    before, after = folder(tmp_path / "before", BEFORE), folder(tmp_path / "after", "SCHEMA >\n    a UInt7\n")
    code, out, err = penstock("plan", before, after)
    assert (code, out) == (1, "")
    assert "flights.datasource:2:7" in err
    assert penstock("plan", before, str(tmp_path / "nowhere"))[0] == 1
    refused = folder(tmp_path / "refused", "SCHEMA >\n    a UUID `json:$.a`\n")
    code, out, _ = penstock("plan", before, refused, "--output", "json")
    assert (code, json.loads(out)["problems"][0]["level"]) == (1, "error")


def test_why_and_places_need_no_server(penstock: Run, tmp_path: Path) -> None:
    before, after = folder(tmp_path / "before", BEFORE), folder(tmp_path / "after", AFTER)
    code, out, _ = penstock("plan", before, after, "--why", "flights", "--all")
    assert code == 0
    assert (
        "Why flights is in_place\n  1. in_place, where every column keeps the values that are stored: it applies" in out
    )
    assert "`b` Nullable(String) added (flights.datasource:3)" in out
    assert "add to flights__d1: b" in out
    code, _, err = penstock("plan", before, after, "--why", "flight")
    assert (code, "did you mean `flights`?" in err) == (2, True)
