"""Which changes lose data, and what a deployment needs to make them.

In: the data source before and after a change, and the options of the plan. Out: whether a loss is refused, and its
problem. Invariant: a data source that is protected, in live or in the next version, loses nothing by any deployment.
"""

from __future__ import annotations

from penstock.errors import Location, Problem
from penstock.model.datasource import DataSource

WITH_LEAVE = (
    "allow it with `--allow-destructive-operations`; it can be rolled back until the previous version is retired"
)
UNPROTECT = "the data source is protected: deploy it with `LIFE_CYCLE fully_managed` first, and then this change"


def is_loss_refused(*versions: DataSource, allowed: bool) -> bool:
    """Whether a change of a data source may lose nothing: without `--allow-destructive-operations`, and always where
    one of its versions is protected."""
    return not allowed or is_protected(*versions)


def loss_problem(message: str, location: Location, *versions: DataSource) -> Problem:
    """The problem of a change that loses data of a data source, of which these are the versions."""
    if is_protected(*versions):
        return Problem("deletion-protected", message, location, UNPROTECT)
    return Problem("destructive-change", message, location, WITH_LEAVE)


def leave_hint(with_leave: str, *versions: DataSource) -> str:
    """What is said of `--allow-destructive-operations`, or how to end a protection that stands before it."""
    return UNPROTECT if is_protected(*versions) else with_leave


def is_protected(*versions: DataSource) -> bool:
    """Whether one of the versions of a data source says that nothing may be deleted from it."""
    return any(each.is_protected for each in versions)
