"""`penstock dev`: the plan at each save of a file, and staging on a key.

In: a project's folder, saves and keys. Out: plans, problems and deployments as they come. Invariants: whatever the
project or the server does, the command goes on until somebody ends it; then the terminal is as it was, and no process
or folder of the command is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Annotated

import typer

from penstock.cli.candidates import FITTING_STATES
from penstock.cli.commands.dev.background_work import BackgroundWork, Work, follow_staging
from penstock.cli.commands.dev.dev_page import DevPage, JsonPage, TextPage
from penstock.cli.commands.dev.event_queue import (
    ENDED,
    EventQueue,
    PressedKey,
    SavedFiles,
    WorkEnd,
    WorkProgress,
)
from penstock.cli.commands.dev.folder_plan import FolderPlanner, Servers
from penstock.cli.commands.dev.folder_watch import FolderWatch
from penstock.cli.commands.dev.temporary_server import TemporaryServer
from penstock.cli.commands.dev.terminal import BottomLine, find_keyboard, single_keys
from penstock.cli.deployment_progress import promote_when_caught_up
from penstock.cli.errors import Interrupted
from penstock.cli.interrupts import interrupted_by_signals
from penstock.cli.json_documents import Json
from penstock.cli.session import Session, command
from penstock.errors import Conflict, Failed, NoServer, PenstockError

KEYS = "d deploy to staging · p promote · x discard · r plan again · q quit"
THROW_AWAY_HINT = "`penstock up` starts one, `penstock dev --throw-away` one for as long as it runs"


@command
def dev(
    session: Session,
    throw_away: Annotated[
        bool, typer.Option("--throw-away", help="Start a server of its own in a temporary folder, removed at the end.")
    ] = False,
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Accept what loses rows or resources.")
    ] = False,
) -> None:
    """Show the plan and the problems at each save; deploy to staging on a key."""
    project = session.project
    keyboard = None if session.as_json else find_keyboard()
    queue, bottom = EventQueue(keyboard), BottomLine(is_shown=keyboard is not None)
    page: DevPage = JsonPage() if session.as_json else TextPage(bottom)
    with interrupted_by_signals(), single_keys(keyboard), _closing(queue, bottom):
        server = TemporaryServer(project, queue.put) if throw_away else None
        with server or nullcontext():
            servers: Servers = server or session
            planner = FolderPlanner(project, servers, allow_destructive=allow_destructive_operations)
            watch = FolderWatch(project, queue.put)
            watch.start()
            try:
                DevLoop(queue, page, bottom, planner, servers).run()
            finally:
                watch.stop()
                bottom.show("ending the throw-away server" if server else "")


@contextmanager
def _closing(queue: EventQueue, bottom: BottomLine) -> Iterator[None]:
    try:
        yield
    finally:
        bottom.remove()
        queue.close()


class DevLoop:
    """Answers one event after the other."""

    def __init__(self, queue: EventQueue, page: DevPage, bottom: BottomLine, planner: FolderPlanner, servers: Servers):
        self._queue, self._page, self._bottom = queue, page, bottom
        self._planner, self._servers = planner, servers
        self._work = BackgroundWork(queue.put)
        self._unplanned: list[str] = []
        """Files that were saved while a deployment was made."""
        self._staging: int | None = None
        """The candidate that was made here."""
        self._asked = ""
        """The key that has to be pressed again."""

    def run(self) -> None:
        """Answer events until somebody ends it. Raises Interrupted if the server is then left with something."""
        self._plan([])
        try:
            while self._answer():
                pass
        except KeyboardInterrupt:
            self._raise_unfinished()
            raise
        self._raise_unfinished()

    def _answer(self) -> bool:
        """Whether to go on after the next event."""
        event = self._queue.wait()
        match event:
            case SavedFiles(paths):
                self._saved(list(paths))
            case PressedKey(key):
                return self._pressed(key)
            case WorkProgress(text):
                self._bottom.show(f"{text}   {KEYS}")
            case WorkEnd():
                self._ended(event)
        return True

    def _plan(self, saved: list[str]) -> None:
        self._bottom.show("reading the project")
        found = self._planner.plan()
        self._bottom.show(KEYS)
        self._page.plan(saved, found)

    def _saved(self, paths: list[str]) -> None:
        if not self._work.name:
            self._plan(paths)
            return
        if not self._unplanned:
            self._page.note(f"{', '.join(paths[:3])} saved while {self._work.name}: planned when that has ended")
        self._unplanned = sorted({*self._unplanned, *paths})

    def _pressed(self, key: str) -> bool:
        """Whether to go on after a key."""
        if key in ("q", ENDED):
            return False
        actions: Mapping[str, Callable[[], None]] = {
            "d": self._deploy,
            "p": self._promote,
            "x": self._discard,
            "r": lambda: self._plan([]),
        }
        if key not in actions:
            return True
        if self._work.name:
            self._page.note(f"{self._work.name} has not ended yet")
            return True
        try:
            actions[key]()
        except PenstockError as error:
            self._show_error(error)
        except Exception as fault:  # a bug, or a folder that changes while it is read; the next key tries again
            self._show_error(Failed(f"penstock made a mistake: {type(fault).__name__}: {fault}"))
        return True

    def _show_error(self, error: PenstockError) -> None:
        is_away = isinstance(error, NoServer)
        self._page.error(NoServer(error.message, hint=THROW_AWAY_HINT) if is_away else error)

    def _deploy(self) -> None:
        """Make the project as it is on the disk staging, in the place of what was made staging here before."""
        read, client = self._planner.load_finished(), self._servers.client()
        before = self._staging

        def run() -> Json:
            made = self._planner.deploy(client, read)
            if made["id"] and before is not None and before != made["id"]:
                known = client.get(f"/v1/deployments/{before}")
                if known["state"] in FITTING_STATES["discard"]:
                    client.delete(f"/v1/deployments/{before}")
            self._staging = made["id"] or before
            return follow_staging(client, made, self._queue.put)

        self._begin(Work("deploying to staging", run, _staging_text))

    def _promote(self) -> None:
        client, id = self._servers.client(), self._candidate("promote")
        if id is not None:
            work = Work(f"promoting deployment {id}", lambda: promote_when_caught_up(client, id), _state_text)
            self._begin(work)

    def _discard(self) -> None:
        client, id = self._servers.client(), self._candidate("discard")
        if id is not None:
            path = f"/v1/deployments/{id}"
            self._begin(Work(f"discarding deployment {id}", lambda: client.delete(path), _state_text))

    def _candidate(self, verb: str) -> int | None:
        """The candidate that was made here, or else the only one, if the key was pressed twice. Raises Conflict
        if there is none, or several."""
        listed = self._servers.client().get("/v1/deployments")["deployments"]
        fitting = [each["id"] for each in listed if each["state"] in FITTING_STATES[verb]]
        if self._staging in fitting:
            return self._staging
        if not fitting:
            raise Conflict(f"there is no deployment to {verb}", hint="d makes one of the files as they are")
        if len(fitting) > 1:
            known = ", ".join(map(str, fitting))
            raise Conflict(
                f"there are several deployments to {verb}: {known}", hint=f"`penstock deployment {verb} ID` takes one"
            )
        asked = f"{verb} {fitting[0]}"
        if self._asked == asked:
            self._asked = ""
            return int(fitting[0])
        self._asked = asked
        self._page.note(f"deployment {fitting[0]} was not made here: the same key again will {verb} it")
        return None

    def _begin(self, work: Work) -> None:
        self._bottom.show(f"{work.name}   {KEYS}")
        self._work.start(work)

    def _ended(self, event: WorkEnd) -> None:
        self._work.ended()
        self._bottom.show(KEYS)
        if event.error is not None:
            self._show_error(event.error)
        elif event.made is not None:
            self._page.made(event.made, event.report(event.made))
            is_plan_old = event.made.get("state") == "live" or "url" in event.made
            if is_plan_old and not self._unplanned:
                self._plan([])
        if self._unplanned:
            saved, self._unplanned = self._unplanned, []
            self._plan(saved)

    def _raise_unfinished(self) -> None:
        if self._work.name and self._work.name.startswith(("deploying", "promoting", "discarding")):
            message = f"nobody watches any more: the server goes on with {self._work.name}"
            raise Interrupted(message, "`penstock deployment ls` shows what became of it")


def _staging_text(made: Json) -> str:
    if not made["id"]:
        live = f"deployment {made['base']} is live and has all of it" if made["base"] else "the project has no resource"
        return f"nothing to deploy: {live}"
    return f"deployment {made['id']} is {made['state']}: p makes it live, x discards it"


def _state_text(made: Json) -> str:
    return f"deployment {made['id']} is {made['state']}"
