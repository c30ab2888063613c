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
