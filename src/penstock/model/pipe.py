"""A pipe as written: a list of SQL nodes, at most one of which is more than a step on the way.

In: the values `parse` reads from a .pipe file. Out: `Pipe`, `Node`. Called by every later
package. Invariant: `kind` is a closed union; a pipe has at most one node that is not `Standard`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, Union

from penstock.errors import Location
from penstock.model.datasource import Text, Token

Dialect: TypeAlias = Literal["clickhouse", "spark"]


@dataclass(frozen=True, slots=True)
class Standard:
    """A node that only other nodes read."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A node that answers over HTTP under the pipe's name."""


@dataclass(frozen=True, slots=True)
class Materialized:
    """A node whose rows are appended to a data source whenever its left-most table gets rows."""

    datasource: str
    location: Location = field(compare=False)


@dataclass(frozen=True, slots=True)
class Copied:
    """A node whose rows are appended to a data source each time it is run: when somebody says so, and at the
    times of `schedule` (cron, in UTC; None: only on demand)."""

    datasource: str
    location: Location = field(compare=False)
    schedule: str | None = None


NodeKind: TypeAlias = Union[Standard, Endpoint, Materialized, Copied]


@dataclass(frozen=True, slots=True)
class Node:
    """One NODE: a name, its SQL and what it is for."""

    name: str
    sql: Text
    kind: NodeKind = Standard()
    description: str = ""
    location: Location = field(default=Location(""), compare=False)


@dataclass(frozen=True, slots=True)
class Pipe:
    """One .pipe file."""

    name: str
    nodes: tuple[Node, ...]
    dialect: Dialect = "clickhouse"
    description: str = ""
    tags: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = ()
    location: Location = field(default=Location(""), compare=False)

    @property
    def result(self) -> Node:
        """What another pipe reads under this pipe's name: its endpoint node, else its last node."""
        return next((node for node in self.nodes if isinstance(node.kind, Endpoint)), self.nodes[-1])

    @property
    def endpoint(self) -> Node | None:
        return next((node for node in self.nodes if isinstance(node.kind, Endpoint)), None)

    @property
    def materialized(self) -> Node | None:
        return next((node for node in self.nodes if isinstance(node.kind, Materialized)), None)

    @property
    def copied(self) -> Node | None:
        return next((node for node in self.nodes if isinstance(node.kind, Copied)), None)

    @property
    def copies(self) -> Copied | None:
        """What the copy node is for."""
        return next((node.kind for node in self.nodes if isinstance(node.kind, Copied)), None)
