"""The options that every command takes: project, server address, token and form of output.

In: the common options, before or after the command. Out: a `Session`, which resolves them when they are needed.
Invariant: an option after the command wins over the same one before it, and both win over the environment.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec, TypeAlias, cast

import typer

from penstock.cli.errors import WrongUsage
from penstock.cli.project_folder import find_project, require_project, write_admin_token
from penstock.client.project_server import DEFAULT_URL, project_url, read_admin_token
from penstock.model.quick_dataclass import dataclass

if TYPE_CHECKING:
    from penstock.cli.client import ServerClient

P = ParamSpec("P")
_Connect: TypeAlias = "Callable[[str, str | None, Path | None], ServerClient]"


class OutputFormat(str, Enum):
    """The form of a command's output."""

    text = "text"
    json = "json"


OutputOption = Annotated[OutputFormat | None, typer.Option("--output", help="text, or one JSON document.")]
UrlOption = Annotated[str | None, typer.Option("--url", help="The server's address.", envvar="PENSTOCK_URL")]
TokenOption = Annotated[str | None, typer.Option("--token", help="The token.", envvar="PENSTOCK_TOKEN")]
ProjectOption = Annotated[Path | None, typer.Option("--project", help="The project's folder.")]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """The options of every command, as given."""

    output: OutputFormat | None = None
    url: str | None = None
    token: str | None = None
    project: Path | None = None

    def overriding(self, before: CommonOptions) -> CommonOptions:
        """These options; where one is not given, the one given before the command."""
        given = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(before, **{name: value for name, value in given.items() if value is not None})


class Session:
    """The common options, resolved when they are needed."""

    def __init__(self, common: CommonOptions):
        self._common = common

    @functools.cached_property
    def _folder(self) -> Path | None:
        return find_project(self._common.project)

    @property
    def new_project(self) -> Path:
        """The folder for a project that may be one to make: `--project`, else the nearest one upwards, else this."""
        given = self._common.project
        return given.absolute() if given is not None else find_project(None) or Path.cwd()

    @property
    def as_json(self) -> bool:
        return self._common.output is OutputFormat.json

    @property
    def is_interactive(self) -> bool:
        """Whether somebody is there who can answer a question."""
        return sys.stdin.isatty() and sys.stdout.isatty() and not self.as_json

    def confirm(self, question: str) -> None:
        """Ask before something is removed; a program that reads JSON is not asked. Raises Abort if the answer at a
        terminal is no, WrongUsage if nobody there says yes."""
        if self.as_json:
            return
        try:
            typer.confirm(question, abort=True)
        except typer.Abort:
            if sys.stdin.isatty():
                raise
            raise WrongUsage("nobody said yes: nothing was done", hint="--yes does it without asking") from None

    @property
    def project(self) -> Path:
        """The project's folder. Raises WrongUsage if there is none."""
        return require_project(self._folder)

    @property
    def url(self) -> str:
        """The address given, else the one that the project's server recorded, else that of the project's settings, else
        the default. Raises NoServer for a project that had a server, or was restored, and has none now: the one at the
        address of its settings is another project's, and may take the same token."""
        url = self._common.url
        if not url and self._folder is not None:
            url = project_url(self._folder, self._common.token)
        url = url or DEFAULT_URL
        if not url.startswith(("http://", "https://")):
            raise WrongUsage(f"`{url}` is not an address of a server", hint=f"such as {DEFAULT_URL}")
        return url.rstrip("/")

    @property
    def token(self) -> str | None:
        """The token given, else the one that the project's folder has."""
        return self._common.token or (read_admin_token(self._folder) if self._folder else None)

    def keep_admin_token(self, secret: str) -> bool:
        """Write the new secret of the token that the folder has, if it was that one the command used. Returns whether
        it was."""
        if self._common.token is not None or self._folder is None or read_admin_token(self._folder) is None:
            return False
        write_admin_token(self._folder, secret)
        return True

    def client(self) -> ServerClient:
        """A client of the server. Raises OtherProject if its address was not given, and another project's server
        answers there."""
        token = self._common.token or (read_admin_token(self._folder) if self._folder else None)
        # HTTP takes a while to load, and a command that needs no server does not wait for it.
        connect = cast(_Connect, import_module("penstock.cli.client").connect)
        return connect(self.url, token, self._folder if self._common.url is None else None)


def command(function: Callable[Concatenate[Session, P], None]) -> Callable[..., None]:
    """Make a Typer command of a function: its own parameters plus the common options, which become its session."""

    @functools.wraps(function)
    def run(context: typer.Context, **given: Any) -> None:
        common = CommonOptions(**{each.name: given.pop(each.name) for each in fields(CommonOptions)})
        before = context.find_root().obj
        session = Session(common.overriding(before if isinstance(before, CommonOptions) else CommonOptions()))
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
) -> CommonOptions:
    """The options that may stand before a command or after it."""
    return CommonOptions(output, url, token, project)


ParamOption = Annotated[list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Repeatable.")]


def parse_parameters(given: Sequence[str] | None) -> dict[str, str]:
    """The values by name; a value may contain anything, also `=`. Raises WrongUsage for text without `=`."""
    wrong = next((pair for pair in given or () if "=" not in pair), None)
    if wrong is not None:
        raise WrongUsage(f"--param takes NAME=VALUE, not `{wrong}`")
    return {name: value for name, _, value in (pair.partition("=") for pair in given or ())}
