"""`penstock token`: list, create, rotate and remove tokens.

In: names and scopes. Out: tokens. Invariant: a token's secret is printed only by the command that made it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.errors import print_problems
from penstock.cli.json_documents import Json
from penstock.cli.output import console, print_json, print_table
from penstock.cli.session import Session, command

group = typer.Typer()


@group.command("ls")
@command
def ls(session: Session) -> None:
    """List the tokens, and what the TOKEN lines of the live version grant."""
    tokens = session.client().get("/v0/tokens")["tokens"]
    if session.as_json:
        print_json({"tokens": tokens})
        return
    print_table(
        ("token", "scopes", "granted by TOKEN lines"),
        [(each["name"], ", ".join(each["scopes"]) or "—", ", ".join(each["grants"])) for each in tokens],
    )
    for text in filter(None, map(_idle_grants, tokens)):
        console().print(text, style="dim", markup=False)


def _idle_grants(token: Json) -> str:
    """Why the grants of a name are not in effect, and what makes them so; empty if they are, or if there are none."""
    name = token["name"]
    if not token["grants"] or "declared" in token["scopes"]:
        return ""
    if not token["created"]:
        return f"nobody has a token `{name}`: `penstock token create {name} --scopes declared` makes one"
    return f"the token `{name}` has no scope `declared`, so TOKEN lines grant it nothing"


@group.command("create")
@command
def create(
    session: Session,
    name: Annotated[str, typer.Argument(help="Its name.")],
    scope: Annotated[
        list[str],
        typer.Option(
            "--scopes",
            "--scope",
            help="admin, deploy, append, read, append:NAME, read:NAME, declared; with commas, or repeated.",
        ),
    ],
) -> None:
    """Create a token and show its secret."""
    made = session.client().post("/v0/tokens", {"name": name, "scopes": ",".join(scope)})
    if session.as_json:
        print_json(made)
        return
    page = console()
    page.print(made["token"], markup=False, soft_wrap=True)
    print_problems(made.get("problems", ()))


@group.command("rotate")
@command
def rotate(session: Session, name: Annotated[str, typer.Argument(help="Its name.")]) -> None:
    """Give a token a new secret and show it; the old one stops working at once."""
    made = session.client().post(f"/v0/tokens/{name}/rotate")
    kept = made["own"] and session.keep_admin_token(made["token"])
    if session.as_json:
        print_json(made)
        return
    page = console()
    page.print(made["token"], markup=False, soft_wrap=True)
    if kept:
        page.print("the project's folder has it, too: .penstock/admin_token", style="dim", markup=False)


@group.command("rm")
@command
def rm(session: Session, name: Annotated[str, typer.Argument(help="Its name.")]) -> None:
    """Remove a token; it stops working at once."""
    removed = session.client().delete(f"/v0/tokens/{name}")
    if session.as_json:
        print_json(removed)
    else:
        console().print(f"the token {name} was removed", markup=False)
