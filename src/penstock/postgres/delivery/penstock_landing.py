"""Delivers packages into Penstock's landing, by its events API.

In: packages, the server's address and a token. Out: rows in data sources, with their positions. Invariant: the server
stores the position with the rows and refuses what does not follow it, so a package that is sent again is stored once;
it refuses rows with a value that live would not read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import httpx
import orjson

from penstock.errors import Failed, Unavailable
from penstock.model.cursor import Position, parse_position, position_text
from penstock.postgres.delivery.destination import Delivered, StoreLacksColumns
from penstock.postgres.packages.package import Package, RowPackage, TruncatePackage
from penstock.postgres.packages.row_values import json_row, with_zeros
from penstock.redaction import register_secrets

SECONDS = 20.0
_PASSING = frozenset({408, 429, 500, 502, 503, 504, 507})
"""Answers after which the same call may be made again."""


class PenstockLanding:
    """The data sources of a Penstock server."""

    is_broker = False

    def __init__(self, url: str, token: str | None, name: str = "penstock"):
        self.name = name
        register_secrets([token] if token else [])
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        timeout = httpx.Timeout(SECONDS, connect=5)
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout, trust_env=False)
        self._stored: dict[tuple[str, str], Position] = {}
        """What this process has stored itself: the server refuses what does not follow it."""

    def position(self, source: str, store: str) -> Position | None:
        if (source, store) in self._stored:
            return self._stored[source, store]
        found = self._call("GET", f"/v0/datasources/{store}/positions", {}).json()["positions"].get(source)
        return parse_position(found) if found is not None else None

    def forget_position(self, source: str, store: str) -> None:
        self._stored.pop((source, store), None)

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        self._stored.pop((package.source, package.store), None)
        match package:
            case TruncatePackage():
                self._call("POST", f"/v0/datasources/{package.store}/truncate", {}, _places(package))
                aside = 0
            case RowPackage():
                aside = self._append(package)
        self._stored[package.source, package.store] = package.upto
        return Delivered(package.upto, aside)

    def close(self) -> None:
        self._http.close()

    def _append(self, package: RowPackage) -> int:
        schema = package.schema
        lines = [orjson.dumps(with_zeros(schema, json_row(schema, each))) for each in package.rows]
        given = {"name": package.store, "columns": ",".join(schema.names), "format": "ndjson"}
        answer = self._call("POST", "/v0/events", given, _places(package), b"\n".join(lines))
        return int(answer.json()["quarantined_rows"])

    def _call(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, str],
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
    ) -> httpx.Response:
        """Call the server. Raises Unavailable if the call may be made again."""
        try:
            answer = self._http.request(method, path, params=parameters, headers=headers, content=body)
        except httpx.TransportError as error:
            raise Unavailable(f"the Penstock server does not answer: {error}") from error
        if answer.is_success:
            return answer
        raise _refusal(answer, path)


def _places(package: Package) -> dict[str, str]:
    """The headers that say where a package stands in its source."""
    after = position_text(package.after) if package.after is not None else ""
    return {"Penstock-Source": package.source, "Penstock-Positions": f"{after}..{position_text(package.upto)}"}


def _refusal(answer: httpx.Response, path: str) -> Exception:
    """The error of an answer."""
    try:
        document = answer.json()
    except ValueError:
        document = {}
    said, code = str(document.get("error", f"status {answer.status_code}")), document.get("code")
    if answer.status_code in _PASSING or code == "other-position":
        return Unavailable(said)
    if code == "missing-columns":
        return MissingColumn(said, [str(each) for each in document.get("columns", ())])
    return Failed(f"the Penstock server refuses the rows: {said}", hint="`penstock cdc status` has the table's state")


class MissingColumn(StoreLacksColumns):
    """Live has no column for a value."""

    def __init__(self, said: str, columns: Sequence[str]):
        super().__init__("the data source", columns)
        self.message = said
