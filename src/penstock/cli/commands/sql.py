"""`penstock sql QUERY`: run a query and print its rows."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import print_answer, print_json
from penstock.cli.session import Session, command


@command
def sql(
    session: Session,
    query: Annotated[str, typer.Argument(help="A SELECT.")],
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
) -> None:
    """Run a query."""
    answer = session.client().query(query, deployment)
    if session.as_json:
        print_json(answer)
    else:
        print_answer(answer)
