"""A server of Penstock, as far as migrations call it.

In: files of a project. Out: the files of live, deployments. Invariant: a deployment that was asked for before, with the
same files, goes on instead of a second one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import httpx

from penstock.errors import Failed, Problem, Unavailable
from penstock.redaction import register_secrets

Json: TypeAlias = dict[str, Any]
PLANNING_SECONDS = 600.0
POLL_SECONDS = 0.5
_AWAY = frozenset({502, 503, 504})
"""Answers of a server that begins or ends, or of a proxy before it."""
ENDED = ("failed", "discarded", "retired")


class PenstockConnection(Protocol):
    """What migrations need of a server."""

    def live_files(self) -> Mapping[str, str]:
        """The files of the live version. Raises Failed, also before the first deployment, and Unavailable."""

    def deploy(self, files: Mapping[str, str], name: str) -> None:
        """Deploy a project, and wait until it is live. Raises Failed, Unavailable."""

    def unlanded(self, datasource: str) -> int:
        """How many batches of rows of a data source live has accepted, and not landed yet. Raises Failed,
        Unavailable."""

    def compare(self, files: Mapping[str, str], name: str) -> Json:
        """Deploy a project to staging, compare it with live, and discard it: the report of the comparison, with `plan`;
        without a change only that. Raises Failed, Unavailable."""


class PenstockServer:
    """A server by its HTTP API."""

    def __init__(self, url: str, token: str | None, wait: Callable[[float], None] = time.sleep):
        register_secrets([token] if token else [])
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(base_url=url, headers=headers)
        self._wait = wait

    def live_files(self) -> Mapping[str, str]:
        found = self._call("GET", "/v1/deployments/live/files")
        if found["withheld"]:
            raise Failed(f"the token may not see {found['withheld'][0]}", hint="use a token of the scope admin")
        files: Mapping[str, str] = found["files"]
        return files

    def deploy(self, files: Mapping[str, str], name: str) -> None:
        self._reach(self._deployed(files, {"name": name, "auto_promote": "true"}), "live")

    def unlanded(self, datasource: str) -> int:
        found = self._call("GET", "/v1/deployments/live", params={"unlanded": "true"})
        if found.get("unlanded") is None:
            raise Failed(
                "the server of Penstock does not say which rows it has not landed: it is of a former release",
                hint="upgrade it before a migration with a rename or a swap",
            )
        return int(found["unlanded"].get(datasource, 0))

    def compare(self, files: Mapping[str, str], name: str) -> Json:
        made = self._deployed(files, {"name": name, "auto_promote": "false"})
        if not made["id"]:
            return {"plan": made["plan"]}
        try:
            self._reach(made, "ready")
            right = {"left": "live", "right": str(made["id"])}
            return {**self._call("POST", "/v0/diff", params=right), "plan": made["plan"]}
        finally:
            self._call("DELETE", f"/v1/deployments/{made['id']}")

    def _deployed(self, files: Mapping[str, str], options: Mapping[str, str]) -> Json:
        parts = [("files", (path, text.encode("utf-8", "surrogatepass"))) for path, text in files.items()]
        options = {"allow_destructive_operations": "true", "continue_candidate": "true", **options}
        return self._call("POST", "/v1/deploy", params=options, files=parts)

    def _reach(self, made: Json, state: str) -> None:
        """Wait until a deployment is in a state. Raises Failed if it ends instead."""
        while made["id"] and made["state"] != state:
            if made["state"] in ENDED:
                reason = (made.get("error") or {}).get("error", "it was discarded")
                raise Failed(f"deployment {made['id']} is {made['state']}: {reason}")
            self._wait(POLL_SECONDS)
            made = self._call("GET", f"/v1/deployments/{made['id']}")

    def _call(self, method: str, path: str, **parts: Any) -> Json:
        try:
            answer = self._client.request(method, path, timeout=PLANNING_SECONDS, **parts)
        except httpx.HTTPError as error:
            hint = "`penstock up` starts it; `url` in [stores.NAME] is its address"
            raise Unavailable(f"the server of Penstock does not answer: {type(error).__name__}", hint=hint) from None
        document: Json = answer.json() if "json" in answer.headers.get("content-type", "") else {}
        if answer.status_code in _AWAY:
            raise Unavailable(f"the server of Penstock is not ready: {document.get('error', answer.status_code)}")
        if answer.is_error:
            problems = [_problem(each) for each in document.get("problems", ())]
            raise Failed(str(document.get("error", f"the server answered {answer.status_code}")), problems)
        return document


def _problem(document: Mapping[str, Any]) -> Problem:
    place = f"{document['file']}: " if document.get("file") else ""
    return Problem(str(document.get("code")), f"{place}{document.get('message')}", hint=document.get("hint"))
