"""`up` waits for a state store that is away, and gives up at once for what does not pass."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from penstock.errors import Failed, Unavailable
from penstock.model.settings import Settings
from penstock.serve.server import start_connections as module
from penstock.serve.server.start_connections import await_catalog, connect_patiently
from penstock.state.database import Database, connect_database
from postgres_server import PASSWORD, USER, start_or_skip


def failure(text: str) -> Failed:
    error = Failed(f"the state store cannot be opened: {text}")
    error.__cause__ = Unavailable(text)
    return error


class Store:
    """Fails so often, then opens."""

    def __init__(self, folder: Path, *errors: Failed):
        self.url = f"sqlite:///{folder / 'state.db'}"
        self.errors = list(errors)

    def connect(self, url: str) -> Database:
        if self.errors:
            raise self.errors.pop(0)
        return connect_database(self.url)


def test_a_store_that_comes_back_is_waited_for_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    refused = failure("connection to server at 10.0.0.1 failed: Connection refused")
    starting = failure("FATAL: the database system is starting up")
    monkeypatch.setattr(module, "PAUSE", 0.0)
    monkeypatch.setattr(module, "connect_database", Store(tmp_path, refused, refused, starting).connect)
    connect_patiently("postgresql://x", 600.0).close()
    notices = capsys.readouterr().err.splitlines()
    assert len(notices) == 1
    assert "Connection refused; trying again for 10 minutes" in notices[0]
    assert '"level":"warning"' in notices[0]


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (failure("connection refused"), 0.0),
        (failure('FATAL: password authentication failed for user "x"'), 600.0),
        (Failed("the state store is on SQLite or Postgres, not on `mysql`"), 600.0),
    ],
)
def test_what_does_not_pass_ends_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Failed, seconds: float
) -> None:
    monkeypatch.setattr(module, "connect_database", Store(tmp_path, error).connect)
    with pytest.raises(Failed):
        connect_patiently("postgresql://x", seconds)


def postgres_catalog(port: int, database: str = "x") -> Settings:
    uri = f"jdbc:postgresql://127.0.0.1:{port}/{database}?user={USER}&password={quote(PASSWORD, safe='')}"
    return Settings(catalog={"uri": uri, "warehouse": "file:///nowhere"})


def test_a_catalog_that_comes_back_is_waited_for_with_a_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    postgres = start_or_skip()
    settings, shown = postgres_catalog(postgres.port), list[str]()
    monkeypatch.setattr(module, "PAUSE", 0.0)
    postgres.stop()

    def show(phase: str) -> None:
        shown.append(phase)
        if len(shown) == 2:
            postgres.start()

    await_catalog(settings, tmp_path, 600.0, show)
    postgres.end()
    notices = capsys.readouterr().err.splitlines()
    assert len(notices) == 1
    assert "the catalog does not answer" in notices[0]
    assert "trying again for 10 minutes" in notices[0]
    assert PASSWORD not in notices[0]
    assert "waiting for the catalog" in shown[0]
    with pytest.raises(Failed, match="the catalog does not answer"):
        await_catalog(settings, tmp_path, 0.0, show)


def test_a_catalog_that_refuses_or_needs_no_server_is_not_waited_for(tmp_path: Path) -> None:
    """What is wrong with it, the opening of the catalog says."""
    postgres = start_or_skip()
    await_catalog(postgres_catalog(postgres.port, "no such database"), tmp_path, 600.0, print)
    await_catalog(Settings(), tmp_path, 600.0, print)
    postgres.end()


def test_a_remote_catalog_that_is_away_is_waited_for(tmp_path: Path) -> None:
    settings = Settings(catalog={"type": "rest", "uri": "http://127.0.0.1:9", "warehouse": "w"})
    with pytest.raises(Failed, match="the catalog does not answer"):
        await_catalog(settings, tmp_path, 0.0, print)
