"""Which of the kept calls a run asks; without an engine."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from tests.differential.typed import kept_calls, weights
from tests.differential.typed.kept_calls import KeptCall, chosen

CALLS = [KeptCall(name, "id", "FROM w", f"{name}(i{place})") for name in ("abs", "sum-If") for place in range(500)]


def test_a_seed_chooses_the_same_calls() -> None:
    some = chosen(CALLS, 50, {}, 7)
    assert len(set(some)) == 50
    assert some == chosen(CALLS, 50, {}, 7) != chosen(CALLS, 50, {}, 8)
    assert sorted(chosen(CALLS, 5000, {}, 7)) == sorted(CALLS)


def test_what_changed_is_chosen_more_often() -> None:
    changed = [each for each in chosen(CALLS, 200, {"sum": 6}, 1) if each.function == "sum-If"]
    assert 140 < len(changed) < 200


def test_a_folder_without_git_or_history_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (weights, kept_calls):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.delenv(kept_calls.SEED, raising=False)
    assert (weights.changed_functions(), kept_calls.seed_of_commit()) == ([], 1)
    if shutil.which("git"):
        subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
        assert (weights.changed_functions(), kept_calls.seed_of_commit()) == ([], 1)
    monkeypatch.setenv("PATH", "")
    assert (weights.changed_functions(), kept_calls.seed_of_commit()) == ([], 1)


def test_every_kept_call_is_one_query() -> None:
    calls = kept_calls.kept_calls()
    assert calls
    assert len({each.query.sql for each in calls}) == len(calls)
