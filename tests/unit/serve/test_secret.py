from __future__ import annotations

from pathlib import Path

import pytest

from penstock.serve.server.admin_token import ensure_admin_token
from penstock.state.database import open_database
from penstock.state.tokens import ApiTokens


@pytest.fixture
def tokens(tmp_path: Path) -> ApiTokens:
    return ApiTokens(open_database(f"sqlite:///{tmp_path / 'state.db'}"))


def test_the_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path, tokens: ApiTokens) -> None:
    ensure_admin_token(tmp_path, tokens)
    path = tmp_path / "admin_token"
    first = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    found = tokens.find(first.strip())
    assert found is not None
    assert found.scopes == ("admin",)
    ensure_admin_token(tmp_path, tokens)
    assert path.read_text() == first


@pytest.mark.parametrize("content", [None, "wrong"])
def test_a_lost_or_wrong_file_gets_another_token(tmp_path: Path, tokens: ApiTokens, content: str | None) -> None:
    ensure_admin_token(tmp_path, tokens)
    path = tmp_path / "admin_token"
    old = path.read_text().strip()
    path.unlink()
    if content is not None:
        path.write_text(content)
    ensure_admin_token(tmp_path, tokens)
    assert path.read_text().strip() != old
    assert [tokens.find(each) is not None for each in (old, path.read_text().strip())] == [True, True]
    assert [token.name for token in tokens.list()] == ["admin", "admin-2"]


def test_a_takeover_from_another_folder_keeps_the_tokens_of_producers(tmp_path: Path, tokens: ApiTokens) -> None:
    folders = [tmp_path / name for name in ("first", "second")]
    for folder in folders:
        folder.mkdir()
        ensure_admin_token(folder, tokens)
    ensure_admin_token(folders[0], tokens)
    secrets = [(folder / "admin_token").read_text().strip() for folder in folders]
    assert all(tokens.find(secret) is not None for secret in secrets)
    assert len(tokens.list()) == 2
