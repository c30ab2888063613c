"""`penstock datasource`: list and show data sources, append rows to them, and look after their quarantines.

In: the name of a data source; rows from a file or standard input. Out: its columns and row counts; how many rows were
accepted; why others were not. Invariant: rows are sent in requests of limited size, each under an idempotency key of
its own, so that a request which is sent again after a broken connection adds no row twice.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Annotated

import typer

from penstock.cli.client import ServerClient
from penstock.cli.commands.deploy import Promotion, wait_for_deployment
from penstock.cli.commands.job import wait_for_job, watch_job
from penstock.cli.errors import FAILED, ServerRefusal, WrongUsage
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.output import console, format_number, print_json, print_plain_table, print_table
from penstock.cli.plain_output import print_line
from penstock.cli.row_files.row_file import RowFile, RowFormat, open_rows
from penstock.cli.session import Session, command
from penstock.errors import InvalidRequest, NoServer

group = typer.Typer()
DeploymentOption = Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")]
DataSourceArgument = Annotated[str, typer.Argument(help="The data source.")]


@group.command("ls")
@command
def ls(session: Session, deployment: DeploymentOption = "live") -> None:
    """List the data sources with their rows."""
    found = session.client().get("/v0/datasources", {"deployment": deployment})
    if session.as_json:
        print_json(found)
        return
    rows = [(each["name"], each["table"], each["rows"]) for each in found["datasources"]]
    print_table(("data source", "table", "rows"), rows)


@group.command("show")
@command
def show(session: Session, name: DataSourceArgument, deployment: DeploymentOption = "live") -> None:
    """Show the columns of a data source."""
    found = session.client().get(f"/v0/datasources/{name}", {"deployment": deployment})
    if session.as_json:
        print_json(found)
        return
    print_table(("column", "type"), [(each["name"], each["type"]) for each in found["columns"]])


FileOption = Annotated[
    str | None,
    typer.Option(
        "--file",
        metavar="PATH|ADDRESS",
        help="NDJSON, JSON, CSV, Parquet, also as gz, zst, bz2 or xz, here or at https://…; else standard input.",
    ),
]
FormatOption = Annotated[
    RowFormat | None,
    typer.Option("--format", metavar="ndjson|json|csv|parquet", help="What it is, if it does not say so itself."),
]
DelimiterOption = Annotated[str, typer.Option("--delimiter", help="What is between the values of CSV.")]


@group.command("append")
@command
def append(
    session: Session,
    name: DataSourceArgument,
    file: FileOption = None,
    form: FormatOption = None,
    delimiter: DelimiterOption = ",",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when the rows can be queried.")] = True,
) -> None:
    """Append rows; exit code 1 if none of them fits."""
    _check_delimiter(delimiter)
    with open_rows(file, form, delimiter) as opened:
        counts = append_rows(session.client(), name, opened, wait)
    _output_counts(session, name, counts, "appended to")


@group.command("replace")
@command
def replace(
    session: Session,
    name: DataSourceArgument,
    file: FileOption = None,
    form: FormatOption = None,
    delimiter: DelimiterOption = ",",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Put the rows of a file in the place of all others, at one moment; exit code 1 if none of them fits."""
    _check_delimiter(delimiter)
    if file is None and not yes:
        raise WrongUsage("rows from standard input leave none for an answer", hint="give --yes too, or --file")
    with open_rows(file, form, delimiter) as opened:
        body, parameters = opened.one_body(), _parameters_of(name, opened)
    if not yes:
        session.confirm(f"Replace all rows of {name}?")
    counts = session.client().replace_rows(parameters | query_parameters(wait=True), body, uuid.uuid4().hex)
    _output_counts(session, name, counts, "in the place of all others of")


def _check_delimiter(delimiter: str) -> None:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise WrongUsage("--delimiter takes one ASCII character, and no quote")


def _output_counts(session: Session, name: str, counts: Json, done: str) -> None:
    """Show what became of rows. Raises Exit where there were some, and none was accepted."""
    if session.as_json:
        print_json(counts)
    else:
        _print_counts(name, counts, done)
    if counts["quarantined_rows"] and not counts["successful_rows"]:
        raise typer.Exit(FAILED)


