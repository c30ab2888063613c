"""Watch a deployment until it is at rest, and make it live.

In: the events of a deployment. Out: its progress (bars on a terminal, lines elsewhere), then the deployment.
Invariant: a broken connection is made again, so a restart of the server or a change of networks ends no deployment;
it is promoted only by a client that has been there all the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from penstock.cli.client import ServerClient
from penstock.cli.errors import Interrupted, ServerRefusal, exit_code
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_bytes, format_count
from penstock.cli.parity import ParityGate
from penstock.errors import NoServer, PenstockError, Timeout
from penstock.redaction import escape_controls

UNDER_WAY = ("planned", "preparing", "backfilling")
RECONNECT_SECONDS = 120.0
"""For how long a server that does not answer is tried again. A restart with Spark takes less."""
PAUSE = 1.0
AWAY_SECONDS = 600.0
"""A client that has not heard from the server for longer by the clock on the wall does not promote: a laptop that is
opened in the morning should not make live what was deployed in the evening."""
CATCH_UP_SECONDS = 600.0
"""For how long a promotion is tried that is refused because the deployment lags."""
CATCH_UP_PAUSE = 2.0
SECONDS_BETWEEN_LINES = 5.0
TAKE_BACK = "`penstock deployment rollback` makes the version before live again"


@dataclass(frozen=True, slots=True)
class WatchedDeployment:
    """A deployment at rest."""

    deployment: Json
    was_away: bool
    """Whether nothing was heard from the server for AWAY_SECONDS meanwhile."""


@dataclass(slots=True)
class _Contact:
    """When the server was heard last."""

    by_clock: float = field(default_factory=time.time)
    by_timer: float = field(default_factory=time.monotonic)
    """A timer that stands still while the machine sleeps, unlike the clock."""
    was_away: bool = False

    def heard(self) -> None:
        self.was_away = self.was_away or time.time() - self.by_clock > AWAY_SECONDS
        self.by_clock, self.by_timer = time.time(), time.monotonic()


def watch_deployment(client: ServerClient, id: int, *, silent: bool) -> WatchedDeployment:
    """Show the progress of a deployment until it is at rest. Raises NoServer if the server is away for longer than
    RECONNECT_SECONDS."""
    with _progress_view(console(), silent=silent) as view:
        return follow_deployment(client, id, view.show)


def follow_deployment(client: ServerClient, id: int, show: Callable[[str, Json], None]) -> WatchedDeployment:
    """Hand each event of a deployment on until it is at rest. Raises as `watch_deployment`."""
    contact = _Contact()
    while True:
        try:
            for kind, data in client.events(id):
                contact.heard()
                show(kind, data)
            found = client.get(f"/v1/deployments/{id}")
            contact.heard()
            if found["state"] not in UNDER_WAY:
                return WatchedDeployment(found, contact.was_away)
        except (NoServer, Timeout, ServerRefusal) as error:
            _raise_unless_passing(error, contact, id)
        time.sleep(PAUSE)


def _raise_unless_passing(error: PenstockError, contact: _Contact, id: int) -> None:
    if not _is_away(error):
        raise error
    if time.monotonic() - contact.by_timer > RECONNECT_SECONDS:
        hint = f"deployment {id} goes on when the server runs again, and does not go live by itself"
        raise NoServer(f"the server has not answered for {RECONNECT_SECONDS:.0f} s", hint=hint) from error


def _is_away(error: PenstockError) -> bool:
    """Whether the server may answer if it is asked again: it is being restarted, or the network is away."""
    return isinstance(error, Timeout) or exit_code(error) == exit_code(NoServer(""))


def promote_when_caught_up(client: ServerClient, id: int, gate: ParityGate | None = None) -> Json:
    """The deployment, live; with a gate, only if it is the same as the one that is. Rows that arrived while histories
    were filled are waited for. Raises ServerRefusal with the reason for which it could not be promoted; it stays ready
    then. Raises Interrupted if a signal comes while the server has the request: it is not taken back by that."""
    end = time.monotonic() + CATCH_UP_SECONDS
    while True:
        try:
            if gate is not None:
                return client.promote_if_same(str(id), gate.parameters, gate.calls)
            return client.post(f"/v1/deployments/{id}/set-live")
        except KeyboardInterrupt:
            raise _interrupted_switch(client, id) from None
        except (NoServer, Timeout, ServerRefusal) as error:
            # The answer may be lost of a switch that was made; or the same deploy in another terminal made it.
            if (_is_away(error) or gate is None) and (found := _find_live(client, id)) is not None:
                return found
            lags = any(problem.code == "deployment-lags" for problem in error.problems)
            if not (lags or _is_away(error)) or time.monotonic() > end:
                raise
        time.sleep(CATCH_UP_PAUSE)


def _interrupted_switch(client: ServerClient, id: int) -> Interrupted:
    if _find_live(client, id) is not None:
        return Interrupted(f"deployment {id} is live: that had been asked for already", TAKE_BACK)
    message = f"nobody waits any more: the server had been asked to make deployment {id} live, and may still do so"
    return Interrupted(message, f"`penstock deployment ls` shows whether it did; {TAKE_BACK}")


def _find_live(client: ServerClient, id: int) -> Json | None:
    try:
        found = client.get(f"/v1/deployments/{id}")
    except (NoServer, Timeout, ServerRefusal):
        return None
    return found if found["state"] == "live" else None


class _ProgressView(Protocol):
    """Shows events."""

    def show(self, kind: str, data: Json) -> None: ...


def _progress_view(page: Console, *, silent: bool) -> AbstractContextManager[_ProgressView]:
    if silent:
        return nullcontext(_Silence())
    return _Bars(page) if page.is_terminal else nullcontext(_Lines(page))


class _Silence:
    def show(self, kind: str, data: Json) -> None:
        """Show nothing: the output is one JSON document."""


class _Bars(AbstractContextManager["_Bars"]):
    """A bar for each history that is filled."""

    def __init__(self, page: Console):
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            TimeRemainingColumn(),
        )
        self._bars = Progress(*columns, console=page)
        self._tasks: dict[str, TaskID] = {}
        self._state = ""

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bars.stop()

    def show(self, kind: str, data: Json) -> None:
        if kind == "state" and data["state"] != self._state:
            self._state = data["state"]
            self._bars.console.print(f"  {self._state}", style="dim", markup=False)
        elif kind == "progress":
            flow = data["flow"]
            if flow not in self._tasks:
                self._tasks[flow] = self._bars.add_task(escape_controls(data["name"]), text="")
            text = progress_text(data)
            self._bars.update(self._tasks[flow], completed=data["rows"], total=data["of"] or None, text=text)


class _Lines:
    """A line for each state, and one every few seconds for each history that is filled."""

    def __init__(self, page: Console):
        self._page = page
        self._shown: dict[str, float] = {}
        self._state = ""

    def show(self, kind: str, data: Json) -> None:
        if kind == "state" and data["state"] != self._state:
            self._state = data["state"]
            self._page.print(f"  {self._state}", markup=False)
        elif kind == "progress" and self._is_due(data):
            self._page.print(f"  {data['name']}: {progress_text(data)}{_remaining_time_text(data)}", markup=False)

    def _is_due(self, data: Json) -> bool:
        """Whether to print the event: the first and the last one of each flow, and one every few seconds in between."""
        flow, now = data["flow"], time.monotonic()
        last = self._shown.get(flow, 0.0)
        if last == float("inf") or (now - last < SECONDS_BETWEEN_LINES and not data["done"]):
            return False
        self._shown[flow] = float("inf") if data["done"] else now
        return True


def progress_text(data: Json) -> str:
    """How far a history is: `10 of 20 rows, 1 KB, 5 rows/s`."""
    rows = f"{format_count(data['rows'])} of {format_count(data['of'])} rows"
    progress = f"{rows}, {format_bytes(data['bytes'])}, {data['rate']:,.0f} rows/s"
    return f"{progress} ({data['waits']})" if data.get("waits") and not data["done"] else progress


def _remaining_time_text(data: Json) -> str:
    return f", {data['eta']:.0f} s left" if data.get("eta") and not data["done"] else ""
