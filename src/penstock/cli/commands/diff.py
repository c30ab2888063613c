"""`penstock diff LEFT RIGHT`: compare two versions at one cut.

In: two deployments, calls of endpoints in a file, and what may differ. Out: the report of the server. Invariant: exit
code 0 means that nothing differs that was not declared; what was not compared is named.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import typer

from penstock.cli.errors import FAILED
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.output import console, format_number, print_json, print_table
from penstock.cli.parity import ExpectOption, ParamsOption, expected_names, read_calls
from penstock.cli.session import Session, command

MARKS = {
    "same": "same",
    "differs": "DIFFERS",
    "not_compared": "not compared",
    "failed": "FAILED",
    "only_left": "only left",
    "only_right": "only right",
}


@command
def diff(
    session: Session,
    left: Annotated[str, typer.Argument(metavar="LEFT", help="An id, a name, or live, staging, previous.")] = "live",
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="The one to compare with it.")] = "staging",
    params: ParamsOption = None,
    expect: ExpectOption = None,
    rows: Annotated[int, typer.Option("--rows", min=1, max=1000, help="Differing rows of each side to show.")] = 10,
    calls: Annotated[
        int,
        typer.Option("--calls", min=0, max=100, help="Recorded calls of each endpoint to compare."),
    ] = 10,
) -> None:
    """Compare the rows and answers of two versions that have processed the same batches."""
    parameters = query_parameters(left=left, right=right, rows=rows, expect=expected_names(expect), calls=calls)
    found = session.client().compare(parameters, read_calls(params))
    if session.as_json:
        print_json(found)
    else:
        _print_report(found)
    if not found["same"]:
        raise typer.Exit(FAILED)


def _print_report(found: Json) -> None:
    page = console()
    left, right = (_version_text(found[side]) for side in ("left", "right"))
    streams = format_number(len(found["cut"]["batches"]), "stream", "streams")
    page.print(f"{left} and {right}, both with the same batches of {streams}", markup=False)
    if found["tables"]:
        print_table(("table", "", "rows left", "rows right", "only left", "only right"), [*map(_row, found["tables"])])
    if found["endpoints"]:
        calls = [(_call_text(each), *_row(each)[1:]) for each in found["endpoints"]]
        print_table(("endpoint", "", "rows left", "rows right", "only left", "only right"), calls)
    for each in found["tables"]:
        _print_details(each["name"], each)
    for each in found["endpoints"]:
        _print_details(_call_text(each), each)
    page.print(_outcome_text(found), markup=False)


def _version_text(version: Json) -> str:
    name = f" ({version['name']})" if version["name"] else ""
    return f"{version['state']} {version['id']}{name}"


def _row(found: Json) -> tuple[object, ...]:
    mark = MARKS[found["outcome"]] + (", as declared" if found["declared"] and found["outcome"] == "differs" else "")
    counts = found["rows"]
    only = (counts["only_left"], counts["only_right"]) if found["left_rows"] is not None else (None, None)
    return (found["name"], mark, found["left_rows"], found["right_rows"], *only)


def _call_text(call: Json) -> str:
    given = ", ".join(f"{name}={value}" for name, value in call["parameters"].items())
    return f"{call['name']}({given})" if given else str(call["name"])


def _print_details(title: str, found: Json) -> None:
    lines = list(_details(found))
    if not lines:
        return
    page = console()
    page.print(f"{title}:", markup=False)
    for line in lines:
        page.print(f"  {line}", markup=False, soft_wrap=True)


def _details(found: Json) -> Iterator[str]:
    if found["reason"]:
        yield found["reason"]
    yield from found["notes"]
    for column, reason in found["left_out"].items():
        yield f"{column} was not compared: {reason}"
    if found["outcome"] != "differs":
        return
    differing = [column["name"] for column in found.get("columns", ()) if column["left"] != column["right"]]
    if differing:
        yield f"columns with another checksum: {', '.join(differing)}"
    for shown in found["rows"]["sample"]:
        times = f" ({shown['times']} times)" if shown["times"] > 1 else ""
        yield f"{'-' if shown['side'] == 'left' else '+'} {json.dumps(shown['row'], ensure_ascii=False)}{times}"


def _outcome_text(found: Json) -> str:
    skipped = sum(each["outcome"] == "not_compared" for each in (*found["tables"], *found["endpoints"]))
    more = f"; {skipped} not compared" if skipped else ""
    if found["same"]:
        return f"nothing differs that was not declared{more}"
    return f"{format_number(len(found['differences']), 'difference', 'differences')}{more}"
