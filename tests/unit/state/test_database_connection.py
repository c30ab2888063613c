from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from penstock.errors import Failed
from penstock.state.database import make_engine, open_database
from postgres_server import PASSWORD, Postgres


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg2"])
def test_every_way_to_write_the_address_and_any_password(postgres: Postgres, scheme: str) -> None:
    url = postgres.store().replace("postgresql://", f"{scheme}://")
    open_database(url).close()
    again = open_database(url)
    assert quote(PASSWORD, safe="") not in repr(again)
    again.close()


def test_options_of_the_address_are_added_to_ours(postgres: Postgres) -> None:
    options = "?application_name=mine&options=" + quote("-c lock_timeout=7s -c search_path=" + postgres.schema())
    opened = open_database(postgres.url() + options)
    with opened.read() as connection:
        names = ("application_name", "lock_timeout", "synchronous_commit", "default_transaction_isolation")
        found = [connection.exec_driver_sql(f"SHOW {name}").scalar() for name in names]
    opened.close()
    assert found == ["mine", "7s", "on", "read committed"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("/postgres?", "/nothing?"), "does not exist"),
        ((quote(PASSWORD, safe=""), "wr%40ng"), "password authentication failed"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, change: tuple[str, str], said: str
) -> None:
    monkeypatch.setattr("penstock.state.database.RETRY_SECONDS", 0.1)
    with pytest.raises(Failed, match=said) as raised:
        open_database(postgres.store().replace(*change))
    for secret in (PASSWORD, quote(PASSWORD, safe=""), "wr@ng", "wr%40ng"):
        assert secret not in str(raised.value)
    assert "penstock:***@" in str(raised.value)


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.state.database.RETRY_SECONDS", 0.1)
    pytest.importorskip("psycopg2")
    with pytest.raises(Failed, match="cannot be opened"):
        open_database("postgresql://me:secret@127.0.0.1:1/db")


@pytest.mark.parametrize(
    "url", ["postgresql://me:se@cret@host/db", "nothing at all: secret", "postgresql://me:secret@h:port/db"]
)
def test_an_address_that_is_none_is_said_without_the_password(url: str) -> None:
    with pytest.raises(Failed) as raised:
        make_engine(url)
    assert "cret" not in str(raised.value) + str(raised.value.__cause__)


def test_another_database_is_said() -> None:
    with pytest.raises(Failed, match="on SQLite or Postgres, not on `oracle7`"):
        make_engine("oracle7://host/db")


def test_a_missing_driver_is_said_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg2", None)
    with pytest.raises(Failed, match="psycopg2 is missing") as raised:
        make_engine("postgresql://me:secret@host/db")
    assert "penstock[postgres]" in (raised.value.hint or "")


def test_a_file_that_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "state.db").write_text("nothing of the kind" * 100)
    with pytest.raises(Failed, match="cannot be opened"):
        open_database(f"sqlite:///{tmp_path / 'state.db'}")
