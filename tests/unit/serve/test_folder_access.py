from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.model.settings import InboxSettings, Settings
from penstock.serve.server.folder_access import create_private_files, make_private


@pytest.fixture(autouse=True)
def _keep_umask() -> Iterator[None]:
    kept = os.umask(0o022)
    yield
    os.umask(kept)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_a_new_folder_is_its_owners(tmp_path: Path) -> None:
    make_private(tmp_path / "home")
    assert mode(tmp_path / "home") == 0o700


@pytest.mark.parametrize(
    ("before", "after", "file"),
    [(0o755, 0o700, 0o600), (0o777, 0o700, 0o600), (0o775, 0o700, 0o600), (0o750, 0o750, 0o640), (0o770, 0o770, 0o640)],
)
def test_a_folder_of_a_former_release_is_closed_unless_it_was_shared_with_a_group(
    tmp_path: Path, before: int, after: int, file: int
) -> None:
    home = tmp_path / "home"
    (home / "inbox").mkdir(parents=True)
    (home / "state.db").write_text("x")
    outside = tmp_path / "outside"
    outside.write_text("x")
    (home / "link").symlink_to(outside)
    home.chmod(before)
    make_private(home)
    assert (mode(home), mode(home / "state.db"), mode(outside)) == (after, file, 0o644)
    assert mode(home / "inbox") & 0o007 == 0


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        (Settings(), 0o600),
        (Settings(catalog={"warehouse": "file:///data"}), 0o644),
        (Settings(inbox=InboxSettings(folder="/inbox")), 0o644),
    ],
)
def test_tables_that_others_may_read_keep_the_users_umask(tmp_path: Path, settings: Settings, expected: int) -> None:
    create_private_files(settings)
    (tmp_path / "file").write_text("x")
    assert mode(tmp_path / "file") == expected
