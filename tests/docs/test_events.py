"""The client's loop of docs/events.md does what the page says."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

PAGE = (Path(__file__).parents[2] / "docs/events.md").read_text(encoding="utf-8")


def loop_of_the_page() -> Callable[..., dict[str, int]]:
    found: dict[str, Any] = {}
    exec(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0], found)
    send: Callable[..., dict[str, int]] = found["send"]
    return send


def client(answers: list[httpx.Response | None], keys: list[str]) -> httpx.Client:
    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        given = answers.pop(0)
        if given is None:
            raise httpx.ReadError("the connection is lost")
        return given

    return httpx.Client(base_url="http://server", transport=httpx.MockTransport(answer))


def test_the_loop_sends_a_body_again_with_its_key() -> None:
    counts, keys = {"successful_rows": 1, "quarantined_rows": 0}, list[str]()
    busy = httpx.Response(503, headers={"Retry-After": "0"})
    assert loop_of_the_page()(client([busy, None, httpx.Response(202, json=counts)], keys), "visits", [{}]) == counts
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_the_loop_gives_up_what_is_refused_for_good() -> None:
    with pytest.raises(ValueError, match="reused-key"):
        loop_of_the_page()(client([httpx.Response(409, text="reused-key")], []), "visits", [{}])
