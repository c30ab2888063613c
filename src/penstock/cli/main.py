"""The command `penstock`: the table of its commands, and the place where every error ends.

In: the command line. Out: an exit code. Invariant: only the modules of the commands named on the command line are
imported, so that a command starts in a fraction of a second.
"""

from __future__ import annotations

import gc
import importlib
import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer
from typer.main import get_command

from penstock import __version__
from penstock.cli.errors import (
    DONE,
    FAILED,
    INTERRUPTED,
    WRONG_USAGE,
    WrongUsage,
    exit_code,
    report,
    report_json,
    wants_json,
)
from penstock.cli.session import OutputOption, ProjectOption, TokenOption, UrlOption, common_options
from penstock.errors import PenstockError
from penstock.model.quick_dataclass import dataclass

# Typer's usage errors all have this base, whether it brings a copy of click or uses click itself.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]
_SAID_BY_CLICK = (
    (re.compile(r"is not a valid int(eger)?( range)?\.?$"), "is not a whole number"),
    (re.compile(r"is not a valid float( range)?\.?$"), "is not a number"),
    (re.compile(r"is not in the range (-?[\d.]+)<=x<=(-?[\d.]+)\.?$"), r"is not from \1 to \2"),
    (re.compile(r"is not in the range x>=(-?[\d.]+)\.?$"), r"is less than \1"),
)
"""What click says of a value in words of its own, and what is meant."""
_RARELY = (4_000_000, 50, 100)
"""After how many new objects garbage is looked for, and after how many such rounds among the older ones. A plan of 400
changed views makes fewer, and looking through them took a tenth of its time; they are 200 MB."""


@dataclass(frozen=True, slots=True)
class Command:
    """A command or a group of them: its module has a function with the command's name, or `group`."""

    name: str
    summary: str
    folder: str = ""
    """The package inside `penstock.cli.commands` that has the module."""
    goes_on: bool = False
    """Whether it may run for days, so that its garbage has to be looked for."""

    @property
    def module(self) -> str:
        """The full name of its module."""
        return ".".join(filter(None, ("penstock.cli.commands", self.folder, self.name)))


COMMANDS: tuple[Command, ...] = (
    Command("init", "Create a project to start from.", "project"),
    Command("check", "Show all problems of a project; needs no server.", "project"),
    Command("fmt", "Write datafiles in their canonical layout; needs no server.", "project"),
    Command("migrate", "Convert files of the classic format; needs no server.", "project"),
    Command("graph", "Show which pipe reads and writes what; needs no server.", "project"),
    Command("mock", "Make rows for a data source; needs no server.", "project_tests"),
    Command("test", "Run the tests that a project has of its endpoints.", "project_tests"),
    Command("pull", "Get the files of a version as they were deployed.", "project"),
    Command("up", "Start the server of a project.", "server", goes_on=True),
    Command("down", "Stop the server of a project.", "server"),
    Command("status", "Show the running deployments, their progress, and what fails.", "server"),
    Command("backup", "Save everything of a project while its server runs, or is stopped.", "server"),
    Command("restore", "Make a project folder of a backup.", "server"),
    Command("plan", "Show the plan from one project folder to another; needs no server.", "project"),
    Command("dev", "Show the plan and the problems at each save; deploy to staging on a key.", "dev", goes_on=True),
    Command("deploy", "Plan a project against what is live, and carry the plan out."),
    Command("diff", "Compare the rows and answers of two versions at the same batches."),
    Command("deployment", "List, show, promote, roll back, pause, resume, discard and retire deployments."),
    Command("datasource", "List and show data sources, append rows to them."),
    Command("table", "Show the versions of a table side by side, and retire one."),
    Command("endpoint", "List endpoints and query them."),
    Command("pipe", "List pipes."),
    Command("copy", "List and run copies.", "copies"),
    Command("sink", "List and run sinks."),
    Command("job", "List, show and cancel jobs."),
    Command("topic", "Show how topics are read, and go on without what one has lost."),
    Command("sql", "Run a query."),
    Command("migrations", "Take schema changes of a Postgres to the stores, before its rows.", "postgres"),
    Command("cdc", "Capture what changes in a Postgres, and bring it into stores.", "postgres", goes_on=True),
    Command("token", "List, create, rotate and remove tokens.", "server"),
    Command("audit", "Show who deployed, promoted, rolled back or changed tokens.", "server"),
    Command("logs", "Show the log of the server.", "server"),
)


def app() -> NoReturn:
    """The entry of the command, also where a shell asks how a line may go on. Most commands make little garbage and end
    soon: looking for it in what is imported would take a quarter of their time."""
    arguments = sys.argv[1:]
    if not any(each.goes_on and each.name in arguments for each in COMMANDS):
        gc.set_threshold(*_RARELY)
    code = run(arguments)
    gc.freeze()  # what is left goes with the process
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run a command line; every error ends here."""
    show = report_json if wants_json(arguments) else report
    try:
        code = get_command(build(arguments)).main(list(arguments), prog_name="penstock", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else DONE
    except PenstockError as error:
        show(error)
        return exit_code(error)
    except USAGE_ERROR as error:
        show(_usage_error(error))
        return WRONG_USAGE
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has ended; without this, Python reports the same error again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as fault:  # a bug is reported in one line
        show(PenstockError(f"penstock made a mistake: {type(fault).__name__}: {fault}"))
        return FAILED


def build(arguments: Sequence[str]) -> typer.Typer:
    """The tree of commands; those that the command line does not name are there for --help only."""
    tree = typer.Typer(
        help="Change a running Spark data pipeline without stopping it.",
        rich_markup_mode=None,
        invoke_without_command=True,
        callback=_common_callback,
    )
    for command in COMMANDS:
        _add_command(tree, command, imported=command.name in (*arguments, *_words_to_complete()))
    return tree


def _words_to_complete() -> Sequence[str]:
    """The words of the line that a shell asks about: Typer's scripts give them in these variables."""
    return [word for name in ("COMP_WORDS", "_TYPER_COMPLETE_ARGS") for word in os.environ.get(name, "").split()]


def _add_command(tree: typer.Typer, command: Command, *, imported: bool) -> None:
    if not imported:
        tree.command(command.name, help=command.summary)(_placeholder_command)
        return
    module = importlib.import_module(command.module)
    if hasattr(module, "group"):
        tree.add_typer(module.group, name=command.name, help=command.summary)
    else:
        tree.command(command.name, help=command.summary)(getattr(module, command.name))


def _placeholder_command() -> None:
    raise AssertionError("a command that runs is named on the command line")


def _common_callback(
    context: typer.Context,
    output: OutputOption = None,
    url: UrlOption = None,
    token: TokenOption = None,
    project: ProjectOption = None,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    context.obj = common_options(output, url, token, project)
    if context.invoked_subcommand is None:
        typer.echo(f"penstock {__version__}" if version else context.get_help())


def _usage_error(error: Exception) -> WrongUsage:
    message = getattr(error, "format_message", lambda: str(error))()
    for said, meant in _SAID_BY_CLICK:
        message = said.sub(meant, message)
    context = getattr(error, "ctx", None)
    hint = f"`{context.command_path} --help` shows how it is used" if context is not None else None
    return WrongUsage(message.rstrip("."), hint=hint)
