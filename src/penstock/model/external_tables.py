"""Tables of other databases that a copy reads: where one is, and what columns it has.

In: the arguments of `postgresql(…)`, and what the database says. Out: `ExternalTable`, `ExternalColumns`. Invariant:
neither `repr` nor `shown` has the login of the database in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.model.types import Type


@dataclass(frozen=True, slots=True)
class ExternalTable:
    """A table of a Postgres database."""

    host: str
    port: int
    database: str
    schema: str
    """Empty: the first schema of the login's search path that has the table."""
    name: str
    user: str = field(repr=False)
    password: str = field(repr=False)

    @property
    def shown(self) -> str:
        """The table as messages name it."""
        table = f"{self.schema}.{self.name}" if self.schema else self.name
        return f"`{table}` of the database `{self.database}` at {self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class ExternalColumns:
    """The columns of a table, in its order."""

    types: Mapping[str, Type]
    """Those that can be read."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """Why the others cannot."""


class UnreadableTable(Exception):
    """The columns of a table cannot be told; what reads them says why, and the compiler where."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.hint = hint


ReadColumns: TypeAlias = Callable[[ExternalTable, frozenset[str]], ExternalColumns]
"""The columns of a table, of which a SELECT uses these names. Raises UnreadableTable."""
