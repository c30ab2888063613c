"""`up` waits for a state store that is away, and gives up at once for what does not pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import Failed, Unavailable
from penstock.serve.server import main as module
from penstock.serve.server.main import connect_patiently
from penstock.state.database import Database, connect_database


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
    monkeypatch.setattr(module, "STORE_PAUSE", 0.0)
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
