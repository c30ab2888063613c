"""The place of a problem in a SQL text, and the collection of all problems of a text.

In: a `Text` and sqlglot nodes made from it. Out: `Problem`s with their location. Invariant: a node's place is that of
its first token; a node without tokens of the text is reported at the start of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from sqlglot import exp
from sqlglot.tokens import Token, TokenType

from penstock.errors import InvalidQuery, Location, Problem
from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.sql.stored_types import UnknownState

MOST_PROBLEMS = 100
"""The compilation ends at the problem with this number: to look for near names for thousands would take minutes."""


class Refused(Exception):
    """Carries one problem from where it is found to the `Report` that collects it."""

    def __init__(self, problem: Problem):
        super().__init__(problem.message)
        self.problem = problem


def offset_of(node: exp.Expr) -> int | None:
    """The offset in the text of the first token of a node that has a place."""
    starts = [start for each in node.walk() if (start := each.meta.get("start")) is not None]
    return min(starts, default=None)


def place_of(text: Text, offset: int | None) -> Location:
    """The place in the file of an offset in the text."""
    before = text.text[: offset or 0]
    line = before.count("\n") + 1
    return text.at(line, len(before) - (before.rfind("\n") + 1) + 1)


def odd_statement(text: Text, tokens: Sequence[Token]) -> Location:
    """Where a text begins to be something else than one SELECT: with its second statement, or if it has none with the
    first. Keywords have no place in a tree."""
    begins = (after.start for at, after in pairwise(tokens) if _ends(at) and not _ends(after))
    return place_of(text, next(begins, tokens[0].start if tokens else None))


def _ends(token: Token) -> bool:
    return token.token_type == TokenType.SEMICOLON


def refusal(text: Text, node: exp.Expr | None, code: str, message: str, hint: str | None = None) -> Refused:
    """The exception to raise for a node."""
    offset = offset_of(node) if node is not None else None
    return Refused(Problem(code, message, place_of(text, offset), hint))


@dataclass(frozen=True, slots=True)
class ProblemCollector:
    """A `with` block that a `Refused` or `UnknownState` ends; its problem is added to `problems`, and the exception is
    not raised further."""

    problems: list[Problem]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, stop: BaseException | None, trace: object) -> bool:
        if isinstance(stop, UnknownState):
            problem = Problem("unsupported-state", str(stop), hint=stop.hint)
        elif isinstance(stop, Refused):
            problem = stop.problem
        else:
            return False
        if problem not in self.problems:
            self.problems.append(problem)
        if len(self.problems) >= MOST_PROBLEMS:
            raise InvalidQuery(f"the SQL has {MOST_PROBLEMS} problems or more", sorted(self.problems, key=_sort_key))
        return True


@dataclass(frozen=True, slots=True)
class Report:
    """Collects problems, so that all are reported at once."""

    problems: list[Problem] = field(default_factory=list)
    lost: dict[str, int] = field(default_factory=dict)
    """Columns that a SELECT lacks because of a problem, and how many problems there were then."""

    def note_lost(self, name: str) -> None:
        """Remembers that a column could not be compiled: whoever reads it is told so in vain. A column that reads an
        unknown one of the same name is as unknown to its readers, who name it in their own places."""
        cause = _UNKNOWN.match(self.problems[-1].message) if self.problems else None
        if cause is None or cause[1] != name:
            self.lost.setdefault(name, len(self.problems))

    def collecting(self) -> ProblemCollector:
        """A `with` block: the first problem in it is collected and ends the block, not the compilation."""
        return ProblemCollector(self.problems)

    def finish(self, message: str) -> None:
        """Raises InvalidQuery with all problems, sorted by place, if there are any."""
        if self.problems:
            raise InvalidQuery(message, sorted(self._causes(), key=_sort_key))

    def _causes(self) -> Iterator[Problem]:
        """The problems, without those that only say that a lost column is missing."""
        for place, problem in enumerate(self.problems):
            named = _UNKNOWN.match(problem.message) if problem.code == "unknown-column" else None
            if named is None or place < self.lost.get(named[1], place + 1):
                yield problem


_UNKNOWN = re.compile(r"unknown column `([^`]+)`")


def _sort_key(problem: Problem) -> tuple[bool, Location]:
    return problem.location is None, problem.location or Location("")
