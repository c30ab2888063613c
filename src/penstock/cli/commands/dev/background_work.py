"""What the server is asked for in another thread, so that saves and keys are heard meanwhile.

In: a function that asks the server. Out: `WorkProgress` and `WorkEnd` events. Invariants: one piece of work at a time;
to end while the server works leaves the server with what it has begun, which never goes live by itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

from penstock.cli.client import ServerClient
from penstock.cli.commands.dev.event_queue import Event, WorkEnd, WorkProgress
from penstock.cli.deployment_progress import follow_deployment, progress_text
from penstock.cli.errors import ServerRefusal
from penstock.cli.json_documents import Json
from penstock.errors import Failed, PenstockError


@dataclass(frozen=True, slots=True)
class Work:
    """Something that takes a while."""

    name: str
    """What is done, as in "deploying to staging"."""
    run: Callable[[], Json]
    report: Callable[[Json], str]
    """What is said of its result."""


class BackgroundWork:
    """Runs one piece of work at a time."""

    def __init__(self, tell: Callable[[Event], None]):
        self._tell = tell
        self.name = ""
        """What is being done; empty while nothing is."""

    def start(self, work: Work) -> None:
        """Begin a piece of work. The one before has ended."""
        self.name = work.name
        threading.Thread(target=self._run, args=(work,), name=work.name, daemon=True).start()

    def ended(self) -> None:
        """Take the work for done: its `WorkEnd` was heard."""
        self.name = ""

    def _run(self, work: Work) -> None:
        try:
            self._tell(WorkEnd(work.run(), None, work.report))
        except PenstockError as error:
            self._tell(WorkEnd(None, error, work.report))
        except Exception as fault:  # a bug is told like an error
            self._tell(WorkEnd(None, Failed(f"penstock made a mistake: {type(fault).__name__}: {fault}"), work.report))


def follow_staging(client: ServerClient, made: Json, tell: Callable[[Event], None]) -> Json:
    """The deployment once it is ready. Raises PenstockError if it fails."""
    if not made["id"]:
        return made

    def show(kind: str, data: Json) -> None:
        if kind == "state":
            tell(WorkProgress(f"deployment {made['id']} is {data['state']}"))
        elif kind == "progress":
            tell(WorkProgress(f"deployment {made['id']}: {data['name']}: {progress_text(data)}"))

    rested = follow_deployment(client, made["id"], show).deployment
    if rested["state"] in ("failed", "discarded"):
        gone = {"error": f"deployment {rested['id']} was discarded", "code": "conflict"}
        raise ServerRefusal(500, rested["error"] or gone)
    return rested
