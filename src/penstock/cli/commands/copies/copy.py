"""`penstock copy`: list and run copies, also for many ranges of time.

In: the name of a copy and its parameters. Out: the copies with their latest jobs; the jobs that ran one. Invariants:
with `--wait` the command returns when the job has ended, and fails if the job failed or was cancelled; rows of a range
of time are copied once, however often the command is run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn

from penstock.cli.client import ServerClient
from penstock.cli.commands.copies.range_jobs import OPEN, RangeCall, RangeJobs, RangeOutcome
from penstock.cli.commands.copies.time_ranges import (
    CopyRange,
    RangeParameters,
    RangeUnit,
    divide_time,
    find_parameters,
)
from penstock.cli.commands.job import job_text, pipes_with_jobs, print_job, wait_for_job
from penstock.cli.errors import FAILED, WrongUsage
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_number, print_json, print_table
from penstock.cli.session import ParamOption, Session, command, parse_parameters
from penstock.errors import Conflict, NotFound, did_you_mean

group = typer.Typer()


@group.command("ls")
@command
def ls(
    session: Session,
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
) -> None:
    """List the copies with their schedules and latest jobs."""
    copies = pipes_with_jobs(session.client(), "copy", deployment)
    if session.as_json:
        print_json({"copies": copies})
        return
    rows = [
        (each["name"], each["target"], each["mode"], each["schedule"] or "", job_text(each["job"])) for each in copies
    ]
    print_table(("copy", "data source", "mode", "schedule (UTC)", "latest job"), rows)


@group.command("run")
@command
def run(
    session: Session,
    name: Annotated[str, typer.Argument(help="The copy.")],
    param: ParamOption = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the rows can be queried.")] = True,
    each: Annotated[RangeUnit | None, typer.Option("--each", help="One job a range of time.")] = None,
    start: Annotated[str | None, typer.Option("--from", metavar="TIME", help="Where the first range begins.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Where the last range ends.")] = None,
    from_param: Annotated[
        str | None, typer.Option("--from-param", metavar="NAME", help="The parameter for the start of a range.")
    ] = None,
    to_param: Annotated[
        str | None, typer.Option("--to-param", metavar="NAME", help="The parameter for its end.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, max=16, help="How many ranges are begun at a time.")] = 2,
) -> None:
    """Run a copy of the live version: its rows are appended to its data source, or replace that's rows."""
    given = parse_parameters(param)
    if each is not None:
        if start is None or end is None or not wait:
            raise WrongUsage(
                "--each needs --from and --to, and waits", hint="such as --each day --from 2024-05-01 --to 2024-06-01"
            )
        asked = _AskedRanges(name, each, divide_time(start, end, each), given)
        _run_ranges(session, asked, (from_param, to_param), jobs)
        return
    if any(option is not None for option in (start, end, from_param, to_param)):
        raise WrongUsage(
            "--from, --to, --from-param and --to-param need --each", hint="--param gives a value of one run"
        )
    client = session.client()
    job = client.post(f"/v0/pipes/{name}/copy", given)["job"]
    if wait:
        job = wait_for_job(client, job)
    if session.as_json:
        print_json(job)
    else:
        print_job(job)


@dataclass(frozen=True, slots=True)
class _AskedRanges:
    """The ranges for which a copy is to be run."""

    copy: str
    unit: RangeUnit
    parts: Sequence[CopyRange]
    given: Mapping[str, str]
    """Parameters that are the same for all ranges."""


