"""Runs a copy for many ranges: one job a range, some at a time, until all have ended.

In: the ranges with their parameters. Out: the job of each. Invariants: of all commands that ask for a range, however
often they are killed and asked again, one job appends its rows: the server keeps it; after a job that failed no further
one is begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from penstock.cli.client import ServerClient
from penstock.cli.commands.copies.time_ranges import CopyRange
from penstock.cli.errors import Interrupted, ServerRefusal, exit_code
from penstock.cli.interrupts import interrupted_by_signals
from penstock.cli.json_documents import Json
from penstock.errors import NoServer, PenstockError, Timeout

RECONNECT_SECONDS = 120.0
"""For how long a server that does not answer is asked again: what was asked for is not lost."""
PAUSE = 0.5
OPEN = ("waiting", "reading", "appending")


@dataclass(frozen=True, slots=True)
class RangeCall:
    """A range, and the parameters with which the copy is run for it."""

    part: CopyRange
    parameters: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RangeOutcome:
    """What became of a range."""

    call: RangeCall
    job: Json | None
    """None if it was not begun."""
    is_new: bool = True
    """False for one that was done before this command."""
    error: str = ""

    @property
    def is_done(self) -> bool:
        return self.job is not None and self.job["status"] == "done"

    def as_json(self) -> Json:
        part = self.call.part
        status = self.job["status"] if self.job is not None else "refused" if self.error else "not begun"
        return {
            "from": part.start.isoformat(),
            "to": part.end.isoformat(),
            "job": self.job["id"] if self.job is not None else None,
            "status": status,
            "rows": self.job["rows"] if self.job is not None else None,
            "new": self.is_new,
            "error": self.error or None,
        }


class RangeJobs:
    """The jobs of one copy for ranges."""

    def __init__(self, client: ServerClient, copy: str, most_open: int):
        self._client = client
        self._path = f"/v0/pipes/{quote(copy)}/ranges"
        self._most_open = most_open

    def existing(self) -> list[Json]:
        """All that were made before."""
        found: list[Json] = self._client.get(self._path)["jobs"]
        return found

    def run(self, calls: Sequence[RangeCall], show: Callable[[RangeOutcome], None]) -> list[RangeOutcome]:
        """What became of each range; `show` is called with each that has ended. Raises NoServer if the server is away
        for RECONNECT_SECONDS, Interrupted if the user stops the command."""
        done = [(job["parameters"], job) for job in self.existing() if job["status"] == "done"]
        outcomes: dict[int, RangeOutcome] = {}
        for at, call in enumerate(calls):
            job = next((job for given, job in done if given == call.parameters), None)
            if job is not None:
                outcomes[at] = RangeOutcome(call, job, is_new=False)
        try:
            with interrupted_by_signals():
                self._run_rest(calls, outcomes, show)
        except KeyboardInterrupt:
            hint = "the same command goes on where it stopped; `penstock job ls` shows the jobs, `job cancel` ends one"
            raise Interrupted("nobody begins further ranges: the server ends those that were begun", hint) from None
        return [outcomes.get(at, RangeOutcome(call, None)) for at, call in enumerate(calls)]

    def _run_rest(
        self, calls: Sequence[RangeCall], outcomes: dict[int, RangeOutcome], show: Callable[[RangeOutcome], None]
    ) -> None:
        waiting = [at for at in range(len(calls)) if at not in outcomes]
        running: dict[int, Json] = {}
        while waiting or running:
            while waiting and len(running) < self._most_open:
                at = waiting.pop(0)
                begun = self._begin(calls[at])
                if isinstance(begun, RangeOutcome):
                    outcomes[at] = begun
                    show(begun)
                    waiting.clear()
                else:
                    running[at] = begun
            for at, job in list(running.items()):
                running[at] = now = self._ask(lambda id=job["id"]: self._client.get(f"/v0/jobs/{id}"))  # type: ignore[misc]
                if now["status"] not in OPEN:
                    del running[at]
                    outcomes[at] = _ended(calls[at], now)
                    show(outcomes[at])
                    if not outcomes[at].is_done:
                        waiting.clear()
            if running:
                time.sleep(PAUSE)

    def _begin(self, call: RangeCall) -> Json | RangeOutcome:
        """The job of a range, or why the server refuses to begin one."""
        try:
            begun: Json = self._ask(lambda: self._client.post(self._path, call.parameters))["job"]
            return begun
        except ServerRefusal as refusal:
            hint = next((each.hint for each in refusal.problems if each.hint), None)
            return RangeOutcome(call, None, error=f"{refusal.message}{f' ({hint})' if hint else ''}")

    def _ask(self, call: Callable[[], Json]) -> Json:
        """The answer of a call that may be repeated, also by a server that is restarted meanwhile."""
        end = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                return call()
            except PenstockError as error:
                may_pass = (
                    isinstance(error, Timeout) or exit_code(error) == exit_code(NoServer("")) or error.status == 429
                )
                if not may_pass or time.monotonic() > end:
                    raise
            time.sleep(PAUSE)


def _ended(call: RangeCall, job: Json) -> RangeOutcome:
    error = job["error"]["error"] if job["error"] else "it was cancelled" if job["status"] == "cancelled" else ""
    return RangeOutcome(call, job, error=error)
