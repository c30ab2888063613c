"""What a start tells the command that called it, `penstock up`.

In: an error. Out: one JSON document a line on standard error, in the usual shape of an error. Invariant: a reason to
wait has the level `warning`; what ends the start has the level `error`.
"""

from __future__ import annotations

import sys

import orjson

from penstock.errors import PenstockError, Problem


def report_waiting(error: PenstockError) -> None:
    """Write why the start waits."""
    hint = error.hint or "`--no-wait` does not wait"
    problem = Problem(error.code, error.message, hint=hint, level="warning")
    error.problems = (problem,)
    report_to_caller(error)


def report_to_caller(error: PenstockError) -> None:
    """Write an error as one line on standard error, which `penstock up` reads."""
    sys.stderr.write(orjson.dumps(error.as_json()).decode() + "\n")
    sys.stderr.flush()
