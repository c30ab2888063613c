"""A throw-away environment for the tests of a project: a server, the project, and the rows of its fixtures.

In: a project's folder. Out: a client of a server on which the project is live and its fixtures can be queried.
Invariants: nothing of it stays; a row of a fixture that does not fit is reported, never left out in silence.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.api.project.source_project import SourceProject
from penstock.cli.client import ServerClient
from penstock.cli.commands.datasource import append_rows
from penstock.cli.commands.deploy import ask_for_deployment
from penstock.cli.commands.project_tests.fixtures import Fixture
from penstock.cli.commands.project_tests.sealed_files import seal_files
from penstock.cli.commands.server.throw_away_server import ThrowAwayServer
from penstock.cli.deployment_progress import follow_deployment, promote_when_caught_up
from penstock.cli.errors import ServerRefusal
from penstock.cli.interrupts import interrupted_by_signals
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.output import errors_console, format_number
from penstock.cli.row_files.row_file import open_row_file
from penstock.errors import Failed, Location, Problem, Timeout

PREFIX = "penstock-test-"
SHOWN_ROWS = 3
PAUSE = 0.5
_ENDED = ("failed", "discarded")


@dataclass(frozen=True, slots=True)
class PostedFixture:
    """How many rows of a fixture were posted, and what is wrong with the others."""

    source: str
    rows: int
    problems: tuple[Problem, ...] = ()


class ProjectEnvironment:
    """A server for the tests of one project."""

    def __init__(self, client: ServerClient, progress: ProgressLine):
        self.client = client
        self._progress = progress

    def deploy(self, read: SourceProject, parameters: Mapping[str, str]) -> Json:
        """The deployment, live. Raises ServerRefusal with the problems of the project, or why it failed."""
        self._progress.show("deploying the project")
        sealed = replace(read, loaded=replace(read.loaded, files=seal_files(read.loaded.files)))
        asked = {**query_parameters(check=False, auto_promote=False, check_rows=True), **parameters}
        made = ask_for_deployment(self.client, sealed, asked)
        if not made["id"]:
            return made
        watched = follow_deployment(self.client, made["id"], lambda kind, data: None).deployment
        if watched["state"] in _ENDED:
            raise ServerRefusal(500, watched["error"] or {"error": f"deployment {made['id']} {watched['state']}"})
        promoted = watched if watched["state"] == "live" else promote_when_caught_up(self.client, made["id"])
        return {**promoted, "plan": made["plan"]}

    def post(self, folder: Path, fixtures: tuple[Fixture, ...]) -> tuple[PostedFixture, ...]:
        """Post the rows of fixtures, one file after the other, until all views have seen them."""
        return tuple(self._post(folder, each) for each in fixtures)

    def count_rows(self, source: str) -> int:
        """The rows of a data source in live."""
        found = self.client.query(f"SELECT count() AS rows FROM `{source}`", {})
        return int(found["data"][0]["rows"])

    def rows_of(self, source: str, columns: Sequence[str]) -> str:
        """Columns of a data source in live, as the document of a query."""
        names = ", ".join(f"`{each}`" for each in columns)
        query = f"SELECT {names} FROM `{source}` FORMAT JSON"
        return "".join(self.client.query_text(query, {}))

    def _post(self, folder: Path, fixture: Fixture) -> PostedFixture:
        self._progress.show(f"posting the rows of {fixture.source}")
        if not fixture.path.stat().st_size:
            return PostedFixture(fixture.source, 0)
        with open_row_file(fixture.path) as opened:
            try:
                counts = append_rows(self.client, fixture.source, opened, wait=True)
            except ServerRefusal as refusal:
                if refusal.status != Timeout.status:
                    raise
                counts = self._wait_for_views(fixture.source)
        rejected = counts["quarantined_rows"]
        problems = self._rejections(folder, fixture, rejected) if rejected else ()
        return PostedFixture(fixture.source, counts["successful_rows"], problems)

    def _wait_for_views(self, source: str) -> Json:
        """The counts of rows that were kept, once every view has processed them. Raises Failed if one cannot."""
        while True:
            found = self.client.get("/v0/status")
            for failure in found["failures"]:
                raise Failed(
                    f"{failure['flow']} fails with the rows of {source}: {failure['message']}", hint=failure["hint"]
                )
            if not any(each["behind"] for each in found["deployments"]):
                rejected = self.client.get(f"/v0/datasources/{source}/quarantine", {"limit": "1"})["rows"]
                return {"successful_rows": self.count_rows(source), "quarantined_rows": rejected}
            time.sleep(PAUSE)

    def _rejections(self, folder: Path, fixture: Fixture, rejected: int) -> tuple[Problem, ...]:
        found = self.client.get(f"/v0/datasources/{fixture.source}/quarantine", {"limit": str(SHOWN_ROWS)})
        reasons = "; ".join(f"{each['column']}: {each['reason']}" for each in found["reasons"][:SHOWN_ROWS])
        rows = format_number(rejected, "row does not fit", "rows do not fit")
        place = Location(fixture.path.relative_to(folder).as_posix())
        return (
            Problem("invalid-fixture", f"{rows} {fixture.source}: {reasons}", place, "mend them, or take them out"),
        )


class ProgressLine:
    """One line on standard error that says what is being done; nothing where nobody reads it."""

    def __init__(self, *, is_shown: bool):
        self._console = errors_console()
        self._is_shown = is_shown and self._console.is_terminal
        self._status = self._console.status("starting the server") if self._is_shown else None

    def __enter__(self) -> ProgressLine:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *raised: object) -> None:
        if self._status is not None:
            self._status.stop()

    def show(self, text: str) -> None:
        if self._status is not None:
            self._status.update(text)


@contextmanager
def project_environment(project: Path, progress: ProgressLine) -> Iterator[ProjectEnvironment]:
    """A server of its own for a project, gone when the block is left, also by a signal."""
    with interrupted_by_signals(), ThrowAwayServer(project, PREFIX) as server:
        client = server.wait(lambda phase: progress.show(f"throw-away server: {phase}"))
        yield ProjectEnvironment(client, progress)
