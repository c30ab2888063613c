"""A ClickHouse server by its HTTP interface.

In: statements. Out: rows. Invariants: user and password go in headers, never in an address that a log may show; what
the server refuses leaves as Failed with its words, and no answer as Unavailable.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Protocol

import httpx

from penstock.errors import Failed, Unavailable
from penstock.model.settings import StoreSettings

SECONDS = 3_600.0
"""How long a statement may take: a change of a type writes the column anew."""
LONGEST_REASON = 600
_URL_HINT = "`url` in [stores.NAME] of penstock.toml is the address of its HTTP interface"
DATABASE_HINT = "CREATE DATABASE makes it there; `database` in [stores.NAME] of penstock.toml says which one it is"
Row = Sequence[object]


class ClickHouseConnection(Protocol):
    """What runs statements of ClickHouse."""

    def run(self, statement: str) -> None:
        """Run a statement without rows. Raises Failed, Unavailable."""

    def rows(self, query: str) -> list[Row]:
        """The rows of a query. Raises Failed, Unavailable."""


class ClickHouseServer:
    """A connection to a server."""

    def __init__(self, settings: StoreSettings, seconds: float = SECONDS):
        self._url = settings.url or "http://127.0.0.1:8123"
        headers = {}
        if settings.user:
            headers["X-ClickHouse-User"] = settings.user
        if settings.password:
            headers["X-ClickHouse-Key"] = settings.password
        self._client = httpx.Client(headers=headers, timeout=httpx.Timeout(seconds, connect=min(seconds, 10.0)))

    def run(self, statement: str) -> None:
        self._send(statement)

    def rows(self, query: str) -> list[Row]:
        text = self._send(f"{query} FORMAT JSONCompact")
        try:
            found: list[Row] = json.loads(text)["data"]
        except (ValueError, LookupError, TypeError):
            message = f"what answers in the place of ClickHouse is none: it says `{_start(text)}`"
            raise Failed(message, hint=_URL_HINT) from None
        return found

    def _send(self, statement: str) -> str:
        try:
            parameters = {"output_format_json_quote_64bit_integers": "0"}
            answer = self._client.post(self._url, params=parameters, content=statement.encode())
        except httpx.HTTPError as error:
            message = f"ClickHouse does not answer: {error or type(error).__name__}"
            raise Unavailable(message, hint=_URL_HINT) from None
        if answer.status_code != httpx.codes.OK or "X-ClickHouse-Exception-Code" in answer.headers:
            hint = DATABASE_HINT if "(UNKNOWN_DATABASE)" in answer.text else None
            raise Failed(f"ClickHouse refused `{_start(statement)}`: {_start(answer.text)}", hint=hint)
        return answer.text


def _start(text: str) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
