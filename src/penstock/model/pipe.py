"""A pipe as its .pipe file defines it: a list of SQL nodes.

In: what `parse` reads from the file. Out: `Pipe` and `Node`. Invariant: the kind of a node is a closed union, and
at most one node of a pipe is not `Standard`.
"""

from __future__ import annotations

from dataclasses import field
from typing import Literal, TypeAlias, Union

from penstock.errors import Location
from penstock.model.datasource import Column, Text, Token
from penstock.model.quick_dataclass import dataclass

Dialect: TypeAlias = Literal["clickhouse", "spark"]
OnError: TypeAlias = Literal["stop", "quarantine"]
"""What a materialized view does about a row for which its query fails: it stops, and waits for a correction; or the row
goes to the quarantine of its target, and the view goes on."""


CopyMode: TypeAlias = Literal["append", "replace"]
"""What a run of a copy does with the rows of the runs before it: keeps them, or puts its own rows in their place."""


@dataclass(frozen=True, slots=True)
class Standard:
    """A node that only other nodes read."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A node that is an HTTP endpoint under the pipe's name."""


@dataclass(frozen=True, slots=True)
class Materialized:
    """A materialized view: its rows are appended to a data source whenever its left-most table gets rows."""

    datasource: str
    location: Location = field(compare=False)
    on_error: OnError = "stop"


@dataclass(frozen=True, slots=True)
class Copied:
    """A copy node: its rows go to a data source each time it runs."""

    datasource: str
    location: Location = field(compare=False)
    schedule: str | None = None
    """When it runs: cron, in UTC; None: only on demand."""
    mode: CopyMode = "append"


FileFormat: TypeAlias = Literal["csv", "ndjson", "parquet"]
FileCompression: TypeAlias = Literal["none", "gzip", "zstd", "snappy"]
FileStrategy: TypeAlias = Literal["new", "truncate"]
"""What a run does where a file of its name is already: it writes another one, or puts its own in the place."""


@dataclass(frozen=True, slots=True)
class TopicTarget:
    """The topic that a sink writes its rows to."""

    topic: str


@dataclass(frozen=True, slots=True)
class FileTarget:
    """The files that a sink writes its rows to."""

    place: str
    """The address of their folder or of the beginning of their keys."""
    template: str
    """Their names, with columns in braces."""
    format: FileFormat
    compression: FileCompression
    strategy: FileStrategy = "new"


def topic_place(topic: str) -> str:
    """A topic, as people see it among places."""
    return f"topic {topic}"


@dataclass(frozen=True, slots=True)
class Exported:
    """A sink: its rows are written outside each time it runs, to a topic or to files."""

    connection: str
    """The name of a .connection file."""
    location: Location = field(compare=False)
    options: tuple[tuple[str, str], ...] = ()
    """The other EXPORT directives, by keyword in upper case."""
    schedule: str | None = None
    """When it runs: cron, in UTC; None: only on demand."""
    target: TopicTarget | FileTarget | None = None
    """None: it is of a kind that does not run here."""
    reached_by: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What the .connection file says: a change of it is one of the sink."""

    @property
    def place(self) -> str:
        """Where it writes, as people see it; empty if it does not run here."""
        match self.target:
            case TopicTarget(topic):
                return topic_place(topic)
            case FileTarget(place=place, template=template):
                return f"{place.rstrip('/')}/{template}"
            case None:
                return ""


NodeKind: TypeAlias = Union[Standard, Endpoint, Materialized, Copied, Exported]


@dataclass(frozen=True, slots=True)
class Handler:
    """A function in Python that makes the rows of an endpoint. The one row of the node's SQL is its parameters."""

    source: Text
    """Python that gives `HANDLER`, the function, and `PARAMETERS`, the Pydantic model of its parameters if any."""
    returns: tuple[Column, ...]
    """The columns of its rows."""


@dataclass(frozen=True, slots=True)
class Node:
    """One NODE: its name, SQL and kind."""

    name: str
    sql: Text
    kind: NodeKind = Standard()
    description: str = ""
    location: Location = field(default=Location(""), compare=False)
    handler: Handler | None = None
    """What answers in place of the SQL."""


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
    def exported(self) -> Node | None:
        return next((node for node in self.nodes if isinstance(node.kind, Exported)), None)

    @property
    def copies(self) -> Copied | None:
        """The kind of the copy node, if there is one."""
        return next((node.kind for node in self.nodes if isinstance(node.kind, Copied)), None)
