"""Who asks for a compilation: what they may name, and how long they wait.

In: functions of whoever calls the compiler. Out: the errors that they raise, which end the compilation at once.
Invariant: a name is checked before it is looked up, so nothing that is told about a text depends on what its caller may
not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from penstock.model.external_tables import ReadColumns
from penstock.model.quick_dataclass import dataclass

if TYPE_CHECKING:
    from penstock.sql.compiler.shared_nodes import SharedNodes


def _allow(name: str) -> None:
    """Every name may be read."""


def _wait() -> None:
    """There is no hurry."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks for a compilation."""

    check_name: Callable[[str], None] = _allow
    """Raises an error if the caller may not read this data source or pipe, whether it exists or not. It is called for
    the names in the caller's own text, not for those that a pipe reads in turn."""
    check_time: Callable[[], None] = _wait
    """Raises an error if the caller's time is up. It is called again and again."""
    external: ReadColumns | None = None
    """Tells a copy the columns of tables of other databases; None: they are guessed."""
    nodes: SharedNodes | None = None
    """What the caller compiled of the same project before; None where nothing is compiled twice."""


ANYBODY = Caller()
