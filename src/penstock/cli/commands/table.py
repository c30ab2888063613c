"""`penstock table`: the versions of a table side by side, and the end of one.

In: the name of a table, and a version of it. Out: the rows, lag, writers and readers of each version of live; with
`--compare` whether two have the same rows; a deployment without a version. Invariants: rows are compared as of one cut,
however many arrive meanwhile; a version is not retired while a pipe, a call or a posted row uses it, or the project
has it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

import typer

from penstock.api.project.source_project import SourceProject
from penstock.cli.client import ServerClient
from penstock.cli.commands.deploy import Promotion, load_sound_project, send_project, wait_for_deployment
from penstock.cli.errors import ServerRefusal
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.output import console, print_json, print_table
from penstock.cli.plans.plan_output import print_plan
from penstock.cli.session import Session, command
from penstock.errors import Conflict, Forbidden, NotFound, Problem, Timeout, did_you_mean
from penstock.model.datasource import versioned_name
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.project_graph import draw_project
from penstock.plan.table_versions import TableVersion, find_versions

group = typer.Typer()
TableArgument = Annotated[str, typer.Argument(help="The table, without a version.")]
UnusedOption = Annotated[
    int, typer.Option("--unused-minutes", min=0, help="For how long nobody may have posted or queried rows.")
]
OWN = "/* penstock table */"
"""What marks the queries of this command, which are no use of a table."""


@dataclass(frozen=True, slots=True)
class VersionUse:
    """A version of live, and what the server knows of its use."""

    version: TableVersion
    rows: int
    seconds_behind: float
    last_post: str
    """When rows were last posted, in UTC; empty if no record says so."""
    last_query: str

    def as_json(self) -> Json:
        return {
            "version": self.version.version,
            "datasource": self.version.name,
            "rows": self.rows,
            "seconds_behind": self.seconds_behind,
            "fed_by": list(self.version.fed_by),
            "read_by": list(self.version.read_by),
            "last_post": self.last_post or None,
            "last_query": self.last_query or None,
        }


@group.command("versions")
@command
def versions(
    session: Session,
    name: TableArgument,
    compare: Annotated[
        bool, typer.Option("--compare", help="Compare all rows of each version with those of the next, as of one cut.")
    ] = False,
) -> None:
    """Show the versions of a table in live: rows, lag, writers and readers."""
    client = session.client()
    found = [_use(client, each) for each in _live_versions(client, name)]
    names = [each.version.name for each in found] if compare else []
    compared = [client.compare_tables(*pair) for pair in pairwise(names)]
    if session.as_json:
        print_json({"table": name, "versions": [each.as_json() for each in found], "compared": compared})
        return
    titles = ("version", "data source", "rows", "behind", "fed by", "read by", "last post (UTC)", "last query (UTC)")
    print_table(titles, [_row(each) for each in found])
    for each in compared:
        console().print(f"{each['left']} and {each['right']}: {_outcome_text(each)}", markup=False, soft_wrap=True)


def _row(use: VersionUse) -> tuple[object, ...]:
    version = use.version
    fed, read = ", ".join(version.fed_by) or None, ", ".join(version.read_by) or None
    behind = f"{use.seconds_behind:,.1f} s"
    return (
        version.version or None,
        version.name,
        use.rows,
        behind,
        fed,
        read,
        use.last_post or None,
        use.last_query or None,
    )


@group.command("retire")
@command
def retire(
    session: Session,
    name: TableArgument,
    version: Annotated[str, typer.Argument(help="The version, such as 0.1.")],
    unused_minutes: UnusedOption = 60,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a version of a table that nobody uses any more, and nothing else."""
    client = session.client()
    found = _one_version(client, name, version)
    read = load_sound_project(session)
    _refuse_declared(read, found)
    use = _use(client, found)
    if users := [*_users(use), *_recent_users(client, use, unused_minutes)]:
        problems = [Problem("conflict", each) for each in users]
        raise Conflict(f"version {version} of {name} is still used", problems)
    _refuse_other_changes(send_project(client, read, _parameters(check=True)), use.version.name)
    if not yes:
        session.confirm(f"Remove {use.version.name} with its {use.rows:,} rows?")
    made = _deploy_without(client, read, use.version.name)
    if not session.as_json:
        print_plan(made["plan"])
    done = wait_for_deployment(session, client, made, Promotion())
    if session.as_json:
        print_json(done)
    else:
        back = "; `penstock deployment rollback` brings it back until the previous version is retired"
        console().print(f"deployment {done['id']} is {done['state']} without {use.version.name}{back}", markup=False)


def _deploy_without(client: ServerClient, read: SourceProject, name: str) -> Json:
    """The deployment that removes a data source and does nothing else. Raises Conflict if live has changed since that
    was checked."""
    made = send_project(client, read, _parameters(check=False))
    try:
        _refuse_other_changes(made, name)
    except Conflict:
        client.delete(f"/v1/deployments/{made['id']}")
        raise
    return made


def _refuse_declared(read: SourceProject, version: TableVersion) -> None:
    """Raises Conflict if the project has a version, which its next deployment would make again."""
    source = read.loaded.project.datasource(version.name)
    if source is None:
        return
    message = f"the project still has `{version.name}`, which the next deployment would make again"
    hint = "deploy without what writes and reads it, remove it here, then retire it"
    problem = Problem("conflict", message, read.places.locate(source.location), hint)
    raise Conflict(f"version {version.version} is not retired", [problem])


