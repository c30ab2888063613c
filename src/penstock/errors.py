"""The errors that a user can see: one exception tree and one JSON shape.

In: what went wrong, where, and the names that would have been valid. Out: `Problem` values and exceptions that
carry them. Invariant: every exception that leaves Penstock is a `PenstockError`; the command line, the HTTP API and
the logs render it through `as_json`, which removes secrets.
"""

from __future__ import annotations

import difflib
import heapq
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.redaction import redact_start

Level = Literal["error", "warning"]
LONGEST_MESSAGE = 10_000
"""What is behind these characters of a message or hint is not shown: it quotes a text of a user."""


@dataclass(frozen=True, slots=True, order=True)
class Location:
    """A place in a project's file: path relative to the project folder, line and column from 1."""

    file: str
    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem as data: a stable code, a sentence, its place and a hint what to do."""

    code: str
    message: str
    location: Location | None = None
    hint: str | None = None
    level: Level = "error"

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{hint}"

    def as_json(self) -> dict[str, object]:
        """The JSON object of a problem. Source: interface contract, `problems`."""
        place = self.location
        return {
            "code": self.code,
            "level": self.level,
            "message": redact_start(self.message, LONGEST_MESSAGE),
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "hint": redact_start(self.hint, LONGEST_MESSAGE) if self.hint else self.hint,
        }


class PenstockError(Exception):
    """Base of all errors. `status` is the HTTP status, `code` the stable name of the condition.

    PenstockError
      InvalidProject   400  datafiles with problems (all of them, collected)
      InvalidRequest   400  a call whose parameters or body are wrong
      InvalidQuery     400  SQL that cannot run here
      Unauthorized     401  no token, or an unknown one
      Forbidden        403  a token without the scope
      NotFound         404  a name that does not exist
      Timeout          408  the work took longer than allowed
      Conflict         409  live moved, a wrong state, a second server
      TooLarge         413  a body or result over its limit
      Overloaded       429  try again later
      Failed           500  the work failed; the log has the cause
      Unavailable      503  starting, or shutting down
      Fenced           503  another server has taken over
      NoServer         503  the CLI found no server at the address
      StorageFull      507  no room to keep rows
    """

    status = 500
    code = "failed"

    def __init__(self, message: str, problems: Iterable[Problem] = (), *, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.problems: tuple[Problem, ...] = tuple(problems)

    def with_hint(self) -> str:
        """The message and what to do, as one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def as_json(self) -> dict[str, object]:
        """The JSON body of an error response. Source: interface contract, `errors`."""
        problems = self.problems or (Problem(self.code, self.message, hint=self.hint),)
        return {
            "error": redact_start(self.message, LONGEST_MESSAGE),
            "code": self.code,
            "documentation": f"docs/errors.md#{self.code}",
            "problems": [problem.as_json() for problem in problems],
        }


class InvalidProject(PenstockError):
    """Datafiles with problems; `problems` has all of them."""

    status, code = 400, "invalid-project"


class InvalidRequest(PenstockError):
    """A call whose parameters or body are wrong."""

    status, code = 400, "invalid-request"


class InvalidQuery(PenstockError):
    """SQL that cannot run here."""

    status, code = 400, "invalid-query"


class Unauthorized(PenstockError):
    """No token, or an unknown one."""

    status, code = 401, "unauthorized"


class Forbidden(PenstockError):
    """A token without the scope."""

    status, code = 403, "forbidden"


class NotFound(PenstockError):
    """A name that does not exist."""

    status, code = 404, "not-found"


class Timeout(PenstockError):
    """The work took longer than allowed."""

    status, code = 408, "timeout"


class Conflict(PenstockError):
    """The state of the server forbids it."""

    status, code = 409, "conflict"


class TooLarge(PenstockError):
    """A body or a result over its limit."""

    status, code = 413, "too-large"


class Overloaded(PenstockError):
    """Too much at once; try again later."""

    status, code = 429, "overloaded"


class Failed(PenstockError):
    """The work was tried and failed."""

    status, code = 500, "failed"


class Unavailable(PenstockError):
    """The server is starting or stopping, or a store does not answer."""

    status, code = 503, "unavailable"
    retry_after = 1
    """Seconds after which a call may be tried again."""


class Fenced(PenstockError):
    """Another server has taken over; this one may not write any more."""

    status, code = 503, "fenced"


class StorageFull(PenstockError):
    """There is no room to keep what was sent; none of it is kept."""

    status, code = 507, "storage-full"


class NoServer(PenstockError):
    """The CLI found no server at the address."""

    status, code = 503, "no-server"


def nearest_name(name: str, known: Iterable[str]) -> str | None:
    """The known name most similar to `name`, ignoring case; None if none is similar enough."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    found = difflib.get_close_matches(
        name.casefold(), _plausible_names(name.casefold(), by_folded), n=1, cutoff=_MIN_SIMILARITY
    )
    return by_folded[found[0]] if found else None


_MIN_SIMILARITY = 0.6
_MAX_COMPARED = 200
"""At most this many names are compared letter by letter, which takes about 10 ms."""


def _plausible_names(name: str, known: Collection[str]) -> Collection[str]:
    """Candidates for a near name: all if there are few, else those that share most letter pairs with `name`."""
    if len(known) <= _MAX_COMPARED:
        return known
    pairs = {name[at : at + 2] for at in range(len(name))}
    length = len(name)
    fitting = [each for each in known if 2 * min(length, len(each)) >= _MIN_SIMILARITY * (length + len(each))]
    return heapq.nlargest(_MAX_COMPARED, fitting, key=lambda each: sum(pair in each for pair in pairs))


def did_you_mean(name: str, known: Sequence[str] | Iterable[str]) -> str | None:
    """A hint with the nearest known name, else a list of at most ten known names; None if there are none. The name
    itself is no hint, even if it is known in another place."""
    names = sorted({*known} - {name})
    close = nearest_name(name, names)
    if close is not None:
        return f"did you mean `{close}`?"
    if not names:
        return None
    shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    return f"available: {shown}"


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_MOST_SIMILAR = 3


def near_names_hint(name: str, known: Iterable[str]) -> str | None:
    """A hint for a name among hundreds: the one of the same words in another order, the nearest one, or those of mostly
    the same words; None if none is near. The name itself is no hint."""
    names = sorted({*known} - {name})
    words = _words(name)
    shares = {each: _share_of_words(words, _words(each)) for each in names}
    similar = sorted((each for each in names if shares[each] > 0.5), key=lambda each: -shares[each])
    same = next((each for each in similar if shares[each] == 1 and each.casefold() != name.casefold()), None)
    close = nearest_name(name, names) if same is None or len(words) == 1 else same
    if close is not None:
        return f"did you mean `{close}`?"
    return f"similar ones: {', '.join(similar[:_MOST_SIMILAR])}" if similar else None


def _words(name: str) -> frozenset[str]:
    return frozenset(each.lower() for each in _WORD.findall(name))


def _share_of_words(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other) or 1)
