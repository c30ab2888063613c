"""The one error of the client.

In: the server's error document, or what happened on the way to it. Out: `ClientError`. Invariant: no text of it has
the token.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from penstock.api.objects.row_insertion import InsertResult
from penstock.errors import Level, Location, PenstockError, Problem
from penstock.redaction import redact

LONGEST_DOCUMENT = 100_000
OTHER_SERVER_HINT = "is it a Penstock server of this version?"


class ClientError(PenstockError):
    """Whatever went wrong: `status` (of HTTP), `code`, `message`, `problems` and `hint` as the server gave them.

    `result` is what was inserted before, if rows were inserted.
    """

    status = 400
    result: InsertResult | None = None

    def __init__(
        self, message: str, problems: Iterable[Problem] = (), *, hint: str | None = None, code: str = "failed"
    ):
        super().__init__(redact(message), tuple(map(_without_secrets, problems)), hint=hint and redact(hint))
        self.code = redact(code)
        self.retry_after: float | None = None
        """The seconds after which the server asks to be called again."""
        self.may_pass = False
        """Whether the same call may succeed later."""
        self.maybe_stored = False
        """Whether the server may have done what an attempt of this call asked for, the last or one before it."""

    def __str__(self) -> str:
        more = [str(each) for each in self.problems if each.message != self.message or each.location]
        hint = self.hint or next((each.hint for each in self.problems if each.message == self.message), None)
        is_new = hint is not None and not any(hint in each for each in more)
        return "\n".join([f"{self.message} [{self.code}]", *more, *([hint] if hint and is_new else [])])

    @classmethod
    def of(cls, error: PenstockError) -> ClientError:
        """Another error of this package."""
        made = cls(error.message, error.problems, hint=error.hint, code=error.code)
        made.status = error.status
        return made


def server_error(status: int, body: bytes, retry_after: str | None = None) -> ClientError:
    """The error of an answer that is none of success."""
    document = _parse_document(body[:LONGEST_DOCUMENT].decode("utf-8", "replace"))
    given = document.get("problems")
    problems = [_parse_problem(each) for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    message = str(document.get("error") or f"the server answered {status}")
    hint = next((each.hint for each in problems if each.hint), None)
    made = ClientError(message, problems, hint=hint, code=str(document.get("code") or "failed"))
    made.status = status
    made.retry_after = float(retry_after) if retry_after and retry_after.isdecimal() else None
    return made


def connection_error(message: str, *, hint: str, code: str = "no-server") -> ClientError:
    """No answer, or a part of one: the same call may succeed later."""
    made = ClientError(message, hint=hint, code=code)
    made.status, made.may_pass = 503, True
    return made


def _parse_document(text: str) -> Mapping[str, object]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else {"error": text.strip()[:1_000]}


def _parse_problem(document: Mapping[str, object]) -> Problem:
    file, line, column = document.get("file"), document.get("line"), document.get("column")
    place = Location(str(file), _number(line), _number(column)) if file else None
    hint = document.get("hint")
    level: Level = "warning" if document.get("level") == "warning" else "error"
    return Problem(str(document.get("code")), str(document.get("message")), place, str(hint) if hint else None, level)


def _number(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 1


def _without_secrets(problem: Problem) -> Problem:
    hint, place = problem.hint and redact(problem.hint), problem.location
    shown = place and Location(redact(place.file), place.line, place.column)
    return Problem(redact(problem.code), redact(problem.message), shown, hint, problem.level)