def _print_counts(name: str, counts: Json, done: str) -> None:
    page = console()
    page.print(f"{format_number(counts['successful_rows'], 'row', 'rows')} {done} {name}", markup=False)
    if counts["quarantined_rows"]:
        rows = format_number(counts["quarantined_rows"], "row does not fit and is", "rows do not fit and are")
        page.print(
            f"{rows} in quarantine: `penstock datasource quarantine {name}` shows why", style="yellow", markup=False
        )


@group.command("truncate")
@command
def truncate(
    session: Session,
    name: DataSourceArgument,
    check: Annotated[bool, typer.Option("--check", help="Only show what would stay where.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove all rows of a data source, in every running version."""
    client, path = session.client(), f"/v0/datasources/{name}/truncate"
    found = client.post(path, {"check": "true"})
    if not session.as_json:
        _print_traces(name, found["traces"])
    if not check:
        if not yes:
            session.confirm(f"Remove all rows of {name}?")
        found = client.post(path)
    _output(session, found, f"all rows of {name} are removed" if found["truncated"] else "nothing was removed")


@group.command("delete")
@command
def delete(
    session: Session,
    name: DataSourceArgument,
    where: Annotated[str, typer.Option("--where", help="A condition in SQL: the rows for which it is true go.")],
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Then compute anew what views compute from them, and make that live.")
    ] = False,
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Rebuild also what then loses or gains other rows.")
    ] = False,
    check: Annotated[bool, typer.Option("--check", help="Only count them, and show what would stay where.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove the rows for which a condition is true, in every running version."""
    client, path = session.client(), f"/v0/datasources/{name}/delete"
    asked = {"where": where}
    if allow_destructive_operations and not rebuild:
        raise WrongUsage(
            "--allow-destructive-operations is about a rebuild", hint="give --rebuild too, or leave it out"
        )
    if rebuild:
        asked |= query_parameters(rebuild=True, allow_destructive_operations=allow_destructive_operations)
    found = client.post(path, {**asked, "check": "true"})
    if not session.as_json:
        _print_traces(name, found["traces"], found.get("rebuild"))
    rows = format_number(found["rows"], "row", "rows")
    if not check:
        if not yes:
            session.confirm(f"Remove {rows} of {name}?")
        found = client.post(path, {**asked, "auto_promote": "false", "wait": "false"} if rebuild else asked)
        found = _once_gone(session, client, found)
    text = f"{rows} of {name} {'removed' if found['deleted'] else 'would be removed'}"
    _output(session, *_once_rebuilt(session, client, found, text))


def _once_gone(session: Session, client: ServerClient, found: Json) -> Json:
    """What a deletion answered, once its job has removed the rows and begun the deployment, if it has one."""
    if "job" not in found:
        return found
    job = watch_job(client, found["job"], silent=session.as_json)
    made = client.get(f"/v1/deployments/{job['deployment']}") if job["deployment"] is not None else None
    return {**found, "deleted": True, "job": job, "deployment": made}


def _once_rebuilt(session: Session, client: ServerClient, found: Json, text: str) -> tuple[Json, str]:
    """What a deletion answered, and how to say it, once the deployment that it may have begun is live."""
    if not found.get("deployment"):
        return found, text
    if not session.as_json:
        console().print(text, markup=False)
    made = wait_for_deployment(session, client, found["deployment"], Promotion())
    names = ", ".join(_rebuilt(made["plan"]))
    said = f"deployment {made['id']} is {made['state']}, with {names} rebuilt; deployment {made['base']}"
    return {**found, "deployment": made}, f"{said} keeps what it had computed until `penstock deployment retire`"


def _rebuilt(plan: Json | None) -> list[str]:
    """The data sources that a plan computes anew."""
    return [each["name"] for each in (plan or {}).get("resources", ()) if each["strategy"] == "recompute"]


def _print_traces(name: str, traces: Json, rebuild: Json | None = None) -> None:
    """Say what removing the rows of a data source does not reach, and what the plan of a rebuild does."""
    page, rebuilt = console(), _rebuilt(rebuild)
    versions = ", ".join(map(str, traces["versions"]))
    page.print(f"{format_number(traces['rows'], 'row', 'rows')} of {name}, in deployment {versions}", markup=False)
    for each in traces["derived"]:
        rows = format_number(each["rows"], "row", "rows")
        what = "is rebuilt" if each["name"] in rebuilt else "stays"
        page.print(f"  {what}: {each['name']} ({rows}), computed from them", markup=False)
    for each in traces["copied"]:
        so = " and fills anew when it runs" if each["mode"] == "replace" else ""
        page.print(f"  stays: {each['name']}, which the copy `{each['pipe']}` fills from them{so}", markup=False)
    if traces["quarantined_rows"]:
        rows = format_number(traces["quarantined_rows"], "row", "rows")
        page.print(f"  stays: {name}_quarantine ({rows}); `quarantine {name} --clear` removes them", markup=False)
    if traces["raw_rows"]:
        rows = format_number(traces["raw_rows"], "raw row", "raw rows")
        page.print(f"  stays: {rows} in the inbox, until {traces['raw_until'][:19]} UTC or later", markup=False)


@group.command("files")
@command
def files(
    session: Session,
    name: DataSourceArgument,
    limit: Annotated[int, typer.Option("--limit", help="Show so many of the newest.", min=0, max=10_000)] = 20,
) -> None:
    """Show the files that a data source takes by itself, and what became of each."""
    found = session.client().get(f"/v0/datasources/{name}/files", {"limit": str(limit)})
    if session.as_json:
        print_json(found)
    else:
        _print_files(found)


@group.command("sync")
@command
def sync(
    session: Session,
    name: DataSourceArgument,
    retry: Annotated[bool, typer.Option("--retry", help="Try those again that could not be read.")] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when all are taken.")] = True,
) -> None:
    """Look now for files that a data source takes by itself; exit code 1 if one cannot be read."""
    client, path = session.client(), f"/v0/datasources/{name}"
    asked = client.post(f"{path}/sync", query_parameters(retry=retry))
    found = _wait_for_files(client, name, asked) if wait else client.get(f"{path}/files", {"limit": "20"})
    if session.as_json:
        print_json(found)
    else:
        _print_files(found)
    if found["counts"].get("failed"):
        raise typer.Exit(FAILED)


def _wait_for_files(client: ServerClient, name: str, asked: Json) -> Json:
    """The files of a data source once a look has taken all. Raises ServerRefusal if they wait for something else."""
    path = f"/v0/datasources/{name}"
    patient_until = again = time.monotonic() + STUCK_SECONDS
    while True:
        found = client.get(f"{path}/files", {"limit": "20"})
        if found["served"] >= asked["request"] and not _files_left(found):
            return found
        now = time.monotonic()
        if found["state"] != "waiting":
            patient_until = now + STUCK_SECONDS
        elif now > patient_until:
            raise ServerRefusal(503, {"error": f"the files of `{name}` wait: {found['reason']}"})
        if found["state"] != "idle":
            again = now + STUCK_SECONDS
        elif now > again:  # the server has started anew, and knows of no request
            asked, again = client.post(f"{path}/sync"), now + STUCK_SECONDS
        time.sleep(LOOK)


def _files_left(found: Json) -> int:
    return sum(found["counts"].get(state, 0) for state in ("waiting", "reading", "storing"))


def _print_files(found: Json) -> None:
    counts = ", ".join(f"{count:,} {state}" for state, count in sorted(found["counts"].items())) or "none yet"
    text = f"files of {found['place']} ({found['schedule']}): {counts}"
    print_line(f"{text}; waits: {found['reason']}" if found["reason"] else text)
    if not found["files"]:
        return
    rows = [
        (
            each["state"],
            each["successful_rows"],
            each["quarantined_rows"],
            each["updated_at"][:19],
            each["file"],
            each["error"] or "",
        )
        for each in found["files"]
    ]
    # Addresses are copied: no line is wrapped but by the terminal.
    print_plain_table(("state", "rows", "in quarantine", "since (UTC)", "file", "reason"), rows)


@group.command("quarantine")
@command
def quarantine(
    session: Session,
    name: DataSourceArgument,
    replay: Annotated[
        bool, typer.Option("--replay", help="Post the rows again that fit the live version now.")
    ] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Remove its rows.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before they are removed.")] = False,
    rows: Annotated[int, typer.Option("--rows", help="Show so many of the newest rows.", min=0, max=1000)] = 5,
    deployment: DeploymentOption = "live",
) -> None:
    """Show why rows of a data source were rejected; post them again, or remove them."""
    if replay and clear:
        raise typer.BadParameter(
            "what was replayed has left the quarantine: clear the rest afterwards", param_hint="--clear"
        )
    if (replay or clear) and deployment != "live":
        raise WrongUsage("--replay and --clear act on the live version", hint="leave --deployment out")
    client, path = session.client(), f"/v0/datasources/{name}/quarantine"
    if replay:
        job = wait_for_job(client, client.post(f"{path}/replay")["job"])
        _output(session, job, f"{format_number(job['rows'], 'row was', 'rows were')} posted again to {name}")
    elif clear:
        if not yes:
            session.confirm(f"Remove the rows of {name}_quarantine?")
        done = client.post(f"{path}/clear")
        _output(session, done, f"{format_number(done['removed_rows'], 'row', 'rows')} removed from {name}_quarantine")
    else:
        found = client.get(path, {"deployment": deployment, "limit": str(rows)})
        if session.as_json:
            print_json(found)
        else:
            _print_quarantine(name, found)


def _output(session: Session, document: Json, text: str) -> None:
    if session.as_json:
        print_json(document)
    else:
        console().print(text, markup=False)


def _print_quarantine(name: str, found: Json) -> None:
    page = console()
    page.print(f"{format_number(found['rows'], 'row', 'rows')} of {name} in quarantine", markup=False)
    if not found["rows"]:
        return
    print_table(
        ("column", "reason", "rows"), [(each["column"], each["reason"], each["rows"]) for each in found["reasons"]]
    )
    if found["newest"]:
        print_table(
            ("received (UTC)", "row", "problems"),
            [(each["inserted_at"][:19], each["raw"], "\n".join(each["problems"])) for each in found["newest"]],
        )
    page.print(
        f"after a fix: `penstock datasource quarantine {name} --replay` posts again what fits; `--clear` removes all",
        style="dim",
        markup=False,
    )


ATTEMPTS = 4
LOOK = 0.3
"""Seconds between two looks at the files of a data source."""
STUCK_SECONDS = 5.0
"""A command stops waiting for files that could not go on for so long."""


def _parameters_of(name: str, rows: RowFile) -> dict[str, str]:
    """What a call says of the rows that it sends."""
    delimiter = {"dialect_delimiter": rows.delimiter} if rows.format == "csv" else {}
    return query_parameters(name=name, format=rows.format) | delimiter


def append_rows(client: ServerClient, name: str, rows: RowFile, wait: bool) -> Json:
    """Send all rows; with `wait`, return when they can be queried."""
    counts = {"successful_rows": 0, "quarantined_rows": 0}
    parameters, is_csv = _parameters_of(name, rows), rows.format == "csv"
    bodies = rows.bodies()
    body = _following_body(bodies, counts) or b""
    while True:
        following = _following_body(bodies, counts)
        waits = query_parameters(wait=True) if wait and following is None else {}
        answer = _send_with_retries(client, {**parameters, **waits}, body)
        counts = {key: counts[key] + answer[key] for key in counts}
        if following is None:
            return counts
        body = following
        if is_csv:
            parameters |= query_parameters(repeats_first=True)


def _following_body(bodies: Iterator[bytes], counts: Json) -> bytes | None:
    """The next body, None after the last one. Raises InvalidRequest that says how many rows were sent before."""
    try:
        return next(bodies, None)
    except InvalidRequest as error:
        sent = counts["successful_rows"] + counts["quarantined_rows"]
        hint = f"{format_number(sent, 'row', 'rows')} of it were appended before" if sent else "none of it was appended"
        raise InvalidRequest(error.message, hint=hint) from error


def _send_with_retries(client: ServerClient, parameters: dict[str, str], body: bytes) -> Json:
    key = uuid.uuid4().hex
    for attempt in range(1, ATTEMPTS):
        try:
            return client.append(parameters, body, key)
        except NoServer:
            time.sleep(attempt)
    return client.append(parameters, body, key)
