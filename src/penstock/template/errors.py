"""Errors of a template, and of the parameters that it is called with.

Invariant: each one knows the offset in the template at which it happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias, Union

from penstock.errors import InvalidRequest, Location, PenstockError, Problem

Json: TypeAlias = Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None]

PARAMETER_ERRORS = ("missing-parameter", "invalid-parameter")
"""The codes of what the caller, not the author, has to put right."""


class Fault(Exception):
    """One problem at an offset of the template."""

    def __init__(self, code: str, message: str, offset: int, hint: str | None = None):
        super().__init__(message)
        self.code = code
        self.message = message
        self.offset = offset
        self.hint = hint

    def problem(self, location: Location) -> Problem:
        return Problem(self.code, self.message, location, self.hint)


class TemplateAbort(Exception):
    """The template called `error(…)` or `custom_error(…)`."""

    def __init__(self, message: str, status: int, body: Mapping[str, Json], offset: int):
        super().__init__(message)
        self.message = message
        self.status = status
        self.body = body
        self.offset = offset


class Declined(PenstockError):
    """The answer of a template that called `error` or `custom_error`, as its author wrote it."""

    code = "declined"

    def __init__(self, stop: TemplateAbort, location: Location):
        super().__init__(stop.message, [Problem("declined", stop.message, location)])
        self.status = stop.status
        self.body = stop.body

    def as_json(self) -> dict[str, object]:
        """The usual body of an error, overridden by what the template gives."""
        return {**super().as_json(), **self.body}


def invalid_parameters(problem: Problem) -> InvalidRequest:
    """The error for a call with wrong or missing parameters."""
    return InvalidRequest(problem.message, [problem])
