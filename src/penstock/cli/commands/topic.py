"""`penstock topic`: how the topics of data sources are read.

In: the name of a data source. Out: the state and lag of each topic; which offsets were given up. Invariant: nothing is
given up but what the topic has lost already.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.json_documents import Json
from penstock.cli.output import print_json, print_table
from penstock.cli.session import Session, command

group = typer.Typer()


@group.command("ls")
@command
def ls(session: Session) -> None:
    """List the topics that data sources read, with their states and how far each is behind."""
    found = session.client().get("/v0/topics")["topics"]
    if session.as_json:
        print_json({"topics": found})
        return
    rows = [(each["datasource"], each["topic"], each["state"], _lag(each), each["reason"] or "") for each in found]
    print_table(("data source", "topic", "state", "messages behind", "reason"), rows)


def _lag(topic: Json) -> str:
    return str(sum(topic["lag"].values())) if topic["lag"] else ""


@group.command("skip")
@command
def skip(
    session: Session,
    name: Annotated[str, typer.Argument(help="The data source.")],
) -> None:
    """Go on with a topic that has lost messages before they were read: from the first message that it has."""
    given_up = session.client().post(f"/v0/topics/{name}/skip")["given_up"]
    if session.as_json:
        print_json({"given_up": given_up})
        return
    print_table(
        ("partition", "given up from", "up to"), [(at, first, end) for at, (first, end) in sorted(given_up.items())]
    )
