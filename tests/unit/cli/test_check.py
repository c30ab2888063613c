from __future__ import annotations

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from unit.cli.conftest import ENDPOINT, SOURCE, Run

WRONG = "NODE n\nSQL >\n    SELECT a, leng(a) AS b FROM flights\nTYPE endpoint\n"


def test_a_sound_project_is_0(penstock: Run, project: Path) -> None:
    assert penstock("check") == (0, "1 data source, 1 pipe: no problem\n", "")
    assert penstock("check", str(project)) == penstock("check")


def test_all_problems_have_their_place_and_the_exit_code_is_1(penstock: Run, project: Path) -> None:
    (project / "wrong.pipe").write_text(WRONG)
    (project / "lost.datasource").write_text("SCHEMA >\n    a UInt7\n")
    code, out, err = penstock("check")
    assert (code, out) == (1, "")
    assert "error: the project has 2 problems" in err
    assert "lost.datasource:2:7: unknown type `UInt7`" in err
    assert "wrong.pipe:3:15: unknown function `leng`" in err


def test_keep_going_lists_what_would_deploy(penstock: Run, project: Path) -> None:
    (project / "wrong.pipe").write_text(WRONG)
    (project / "reader.pipe").write_text("NODE n\nSQL >\n    SELECT b FROM wrong\nTYPE endpoint\n")
    code, out, err = penstock("check", "--keep-going")
    assert code == 1
    assert "wrong.pipe:3:15" in err
    rows = [line.split() for line in out.splitlines()]
    assert ["flights", "datasource", "deploys"] in rows
    assert ["reader", "endpoint", "falls", "names", "wrong"] in rows
    assert ["wrong", "endpoint", "broken", "wrong.pipe"] in rows
    assert "2 of 4 resources would deploy" in out


def test_the_document_is_an_error_document_where_the_project_is_refused(penstock: Run, project: Path) -> None:
    code, out, err = penstock("check", "--output", "json")
    document = json.loads(out)
    assert (code, err, document["ok"], document["problems"]) == (0, "", True, [])
    assert document["resources"][0] == {
        "name": "flights", "kind": "datasource", "file": "datasources/flights.datasource", "outcome": "deploys",
        "because": [], "unfed_by": [],
    }  # fmt: skip
    (project / "wrong.pipe").write_text(WRONG)
    code, out, err = penstock("check", "--output", "json")
    document = json.loads(out)
    assert (code, err, document["ok"], document["code"]) == (1, "", False, "invalid-project")
    assert (document["problems"][0]["file"], document["problems"][0]["line"]) == ("wrong.pipe", 3)
    assert [each["outcome"] for each in document["resources"]] == ["deploys", "deploys", "broken"]


def test_any_folder_of_datafiles_is_checked(penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert "there are no datafiles in" in penstock("check")[2]
    (tmp_path / "tinybird.config.json").write_text("{}")
    assert "what its SDK defines in TypeScript or Python is not read here" in penstock("check")[2]
    (tmp_path / "rows.datasource").write_text("SCHEMA >\n    a UInt8\n")
    assert penstock("check")[0] == 0
    assert penstock("check", "nowhere")[0] == 1


def test_a_repository_with_datafiles_deep_in_it(penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files_beside = (
        "package.json",
        "README.md",
        ".tinyb",
        ".env.local",
        "packages/x/tests/p.yaml",
        "packages/x/old.sql",
    )
    for name in (*files_beside, "packages/x/fixtures/rows.ndjson", "node_modules/y/z.pipe"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}\n")
    monkeypatch.chdir(tmp_path)
    assert "no penstock.toml here" in penstock("up")[2]
    (tmp_path / "packages/x/datasources").mkdir()
    (tmp_path / "packages/x/datasources/rows.datasource").write_text("SCHEMA >\n    a UInt8\n")
    assert penstock("check")[:2] == (0, "1 data source, 0 pipes: no problem\n")
    assert "this folder has files of a project, but no penstock.toml" in penstock("up")[2]


@pytest.mark.parametrize("name", ["flights", "flights-v2", "minimal", "web-analytics"])
def test_every_example_is_sound(penstock: Run, tmp_path: Path, name: str) -> None:
    shutil.copytree(Path(str(files("penstock") / "examples" / name)), tmp_path / name)
    assert penstock("check", str(tmp_path / name))[0] == 0


def test_warnings_among_errors_are_named_as_such(penstock: Run, project: Path) -> None:
    (project / "datasources" / "flights.datasource").write_text(f"VERSION 1\n{SOURCE}")
    (project / "top.pipe").write_text(ENDPOINT.replace("SELECT a", "SELECT nothing"))
    code, _, err = penstock("check")
    assert (code, "the project has 1 problem" in err) == (1, True)
    assert "flights.datasource:1:1: warning: VERSION has no effect" in err
    assert "top.pipe:4:12: unknown column `nothing`" in err
