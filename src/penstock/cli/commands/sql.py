"""`penstock sql QUERY`: run a query and print its rows.

In: a query. Out: its rows as a table, one value a line, or in a format of the server. Invariant: in a terminal at most
DEFAULT_ROWS rows are asked for unless the user says how many; into a file or a pipe all of them go.
"""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from penstock.cli.answer_output import AnswerView, print_answer
from penstock.cli.client import ServerClient
from penstock.cli.errors import WrongUsage
from penstock.cli.json_documents import query_parameters
from penstock.cli.output import print_json
from penstock.cli.session import Session, command
from penstock.redaction import escape_controls

DEFAULT_ROWS = 1_000


class AnswerForm(str, Enum):
    """The forms in which rows can be printed."""

    table = "table"
    vertical = "vertical"
    json = "json"
    ndjson = "ndjson"
    csv = "csv"


SERVER_FORMATS = {AnswerForm.json: "JSON", AnswerForm.ndjson: "JSONEachRow", AnswerForm.csv: "CSVWithNames"}


@command
def sql(
    session: Session,
    query: Annotated[str, typer.Argument(help="A SELECT, SHOW TABLES, DESCRIBE name or EXPLAIN SELECT …; - reads it.")],
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
    limit: Annotated[
        int | None, typer.Option("--limit", min=0, help=f"The most rows; 0: all. In a terminal {DEFAULT_ROWS:,}.")
    ] = None,
    form: Annotated[AnswerForm | None, typer.Option("--format", help="How rows are printed.")] = None,
    vertical: Annotated[bool, typer.Option("--vertical", help="One value a line.")] = False,
    pager: Annotated[bool, typer.Option("--pager/--no-pager", help="Page what a terminal cannot show at once.")] = True,
) -> None:
    """Run a query."""
    if vertical and form not in (None, AnswerForm.vertical):
        raise WrongUsage("--vertical and --format name two forms", hint="give one of them")
    if session.as_json and form not in (None, AnswerForm.json):
        raise WrongUsage("--output json is one JSON document, which --format asks not to print", hint="leave one out")
    text = sys.stdin.read() if query == "-" else query
    if not text.strip():
        raise WrongUsage("the query is empty", hint="`SHOW TABLES` says what there is")
    rows = limit if limit is not None else DEFAULT_ROWS if sys.stdout.isatty() and not session.as_json else 0
    parameters = query_parameters(deployment=deployment, row_limit=rows or None)
    client = session.client()
    if form in SERVER_FORMATS:
        _print_formatted(client, f"{text.strip().removesuffix(';')}\nFORMAT {SERVER_FORMATS[form]}", parameters)
        return
    if session.as_json:
        print_json(client.query(text, parameters))
        return
    answer = client.query(text, {**parameters, "output_format_json_quote_denormals": "true"})
    print_answer(answer, AnswerView(vertical or form is AnswerForm.vertical, pager))


def _print_formatted(client: ServerClient, text: str, parameters: dict[str, str]) -> None:
    """The server's answer, piece by piece: as it is into a file, without control characters on a terminal. Its last
    line ends, so that a prompt, or the answer of the next command, begins a line."""
    shown, last = escape_controls if sys.stdout.isatty() else str, "\n"
    for piece in client.query_text(text, parameters):
        sys.stdout.write(shown(piece))
        last = piece[-1:] or last
    if last != "\n":
        sys.stdout.write("\n")
