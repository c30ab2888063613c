"""Parameters on the command line: `--param NAME=VALUE`.

In: what was given. Out: values by name. Called by the commands that ask pipes. Invariant: a value may hold anything,
also `=`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from penstock.cli.problems import WrongUsage

Param = Annotated[list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Repeatable.")]


def pairs(given: Sequence[str] | None) -> dict[str, str]:
    """Raises WrongUsage."""
    wrong = next((pair for pair in given or () if "=" not in pair), None)
    if wrong is not None:
        raise WrongUsage(f"--param takes NAME=VALUE, not `{wrong}`")
    return {name: value for name, _, value in (pair.partition("=") for pair in given or ())}
