"""A data source as its .datasource file defines it: columns, engine and options.

In: what `parse` reads from the file. Out: `DataSource`. Invariant: a value holds what the user wrote, with its
place in the file; no name is resolved here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from functools import cached_property
from typing import Literal, TypeAlias

from penstock.errors import Location
from penstock.model.engine import Engine
from penstock.model.json_path import path_of_key
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type

SERVICE_PREFIX = "penstock__"
"""SQL reads the server's own records as the data source `penstock__NAME`, which it writes `penstock.NAME`; so no file
may have such a name: its TOKEN lines would grant reading the records."""


@dataclass(frozen=True, slots=True)
class Text:
    """SQL text with its place in a file."""

    text: str
    location: Location = field(compare=False)
    """The place of its first character."""
    indent: int = field(default=0, compare=False)
    """Characters that were removed from the start of every following line."""

    def at(self, line: int, column: int) -> Location:
        """The place in the file of a line and column of the text, both counted from 1."""
        start = self.location
        if line <= 1:
            return Location(start.file, start.line, start.column + column - 1)
        return Location(start.file, start.line + line - 1, self.indent + column)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a SCHEMA block."""

    name: str
    type: Type
    json_path: str | None = None
    """None where the file gives no path."""
    default: Text | None = None
    codec: str | None = None
    renamed_from: str | None = None
    location: Location = field(default=Location(""), compare=False)


@dataclass(frozen=True, slots=True)
class Token:
    """A TOKEN line: the token with this name may READ or APPEND."""

    name: str
    scope: str


OffsetReset: TypeAlias = Literal["latest", "earliest"]
"""Where a topic is read from that was never read: only what comes from now on, or all that the topic has."""
MessageFormat: TypeAlias = Literal["json_without_schema", "json_with_schema", "avro"]
"""How a value or a key is written: as it stands, or behind the five bytes by which a schema registry is asked."""
MESSAGE_COLUMNS = ("__value", "__topic", "__partition", "__offset", "__timestamp", "__key", "__headers")
"""The columns of a message: what it carries besides the fields of its value."""


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """The topic that a data source reads."""

    connection: str
    """The name of a .connection file."""
    topic: str
    group: str
    """The consumer group under which offsets are committed, for others to see; rows do not depend on it."""
    reset: OffsetReset = "latest"
    value_format: MessageFormat = "json_without_schema"
    key_format: MessageFormat = "json_without_schema"
    reached_by: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What the .connection file says: a change of it is one of the data source."""
    location: Location = field(default=Location(""), compare=False)


FileRowFormat: TypeAlias = Literal["csv", "ndjson", "parquet"]
FILE_FORMATS: Mapping[str, FileRowFormat] = {
    "csv": "csv",
    "ndjson": "ndjson",
    "jsonl": "ndjson",
    "json": "ndjson",
    "parquet": "parquet",
}
"""The formats by the words that name them: in a directive, and at the end of a file's name."""
AUTO, ONCE, ON_DEMAND = "@auto", "@once", "@on-demand"


@dataclass(frozen=True, slots=True)
class FileSource:
    """The files that a data source takes, each once: those of a bucket, or of a folder of the server."""

    connection: str
    """The name of a .connection file."""
    place: str
    """Their address, whose path may be a pattern: `s3://bucket/visits/*.csv.gz`, `file:///folder/*.ndjson`."""
    schedule: str = ON_DEMAND
    """When files are looked for: `@auto` (all the time), `@once` (until there are some), `@on-demand`, or as cron says,
    in UTC."""
    format: FileRowFormat | None = None
    """None: the end of its name says how a file is written."""
    since: datetime | None = None
    """Files that were last changed before are passed over; with a zone."""
    reached_by: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """What the .connection file says: a change of it is one of the data source."""
    location: Location = field(default=Location(""), compare=False)


@dataclass(frozen=True)
class DataSource:
    """One .datasource file. It has no slots because the index of its columns is cached."""

    name: str
    columns: tuple[Column, ...]
    engine: Engine
    description: str = ""
    tags: tuple[str, ...] = ()
    tokens: tuple[Token, ...] = ()
    shared_with: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    forward_query: Text | None = None
    keeps_history: bool = True
    """False for `BACKFILL skip`: a new target of a materialized view then starts empty."""
    renamed_from: str | None = None
    is_protected: bool = False
    """Whether no deployment may take rows or values from it: `LIFE_CYCLE deletion_protected`."""
    kafka: KafkaSource | None = None
    """The topic that its rows come from, besides those that are posted."""
    files: FileSource | None = None
    """The files that its rows come from, besides those that are posted."""
    location: Location = field(default=Location(""), compare=False)

    def column(self, name: str) -> Column | None:
        """The column of that name, or None."""
        return self._by_name.get(name)

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def path_of(self, column: Column) -> str | None:
        """The JSON path that fills the column from an ingested row: its own, or its name if no column of the schema has
        a path (reference: datafiles, Columns); None if nothing in the row does."""
        return column.json_path if self._has_paths else path_of_key(column.name)

    @cached_property
    def _by_name(self) -> Mapping[str, Column]:
        # The first of two columns with the same name wins.
        return {column.name: column for column in reversed(self.columns)}

    @cached_property
    def _has_paths(self) -> bool:
        return any(column.json_path is not None for column in self.columns)


def versioned_name(table: str, version: str) -> str:
    """The name of the data source that a version of a table is: `events_0_1` for the version `0.1` of `events`. Without
    a version it is the table's own (decision 0048)."""
    return f"{table}_{version.replace('.', '_')}" if version else table
