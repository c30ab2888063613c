"""The options of commands that compare two versions.

In: a file of calls, and names that may differ. Out: what the server is asked with. Invariant: nothing is sent of a file
that cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.errors import WrongUsage
from penstock.cli.json_documents import query_parameters

ParamsOption = Annotated[
    Path | None,
    typer.Option("--params", metavar="FILE", help="Calls of endpoints to compare, one JSON object a line."),
]
ExpectOption = Annotated[
    list[str] | None,
    typer.Option("--expect", metavar="NAME", help="A table, endpoint or NAME.COLUMN that may differ. Repeatable."),
]
RequireParityOption = Annotated[
    bool, typer.Option("--require-parity", help="Only if nothing differs from live that --expect does not name.")
]


@dataclass(frozen=True, slots=True)
class ParityGate:
    """What is sent with a promotion that requires parity."""

    parameters: Mapping[str, str]
    calls: bytes


def parity_gate(params: Path | None, expect: Sequence[str] | None, *, required: bool) -> ParityGate | None:
    """What is sent, None if parity is not required. Raises WrongUsage for options that only a comparison has."""
    if required:
        parameters = query_parameters(require_parity=True, expect=expected_names(expect))
        return ParityGate(parameters, read_calls(params))
    if params is not None or expect:
        raise WrongUsage("--params and --expect are for --require-parity", hint="add --require-parity")
    return None


def expected_names(given: Sequence[str] | None) -> str | None:
    """The declared names as the server takes them. Raises WrongUsage."""
    wrong = next((name for name in given or () if "," in name or not name.strip()), None)
    if wrong is not None:
        raise WrongUsage(f"--expect takes one name, not `{wrong}`", hint="repeat --expect for several")
    return ",".join(given) if given else None


def read_calls(path: Path | None) -> bytes:
    """The calls of a file; none without one. Raises WrongUsage if it cannot be read."""
    try:
        return path.read_bytes() if path is not None else b""
    except OSError as error:
        raise WrongUsage(f"{path} cannot be read: {error.strerror}") from error
