"""`penstock backup` and `penstock restore`: by the server while one runs, else by a program of their own."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from unit.cli.conftest import Run

FORMER = Path(__file__).parents[2] / "former_release" / "folder.tar.gz"


@pytest.mark.usefixtures("pipeline")
def test_a_server_that_runs_makes_the_backup_itself(penstock: Run, tmp_path: Path) -> None:
    code, out, _ = penstock("backup", str(tmp_path / "backup"), "--output", "json")
    assert (code, json.loads(out)["tables"]) == (0, 1)
    assert not (tmp_path / "backup").exists(), "the server of this test makes none"


def test_a_stopped_project_is_saved_and_restored(
    penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(FORMER) as archive:
        archive.extractall(tmp_path / "saved", filter="data")
    monkeypatch.setenv("PENSTOCK_URL", "http://127.0.0.1:1")
    backup, restored = str(tmp_path / "backup"), tmp_path / "restored"
    code, out, error = penstock("backup", backup, "--project", str(tmp_path / "saved"))
    assert (code, error) == (0, "")
    assert "5 tables" in out
    code, out, error = penstock("restore", backup, str(restored))
    assert (code, error) == (0, "")
    assert f"penstock up --project {restored}" in out.replace("\n", " ")
    assert (restored / "penstock.toml").exists()
    for private in (tmp_path / "backup", restored / ".penstock"):
        assert not [path.name for path in (private, *private.iterdir()) if path.stat().st_mode & 0o077]
    assert (restored / ".penstock" / "state.db").exists()


def test_a_damaged_table_is_told_by_the_exit_code(
    penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The contract's `restore FROM` restores into --project, or into the current folder."""
    with tarfile.open(FORMER) as archive:
        archive.extractall(tmp_path / "saved", filter="data")
    home, backup = tmp_path / "saved" / ".penstock", str(tmp_path / "backup")
    assert penstock("backup", str(tmp_path / "first"), "--project", str(tmp_path / "saved"))[0] == 0
    next((home / "warehouse").rglob("totals__d2/data/**/*.parquet")).write_bytes(b"")
    monkeypatch.setenv("PENSTOCK_URL", "http://127.0.0.1:1")
    code, out, error = penstock("backup", backup, "--project", str(tmp_path / "saved"))
    assert (code, "4 tables" in out, "totals__d2 is damaged" in error) == (1, True, True)
    code, out, error = penstock("restore", backup, "--project", str(tmp_path / "one"), "--output", "json")
    assert (code, list(json.loads(out)["damaged"])) == (0, ["totals__d2"])
    assert (tmp_path / "one" / ".penstock" / "state.db").exists()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "two")
    code, out, error = penstock("restore", backup)
    assert (code, "totals__d2 is damaged" in error) == (0, True)
    assert (tmp_path / "two" / ".penstock" / "state.db").exists()


def test_a_restore_that_was_killed_is_told_by_up_and_by_backup(penstock: Run, tmp_path: Path) -> None:
    home = tmp_path / "restored" / ".penstock"
    home.mkdir(parents=True)
    (home / "restore.json").write_text(
        json.dumps({"backup": "/monday", "own_files": False, "warehouse": "/w", "inbox": "/i"})
    )
    for arguments in (("up",), ("backup", str(tmp_path / "backup"))):
        code, out, _ = penstock(*arguments, "--project", str(tmp_path / "restored"), "--output", "json")
        assert (code, json.loads(out)["code"]) == (1, "unfinished-restore")
        assert "penstock restore /monday" in json.loads(out)["problems"][0]["hint"]


def test_what_is_no_backup_is_refused_in_one_sentence(penstock: Run, tmp_path: Path) -> None:
    code, out, _ = penstock("restore", str(tmp_path), str(tmp_path / "restored"), "--output", "json")
    assert (code, json.loads(out)["code"]) == (1, "invalid-request")
    assert f"is no complete backup: {tmp_path / 'backup.json'} is missing" in json.loads(out)["error"]
    assert "`penstock backup`" in json.loads(out)["problems"][0]["hint"]


def test_a_restore_that_is_killed_says_to_run_it_again(
    penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tarfile.open(FORMER) as archive:
        archive.extractall(tmp_path / "saved", filter="data")
    monkeypatch.setenv("PENSTOCK_URL", "http://127.0.0.1:1")
    backup, restored = str(tmp_path / "backup"), str(tmp_path / "restored")
    assert penstock("backup", backup, "--project", str(tmp_path / "saved"))[0] == 0
    monkeypatch.setenv("PENSTOCK_FAULT", "restore.catalog:1")
    code, _, error = penstock("restore", backup, restored)
    assert (code, "ended with code -9\n" in error, "run the command again" in error) == (1, True, True)
    monkeypatch.delenv("PENSTOCK_FAULT")
    assert penstock("restore", backup, restored)[0] == 0
