"""The plan of a folder as it is on the disk now.

In: a project's folder and, if there is one, its server. Out: `FolderPlan`: the plan against what is live, or against
the version that loaded before, or what is wrong. Invariants: nothing is deployed; whatever the project or the server
does, the result is a plan or an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.api.source_edits.file_changes import refuse_unfinished_files
from penstock.cli.client import ServerClient
from penstock.cli.commands.deploy import ask_for_deployment
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.project_folder import say_where_datafiles_are
from penstock.errors import Failed, InvalidProject, NoServer, NotFound, PenstockError
from penstock.parse.project_loader import LoadedProject
from penstock.plan.offline import NEXT_OPTIONS, plan_loaded
from penstock.plan.plan_json import plan_to_json
from penstock.plan.project_check import check_loaded
from penstock.plan.project_warnings import source_warnings

Against = Literal["live", "last", "nothing"]
"""`last`: the version that loaded before; `nothing`: there is none yet."""


class Servers(Protocol):
    """Where a server may be found."""

    def client(self) -> ServerClient:
        """A client of the server. Raises PenstockError if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class FolderPlan:
    """What a save would change, or why that cannot be said."""

    plan: Json | None = None
    error: PenstockError | None = None
    against: Against = "nothing"
    deployment: int | None = None
    """The deployment that is live."""
    absence: str = ""
    """Why there is no server."""


class FolderPlanner:
    """Plans a folder again and again; files that stayed the same are not parsed again."""

    def __init__(self, folder: Path, servers: Servers, *, allow_destructive: bool):
        self._folder = folder
        self._servers = servers
        self._allow_destructive = allow_destructive
        self._last: LoadedProject | None = None
        """The version that loaded last."""

    def load(self) -> SourceProject:
        """The project. Raises PenstockError with its problems."""
        read = load_source_folder(self._folder, self._last)
        if not read.loaded.files and not read.loaded.problems:
            raise NotFound(f"there are no datafiles in {self._folder}", hint=say_where_datafiles_are(self._folder))
        found = check_loaded(read.loaded)
        if found.errors:
            count = len(found.errors)
            message = f"the project has {count} problem{'s' if count > 1 else ''}"
            raise InvalidProject(message, read.places.problems(found.problems))
        return read

    def load_finished(self) -> SourceProject:
        """The project, to be deployed. Raises PenstockError, also where edits of its files are not finished."""
        refuse_unfinished_files(self._folder)
        read = self.load()
        refuse_unfinished_files(self._folder)  # they may have begun meanwhile
        return read

    def plan(self) -> FolderPlan:
        """The plan of what is on the disk."""
        try:
            read = self.load()
            made = self._plan_on_server(read)
            self._last = read.loaded
            return made
        except PenstockError as error:
            return FolderPlan(error=error)
        except Exception as fault:  # a bug, or a folder that changes while it is read; the next save tries again
            return FolderPlan(error=Failed(f"penstock made a mistake: {type(fault).__name__}: {fault}"))

    def deploy(self, client: ServerClient, read: SourceProject) -> Json:
        """Begin the deployment of a project, which becomes staging. Raises PenstockError."""
        return ask_for_deployment(client, read, self._parameters(check=False))

    def _plan_on_server(self, read: SourceProject) -> FolderPlan:
        try:
            made = ask_for_deployment(self._servers.client(), read, self._parameters(check=True))
        except PenstockError as error:
            if not (isinstance(error, NoServer) or error.code in ("unavailable", "other-project")):
                raise
            return self._plan_offline(read, error.message)
        return FolderPlan(made["plan"], against="live", deployment=made["base"])

    def _plan_offline(self, read: SourceProject, absence: str) -> FolderPlan:
        if self._last is None:
            return FolderPlan(absence=absence)
        options = replace(NEXT_OPTIONS, allow_destructive=self._allow_destructive)
        made = plan_loaded(self._last, read.loaded, options)
        problems = read.places.problems([*made.problems, *source_warnings(read)])
        places = {change: read.places.locate(place) for change, place in made.places.items()}
        document = plan_to_json(replace(made, problems=problems, places=places))
        if made.errors:
            refused = InvalidProject("the project cannot follow the version that loaded before", problems)
            return FolderPlan(error=refused, absence=absence)
        return FolderPlan(document, against="last", absence=absence)

    def _parameters(self, *, check: bool) -> dict[str, str]:
        # Counting the rows that do not convert may take minutes: the deployment does it.
        return query_parameters(
            check=check,
            auto_promote=False,
            allow_destructive_operations=self._allow_destructive,
            check_rows=not check,
            continue_candidate=True,
        )