def _run_ranges(session: Session, asked: _AskedRanges, names: tuple[str | None, str | None], most_open: int) -> None:
    client = session.client()
    copy = _find_copy(client, asked.copy)
    parameters = find_parameters(copy["parameters"], asked.unit, *names)
    twice = next((name for name in (parameters.start, parameters.end) if name in asked.given), None)
    if twice is not None:
        raise WrongUsage(f"`{twice}` is what the ranges set: --param cannot give it", hint="leave it out")
    calls = [RangeCall(part, {**asked.given, **parameters.values(part, asked.unit)}) for part in asked.parts]
    running = RangeJobs(client, asked.copy, most_open)
    _refuse_overlap(running.existing(), calls, parameters)
    outcomes = _run_shown(session, running, calls)
    failed = [each for each in outcomes if each.error]
    if session.as_json:
        rows = sum(each.job["rows"] or 0 for each in outcomes if each.job is not None and each.is_done)
        ranges = [each.as_json() for each in outcomes]
        print_json({"copy": asked.copy, "ok": all(each.is_done for each in outcomes), "rows": rows, "ranges": ranges})
    else:
        _print_outcomes(outcomes)
    if failed:
        raise typer.Exit(FAILED)


def _find_copy(client: ServerClient, name: str) -> Json:
    copies = {each["name"]: each for each in client.get("/v0/pipes", {"kind": "copy"})["pipes"]}
    if name not in copies:
        raise NotFound(f"there is no copy `{name}`", hint=did_you_mean(name, copies))
    found: Json = copies[name]
    if found["mode"] == "replace":
        message = f"the runs of `{name}` replace each other's rows: only those of the last range would stay"
        raise WrongUsage(message, hint="COPY_MODE append keeps the rows of all ranges")
    return found


def _refuse_overlap(existing: Sequence[Json], calls: Sequence[RangeCall], names: RangeParameters) -> None:
    """Raises Conflict if rows of a part of the ranges were copied by a job for another range: they would be there
    twice."""
    if names.end is None:
        return
    own = {names.start, names.end}
    known = {(call.parameters[names.start], call.parameters[names.end]) for call in calls}
    first, last = calls[0].parameters[names.start], calls[-1].parameters[names.end]
    for job in existing:
        given = job["parameters"]
        start, end = str(given.get(names.start, "")), str(given.get(names.end, ""))
        may_have_rows = job["rows"] is not None or job["status"] in OPEN
        if not may_have_rows or (start, end) in known or _others(given, own) != _others(calls[0].parameters, own):
            continue
        if start < last and first < end:
            what = f"job {job['id']} copies {start} to {end}, which is none of these ranges"
            raise Conflict(f"{what}: rows would be doubled", hint="use the same --each as before, or another time")


def _others(parameters: Mapping[str, object], own: set[str]) -> dict[str, object]:
    """The parameters that do not name a range."""
    return {name: value for name, value in parameters.items() if name not in own}


def _run_shown(session: Session, running: RangeJobs, calls: Sequence[RangeCall]) -> list[RangeOutcome]:
    """Run ranges with a bar on a terminal, lines elsewhere, nothing with JSON."""
    if session.as_json:
        return running.run(calls, lambda outcome: None)
    page = console()
    if not page.is_terminal:
        return running.run(calls, lambda outcome: page.print(f"  {_outcome_text(outcome)}", markup=False))
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), console=page
    ) as bars:
        task = bars.add_task("ranges", total=len(calls))
        outcomes = running.run(calls, lambda outcome: bars.update(task, advance=1, description=str(outcome.call.part)))
        bars.update(task, completed=sum(each.is_done for each in outcomes))
        return outcomes


def _outcome_text(outcome: RangeOutcome) -> str:
    if outcome.error:
        return f"{outcome.call.part}: {outcome.error}"
    job = outcome.job
    if job is None:
        return str(outcome.call.part)
    rows = format_number(job["rows"], "row", "rows") if job["rows"] is not None else "? rows"
    return f"{outcome.call.part}: job {job['id']}, {rows}"


def _print_outcomes(outcomes: Sequence[RangeOutcome]) -> None:
    page = console()
    for each in outcomes:
        if each.error:
            page.print(_outcome_text(each), style="red", markup=False)
    before = sum(not each.is_new for each in outcomes)
    left = sum(each.job is None and not each.error for each in outcomes)
    parts = [f"{format_number(sum(each.is_done for each in outcomes), 'range is', 'ranges are')} done"]
    parts += [f"{before} of them before"] if before else []
    parts += [f"{left} not begun: the same command goes on"] if left else []
    page.print(", ".join(parts), markup=False)
