from __future__ import annotations

import json
from pathlib import Path

import pytest

from unit.cli.conftest import Run

PIPE = "NODE a\nSQL >\n    SELECT a, countState() AS n FROM t GROUP BY a\nTYPE materialized\nDATASOURCE m\nENGINE x\n"


def write_classic(folder: Path) -> None:
    (folder / "t.datasource").write_text("VERSION 1\nSCHEMA >\n    a Int8\n")
    (folder / "p.pipe").write_text(PIPE.replace("ENGINE x", "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY a"))


def test_the_difference_is_shown_and_nothing_is_written(penstock: Run, tmp_path: Path) -> None:
    write_classic(tmp_path)
    code, out, err = penstock("migrate", str(tmp_path))
    assert (code, err) == (0, "")
    assert "-VERSION 1" in out
    assert "+++ m.datasource" in out
    assert "3 files would change; `penstock migrate --write` writes them" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["p.pipe", "t.datasource"]


def test_written_files_have_no_problem(penstock: Run, tmp_path: Path) -> None:
    write_classic(tmp_path)
    assert penstock("check", str(tmp_path))[0] == 1
    assert penstock("migrate", str(tmp_path), "--write")[:2] == (0, "3 files changed\n")
    assert penstock("check", str(tmp_path))[0] == 0
    assert penstock("migrate", str(tmp_path))[:2] == (0, "nothing to convert\n")


def test_what_a_person_has_to_decide(penstock: Run, tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(f"INCLUDE no.incl\n{PIPE}")
    code, out, _ = penstock("migrate", str(tmp_path), "--output", "json")
    document = json.loads(out)
    assert code == 1
    assert [each["path"] for each in document["files"]] == ["p.pipe"]
    assert [each["message"] for each in document["problems"]] == [
        "there is no file `no.incl` to include",
        "the columns of `m` cannot be read from its query: unknown data source or pipe `t`",
    ]


def test_a_folder_without_datafiles(penstock: Run, tmp_path: Path) -> None:
    code, _, err = penstock("migrate", str(tmp_path))
    assert (code, "there are no datafiles" in err) == (1, True)


def test_the_environment_says_which_file_is_included(
    penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_classic(tmp_path)
    (tmp_path / "prod.incl").write_text(PIPE.replace("ENGINE x\n", ""))
    (tmp_path / "p.pipe").write_text('INCLUDE "${stage_of_test}.incl"\n')
    code, _, err = penstock("migrate", str(tmp_path))
    assert (code, "stage_of_test=… penstock migrate" in err) == (1, True)
    monkeypatch.setenv("stage_of_test", "prod")
    assert "+NODE a" in penstock("migrate", str(tmp_path))[1]
