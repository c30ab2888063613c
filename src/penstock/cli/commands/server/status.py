"""`penstock status`: the running deployments, their progress, and what fails.

In: the server's status document. Out: what is wrong, one line each, then tables. Invariant: nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_count, format_number, print_json, print_table
from penstock.cli.session import Session, command


@command
def status(session: Session) -> None:
    """Show the running deployments, their progress, and what fails."""
    found = session.client().get("/v0/status")
    if session.as_json:
        print_json({"url": session.url, **found})
        return
    page = console()
    page.print(f"penstock {found['version']} at {session.url}, up for {found['seconds']:,.0f} s", markup=False)
    if found.get("stale_seconds"):
        line = (
            f"this is how it was {found['stale_seconds']:,.0f} s ago, except for what fails: {found['stale_because']}"
        )
        page.print(line, style="yellow", markup=False)
    for check in found.get("checks", ()):
        _print_check(check)
    for failure in found["failures"]:
        _print_failure(failure)
    for each in found["damaged"]:
        line = f"batch {each['batch']} of `{each['stream']}` is damaged, its {each['rows']} rows are in the quarantine"
        page.print(f"{line}: {each['damage']}", style="red", markup=False)
    _print_topics(found.get("topics", ()))
    _print_imports(found.get("imports", ()))
    for drift in found["drift"]:
        page.print(f"{drift['message']} ({drift['hint']})", style="red" if drift["stops"] else "yellow", markup=False)
    for each in found["maintenance"]["failing"]:
        line = f"{each['kind']} of {each['table'] or 'the warehouse'} failed and is tried again: {each['message']}"
        page.print(line, style="yellow", markup=False)
    for deployment in found["deployments"]:
        _print_deployment(deployment)
    if not found["deployments"]:
        page.print("nothing is deployed: `penstock deploy` deploys a project", markup=False)


def _print_topics(topics: Iterable[Json]) -> None:
    """Those that are not read now."""
    for each in topics:
        if each["state"] in ("waiting", "stopped"):
            line = f"the topic `{each['topic']}` of `{each['datasource']}` is {each['state']}: {each['reason']}"
            console().print(line, style="red" if each["state"] == "stopped" else "yellow", markup=False)


def _print_imports(imports: Iterable[Json]) -> None:
    """Those that wait, and how many files cannot be read."""
    for each in imports:
        name = each["datasource"]
        if each["state"] == "waiting":
            console().print(f"the files of `{name}` wait: {each['reason']}", style="yellow", markup=False)
        if each["failed"]:
            files = format_number(each["failed"], "file", "files")
            line = f"{files} of `{name}` cannot be read: `penstock datasource files {name}` says why"
            console().print(line, style="red", markup=False)


def _print_check(check: Json) -> None:
    if not check["ok"] and check["check"] != "flows":  # the flows that fail have lines of their own
        details = f" ({check['details']})" if check["details"] else ""
        console().print(f"{check['check']}: {check['reason']}{details}", style="red", markup=False)


def _print_failure(failure: Json) -> None:
    of = "" if failure["live"] else f" of deployment {', '.join(map(str, failure['deployments']))}"
    line = f"{failure['flow']} into `{failure['datasource']}`{of} fails since {failure['since']}"
    page = console()
    page.print(
        f"{line} ({format_number(failure['attempts'], 'time', 'times')}): {failure['message']}",
        style="red",
        markup=False,
    )
    page.print(f"  {failure['hint']}", markup=False)


def _print_deployment(deployment: Json) -> None:
    page = console()
    name = f" {deployment['name']}" if deployment["name"] else ""
    notes = f"{', paused' if deployment['paused'] else ''}{', stale' if deployment.get('stale') else ''}"
    page.print(f"\ndeployment {deployment['id']}{name}: {deployment['state']}{notes}", style="bold", markup=False)
    if deployment.get("stale"):
        page.print("  another version went live since it was planned: discard it and deploy again", markup=False)
    if deployment["waits"] and deployment["filling"]:
        page.print(f"  its histories are not filled at full speed: {deployment['waits']}", markup=False)
    tables = [(name, each["table"], each["rows"]) for name, each in sorted(deployment["tables"].items())]
    print_table(("data source", "table", "rows"), tables)
    for each in deployment["filling"]:
        rows = f"{format_count(each['rows'])} of {format_count(each['of'])} rows"
        page.print(f"  {each['name']}: {rows} of its history", markup=False)
    _print_lag([late for late in deployment["behind"] if late["stream"]])


LATE_SECONDS = 10.0
"""Rows of the last seconds are always on their way somewhere; a table that is later than this has a line."""


def _print_lag(behind: Sequence[Json]) -> None:
    page = console()
    for each in behind:
        if each["seconds"] >= LATE_SECONDS:
            seconds = f"{each['seconds']:,.0f} s behind `{each['stream']}`"
            page.print(f"  {each['flow']} into `{each['name']}` is {seconds}", style="yellow", markup=False)
    fresh = [each["seconds"] for each in behind if each["seconds"] < LATE_SECONDS]
    if fresh:
        page.print(f"  rows of the last {max(fresh):.1f} s are on their way", style="dim", markup=False)
