"""Answers in the place of a Penstock server's."""

from __future__ import annotations

from collections.abc import Callable

import httpx
import pytest

from penstock.errors import Failed, PenstockError, Unavailable
from penstock.postgres.stores.penstock_server import PenstockServer


def refuse(*_: object, **__: object) -> httpx.Response:
    raise httpx.ConnectError("refused")


def answer(status: int) -> Callable[..., httpx.Response]:
    return lambda *_, **__: httpx.Response(status, json={"error": "so it is"})


@pytest.mark.parametrize(
    ("made", "kind"), [(refuse, Unavailable), (answer(503), Unavailable), (answer(400), Failed), (answer(500), Failed)]
)
def test_a_server_that_begins_or_is_away_may_be_asked_again(
    monkeypatch: pytest.MonkeyPatch, made: Callable[..., httpx.Response], kind: type[PenstockError]
) -> None:
    monkeypatch.setattr(httpx.Client, "request", made)
    with pytest.raises(PenstockError) as raised:
        PenstockServer("http://127.0.0.1:1", None).live_files()
    assert type(raised.value) is kind
