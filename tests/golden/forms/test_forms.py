"""Each form of `forms.toml`, as a file of a project: what its own parser takes is not refused."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomllib

from penstock.parse.project_loader import load_files
from penstock.plan.project_check import check_loaded

FORMS: list[Mapping[str, Any]] = tomllib.loads((Path(__file__).parent / "forms.toml").read_text("utf-8"))["form"]
BESIDE = {
    "events.datasource": "SCHEMA >\n    at DateTime, kind String, service LowCardinality(String), ms UInt32\n",
    "daily.datasource": "SCHEMA >\n    day Date, hits AggregateFunction(count)\nENGINE AggregatingMergeTree\n"
    "ENGINE_SORTING_KEY day\n",
    "snapshot.datasource": "SCHEMA >\n    at DateTime, kind String, service LowCardinality(String), ms UInt32\n",
    "people.pipe": "NODE people\nSQL >\n    SELECT 'a' AS name\n",
}


def file_of(form: Mapping[str, Any]) -> dict[str, str]:
    if "datasource" in form:
        return {"x.datasource": form["datasource"]}
    if "pipe" in form:
        return {"x.pipe": form["pipe"]}
    return {"x.pipe": f"NODE n\nSQL >\n    %\n{form['template']}\n\nTYPE endpoint\n"}


@pytest.mark.parametrize("form", FORMS, ids=[form["name"] for form in FORMS])
def test_what_becomes_of_it(form: Mapping[str, Any]) -> None:
    found = check_loaded(load_files({**BESIDE, **file_of(form)}))
    expected = form.get("expect", "accepted")
    if expected in ("accepted", "warned"):
        assert [str(problem) for problem in found.errors] == []
        assert bool(found.problems) == (expected == "warned"), [str(problem) for problem in found.problems]
    else:
        assert found.errors[0].code == expected


def test_each_form_says_how_often_it_was_seen() -> None:
    names = [form["name"] for form in FORMS]
    assert len(set(names)) == len(names)
    assert all(isinstance(form["seen"], int) and form["seen"] >= 0 for form in FORMS)
