"""What every command has in common: the project, the server and the form of the output.

In: the four options that every command takes. Out: `Session`. Called by every command through
`@command`. Invariant: an option after the command wins over the same one before it, and both over
the environment.

Parameters on the command line: `--param NAME=VALUE`.

In: what was given. Out: values by name. Called by the commands that ask pipes. Invariant: a value may hold anything,
also `=`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, cast

import typer

from penstock.cli.client import Client
from penstock.cli.errors import WrongUsage
from penstock.cli.project_folder import admin_token, find_project, need_project, running

DEFAULT_URL = "http://127.0.0.1:7180"
P = ParamSpec("P")


class Form(str, Enum):
    """How a command answers."""

    text = "text"
    json = "json"


OutputOption = Annotated[Form | None, typer.Option("--output", help="text, or one JSON document.")]
UrlOption = Annotated[str | None, typer.Option("--url", help="The server's address.", envvar="PENSTOCK_URL")]
TokenOption = Annotated[str | None, typer.Option("--token", help="The token.", envvar="PENSTOCK_TOKEN")]
ProjectOption = Annotated[Path | None, typer.Option("--project", help="The project's folder.")]


@dataclass(frozen=True, slots=True)
class Common:
    """The options of every command, as given."""

    output: Form | None = None
    url: str | None = None
    token: str | None = None
    project: Path | None = None

    def over(self, before: Common) -> Common:
        """These, and where they say nothing those given before the command."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(before, **{name: value for name, value in given.items() if value is not None})


class Session:
    """The options, made sense of when they are needed."""

    def __init__(self, common: Common):
        self._common = common
        self._folder = find_project(common.project)

    @property
    def as_json(self) -> bool:
        return self._common.output is Form.json

    @property
    def project(self) -> Path:
        """Raises WrongUsage where there is none."""
        return need_project(self._folder)

    @property
    def url(self) -> str:
        """As given, else where the project's server says it listens, else the default."""
        known = running(self._folder) if self._folder and not self._common.url else None
        url = self._common.url or (known.url if known else DEFAULT_URL)
        if not url.startswith(("http://", "https://")):
            raise WrongUsage(f"`{url}` is no address of a server", hint=f"such as {DEFAULT_URL}")
        return url.rstrip("/")

    def client(self) -> Client:
        token = self._common.token or (admin_token(self._folder) if self._folder else None)
        return Client(self.url, token)


def command(function: Callable[Concatenate[Session, P], None]) -> Callable[..., None]:
    """A command: the function's own parameters, and the common options, which become its session."""

    @functools.wraps(function)
    def run(context: typer.Context, **given: Any) -> None:
        common = Common(**{each.name: given.pop(each.name) for each in fields(Common)})
        before = context.find_root().obj
        session = Session(common.over(before if isinstance(before, Common) else Common()))
        cast(Callable[..., None], function)(session, **given)

    own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    shared = inspect.signature(common_options, eval_str=True).parameters.values()
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*own, *shared)]
    context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    # Typer reads the signature; the wrapped function's would hide the common options.
    run.__signature__ = inspect.Signature([context, *parameters])  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in (context, *parameters)}
    del run.__wrapped__
    return run


def common_options(
    output: OutputOption = None, url: UrlOption = None, token: TokenOption = None, project: ProjectOption = None
) -> Common:
    """The options that may stand before a command or after it."""
    return Common(output, url, token, project)


Param = Annotated[list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Repeatable.")]


def parse_parameters(given: Sequence[str] | None) -> dict[str, str]:
    """Raises WrongUsage."""
    wrong = next((pair for pair in given or () if "=" not in pair), None)
    if wrong is not None:
        raise WrongUsage(f"--param takes NAME=VALUE, not `{wrong}`")
    return {name: value for name, _, value in (pair.partition("=") for pair in given or ())}