def _parameters(*, check: bool) -> dict[str, str]:
    return query_parameters(check=check, auto_promote=False, allow_destructive_operations=True, check_rows=True)


def _refuse_other_changes(made: Json, name: str) -> None:
    """Raises Conflict if a plan does anything but remove this data source."""
    plan = made["plan"]
    moved = [each["name"] for each in plan["resources"] if each["strategy"] != "none"]
    others = sorted({*moved, *(each["resource"] for each in plan["changes"])} - {name})
    if others:
        hint = f"put {name} back, deploy the rest, and retire it then"
        raise Conflict(f"the project has other changes: {', '.join(others[:5])}", hint=hint)


def _live_versions(client: ServerClient, name: str) -> tuple[TableVersion, ...]:
    """Raises NotFound if live has no such table, Forbidden if the token may not see all of its files."""
    found = client.get("/v1/deployments/live/files")
    if found["withheld"]:
        raise Forbidden(f"the token may not see {found['withheld'][0]}", hint="use a token of the scope admin")
    loaded: LoadedProject = load_files(found["files"])
    versions = find_versions(loaded.project, draw_project(loaded), name)
    if not versions:
        names = [each.name for each in loaded.project.datasources]
        raise NotFound(f"live has no table `{name}`", hint=did_you_mean(name, names))
    return versions


def _one_version(client: ServerClient, name: str, version: str) -> TableVersion:
    found = _live_versions(client, name)
    wanted = versioned_name(name, version)
    if each := next((each for each in found if each.version and each.name == wanted), None):
        return each
    known = ", ".join(each.version for each in found if each.version) or "none"
    raise NotFound(f"live has no version {version} of `{name}`", hint=f"its versions: {known}")


def _use(client: ServerClient, version: TableVersion) -> VersionUse:
    status = _live_status(client)
    behind = [each["seconds"] for each in status["behind"] if each["name"] == version.name]
    return VersionUse(
        version,
        status["tables"][version.name]["rows"],
        max(behind, default=0.0),
        _last(client, _posts(version.name)),
        _last(client, _queries(version.name)),
    )


def _live_status(client: ServerClient) -> Json:
    found = client.get("/v0/status")
    return next(each for each in found["deployments"] if each["state"] == "live")


def _posts(name: str) -> str:
    return (
        "SELECT toString(max(timestamp)) AS at, count() AS found FROM penstock.datasources_ops_log"
        f" WHERE datasource_name = '{name}' AND event_type = 'append' AND rows > 0"
    )


def _queries(name: str) -> str:
    """Calls of SQL that has the name in it, but for those of this command."""
    return (
        "SELECT toString(max(start_datetime)) AS at, count() AS found FROM penstock.pipe_stats_rt"
        " WHERE pipe_name = 'query_api' AND error = 0"
        f" AND position(parameters['q'], '{name}') > 0 AND position(parameters['q'], '{OWN}') = 0"
    )


def _last(client: ServerClient, query: str) -> str:
    """When a query's records were last written; empty if there is none. Raises Timeout where the server is too busy."""
    try:
        (row,) = client.query(f"{query} {OWN}", {})["data"]
    except ServerRefusal as error:
        if error.code != Timeout.code:
            raise
        hint = "nothing was changed: try again when it has less to do, or raise max_query_seconds"
        raise Timeout("the server was too busy to say when rows were last posted and queried", hint=hint) from error
    return str(row["at"]) if int(row["found"]) else ""


def _users(use: VersionUse) -> Iterator[str]:
    """The pipes of live that write or read a version, and rows that are not stored yet: no record tells of them."""
    version = use.version
    yield from (f"`{pipe}` writes `{version.name}`: deploy the project without it" for pipe in version.fed_by)
    yield from (f"`{pipe}` reads `{version.name}`: deploy the project without it" for pipe in version.read_by)
    if use.seconds_behind > 0:
        yield f"rows of `{version.name}` were posted and wait to be stored, {use.seconds_behind:,.1f} s behind"


def _recent_users(client: ServerClient, use: VersionUse, minutes: int) -> Iterator[str]:
    """Who posted or queried rows within so many minutes, by the records of the server."""
    for what, query, column in (("posted", _posts, "timestamp"), ("queried", _queries, "start_datetime")):
        recent = f"{query(use.version.name)} AND {column} > now() - INTERVAL {minutes} MINUTE"
        at = _last(client, recent) if minutes else ""
        if at:
            yield f"rows of `{use.version.name}` were {what} at {at} UTC, within {minutes} minutes (--unused-minutes)"


def _outcome_text(found: Json) -> str:
    """What a comparison of two versions says, for people."""
    table, left, right = found["table"], found["left"], found["right"]
    columns = ", ".join(each["name"] for each in table["columns"]) or "number"
    match table["outcome"]:
        case "same":
            return f"the same rows in {columns}"
        case "differs":
            rows = table["rows"]
            differing = [each["name"] for each in table["columns"] if each["left"] != each["right"]]
            only = f"{rows['only_left']:,} rows only in {left}, {rows['only_right']:,} only in {right}"
            return f"{only}, compared in {columns}; other checksums: {', '.join(differing) or 'none'}"
        case outcome:
            return f"{outcome.replace('_', ' ')}: {table['reason']}"
