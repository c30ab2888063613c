"""Runs a command that changes the schema of a development database, and tells what it changed.

In: a DSN and the command. Out: the observation and the command's exit code. Invariant: what a failing command had
already committed is observed too, so that the next observation begins where this one ends.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from penstock.errors import InvalidRequest
from penstock.postgres.catalog.catalog_reader import read_catalog
from penstock.postgres.catalog.source_connection import open_source
from penstock.postgres.migration.observed_migrations import (
    Observation,
    ObservationRules,
    ObservedForms,
    observed_migrations,
)
from penstock.postgres.migration.step_recorder import record_steps


@dataclass(frozen=True, slots=True)
class ObservedCommand:
    """A command that was run, and what it did."""

    observation: Observation
    exit_code: int
    has_steps: bool
    """Whether the steps within the command are known; without them only its first and last state are."""


def observe_command(
    dsn: str, schemas: Sequence[str], command: Sequence[str], rules: ObservationRules
) -> ObservedCommand:
    """Run a command, whose output goes to standard error. Raises InvalidRequest for one that does not exist."""
    with closing(open_source(dsn)) as connection:
        before = read_catalog(connection, schemas)
        with record_steps(connection) as recorder:
            code = _run(command)
            forms = ObservedForms(before, recorder.forms(), read_catalog(connection, schemas))
    return ObservedCommand(observed_migrations(forms, rules), code, recorder.works)


def _run(command: Sequence[str]) -> int:
    try:
        return subprocess.run(command, stdout=sys.stderr, check=False).returncode
    except OSError as error:
        reason = error.strerror or str(error)
        raise InvalidRequest(f"`{shlex.join(command)}` cannot be run: {reason}") from error
