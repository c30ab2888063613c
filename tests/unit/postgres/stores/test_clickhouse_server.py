"""Answers in the place of ClickHouse's."""

from __future__ import annotations

import httpx
import pytest

from penstock.errors import Failed
from penstock.model.settings import StoreSettings
from penstock.postgres.stores.clickhouse_server import ClickHouseServer


@pytest.mark.parametrize("text", ["<html>a page</html>", "[]", '"Ok."', "{}"])
def test_what_is_no_clickhouse_is_told(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A wrong port may be that of any web server."""
    monkeypatch.setattr(httpx.Client, "post", lambda *_, **__: httpx.Response(200, text=text))
    with pytest.raises(Failed, match="is none") as raised:
        ClickHouseServer(StoreSettings("clickhouse")).rows("SELECT 1")
    assert "[stores.NAME]" in (raised.value.hint or "")


def test_a_database_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Code: 81. DB::Exception: Database tracker does not exist. (UNKNOWN_DATABASE) (version 26.9)"
    monkeypatch.setattr(httpx.Client, "post", lambda *_, **__: httpx.Response(404, text=said))
    with pytest.raises(Failed, match="Database tracker does not exist") as raised:
        ClickHouseServer(StoreSettings("clickhouse")).run("CREATE TABLE tracker.t (id Int64) ENGINE = Log")
    assert "CREATE DATABASE" in (raised.value.hint or "")
