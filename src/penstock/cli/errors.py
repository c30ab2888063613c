"""Errors of the command line, and how every error is printed.

In: an error. Out: text on standard error, or one JSON document on standard output, and an exit code. Invariant: a
user sees a message with its place and a hint, never a traceback.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.cli.plain_output import Style, print_error_line, print_json
from penstock.errors import Level, Location, NoServer, PenstockError, Problem, Unavailable

DONE, FAILED, WRONG_USAGE, NO_SERVER = 0, 1, 2, 3
INTERRUPTED = 130
"""What shells show for a command that Ctrl-C ended."""


class WrongUsage(PenstockError):
    """The command line itself is wrong."""

    status, code = 400, "wrong-usage"


class Interrupted(PenstockError):
    """The user ended a command by a signal; the message says what the server does meanwhile."""

    code = "interrupted"

    def __init__(self, message: str, hint: str):
        super().__init__(message, [Problem(self.code, message, hint=hint, level="warning")], hint=hint)


class ServerRefusal(PenstockError):
    """An error that the server answered with; its status, code and problems are kept."""

    def __init__(self, status: int, document: Mapping[str, Any]):
        problems = [parse_problem(each) for each in document.get("problems", ())]
        super().__init__(str(document.get("error", f"the server answered {status}")), problems)
        self.status = status
        self.code = str(document.get("code", "failed"))


def damaged_table(table: str, why: str) -> PenstockError:
    """A table that is damaged in a backup; a warning, since everything else is there."""
    message = f"the table {table} is damaged: {why}"
    hint = "the other tables are whole; docs/backup.md says how to put it back"
    return PenstockError(message, [Problem("damaged-table", message, hint=hint, level="warning")])


def exit_code(error: PenstockError) -> int:
    """The exit code of the interface: 2 wrong usage, 3 no server, 1 for the rest."""
    if isinstance(error, WrongUsage):
        return WRONG_USAGE
    if isinstance(error, Interrupted):
        return INTERRUPTED
    if isinstance(error, NoServer) or error.code == Unavailable.code:
        return NO_SERVER
    return FAILED


def report_json(error: PenstockError) -> None:
    """Show an error to a program."""
    print_json(error.as_json())


def report(error: PenstockError) -> None:
    """Show an error to people."""
    warned = bool(error.problems) and all(problem.level == "warning" for problem in error.problems)
    title: tuple[str, Style] = ("note:", "yellow bold") if warned else ("error:", "red bold")
    print_error_line(title, (f" {error.message}", ""))
    for problem in error.problems:
        label = "" if warned or problem.level == "error" else f"{problem.level}: "
        _report_problem(problem, error, label)
    if error.hint and not any(problem.hint == error.hint for problem in error.problems):
        print_error_line((f"  {error.hint}", "dim"))


def print_note(text: str) -> None:
    """Print what the user should know, and which is no error."""
    print_error_line(("note:", "yellow"), (f" {text}", ""))


def print_problems(problems: Sequence[Mapping[str, Any]]) -> None:
    """Print the warnings of a plan that is carried out."""
    for each in map(parse_problem, problems):
        print_error_line((f"{each.level}:", "yellow"), (f" {each}", ""))


def _report_problem(problem: Problem, error: PenstockError, label: str) -> None:
    message = "" if problem.message == error.message and problem.location is None else problem.message
    if message:
        place = f"{problem.location}: " if problem.location else ""
        print_error_line((f"  {place}", ""), (label, "yellow"), (message, "bold"))
    if problem.hint:
        print_error_line((f"    {problem.hint}", "dim"))


def parse_problem(document: Mapping[str, Any]) -> Problem:
    """A problem of a server's answer."""
    file = document.get("file")
    location = Location(file, document.get("line") or 1, document.get("column") or 1) if file else None
    level: Level = "warning" if document.get("level") == "warning" else "error"
    return Problem(str(document.get("code")), str(document.get("message")), location, document.get("hint"), level)


def wants_json(arguments: Sequence[str]) -> bool:
    """Whether the command line asks for JSON, even one that cannot be parsed."""
    following = [*arguments, ""][1:]
    given = zip(arguments, following, strict=True)
    return any(pair == ("--output", "json") or pair[0] == "--output=json" for pair in given)


def parse_error_document(text: str) -> Mapping[str, Any]:
    """The error document in a text; any other text becomes the message of one."""
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"error": text.strip() or "no reason was given"}
