"""A table of Postgres as its catalog describes it.

In: nothing; `catalog_reader` and the messages of the event trigger fill these values in. Out: frozen values.
Invariant: columns stand in the order of their attnum, without dropped and without generated ones, which replication
does not send; a column keeps its attnum whatever it is named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

ReplicaIdentity = Literal["default", "full", "nothing", "index"]


@dataclass(frozen=True, slots=True, order=True)
class QualifiedName:
    """The name of a table with its schema."""

    schema: str
    name: str

    def __str__(self) -> str:
        return f"{self.schema}.{self.name}"


@dataclass(frozen=True, slots=True)
class EnumLabel:
    """A label of an enum; its OID stays the same when it is renamed."""

    oid: int
    label: str


@dataclass(frozen=True, slots=True)
class ReplicatedType:
    """The type of a column, by the names that `format_type` gives with an empty search path."""

    name: str
    """Such as `integer`, `numeric`, `text[]` or `public.severity`."""
    typmod: int = -1
    """Length, or precision and scale, as Postgres packs them; -1: none."""
    oid: int = 0
    base: ReplicatedType | None = None
    """Of a domain: the type that it is based on."""
    labels: tuple[EnumLabel, ...] | None = None
    """Of an enum: its labels, in order."""

    @property
    def stored(self) -> ReplicatedType:
        """The type of the values: that of a domain is the one that it is based on."""
        return self.base.stored if self.base else self


@dataclass(frozen=True, slots=True)
class ReplicatedColumn:
    """A column of a table."""

    attnum: int
    name: str
    type: ReplicatedType
    not_null: bool = False
    default: str | None = None
    """The expression of its default, as Postgres writes it."""
    old_value: str | None = None
    """The text of the value that ADD COLUMN … DEFAULT gave the rows of before (`attmissingval`)."""
    mark: str | None = field(default=None, compare=False)
    """The transaction that last changed its description: the same mark means that nothing about it changed."""


@dataclass(frozen=True, slots=True)
class ReplicatedTable:
    """A table, or the root of a partitioned one."""

    oid: int
    name: QualifiedName
    columns: tuple[ReplicatedColumn, ...]
    key: tuple[str, ...] = ()
    """The columns of the primary key."""
    replica_identity: ReplicaIdentity = "default"
    identity: tuple[str, ...] = ()
    """The columns that an old row is sent with, when it is updated or deleted; empty: the application's UPDATE fails
    once the table is published."""
    relfilenode: int = 0
    """Another number means that Postgres wrote all rows anew."""
    is_partitioned: bool = False
    last_attnum: int = field(default=0, compare=False)
    """The greatest attnum that was ever given to a column of it; 0: not known."""
    generated: frozenset[int] = field(default=frozenset(), compare=False)
    """The attnums of its generated columns."""
    marks: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What changes with its name (`name`), with its key or replica identity (`key`), and with the labels of a column
    (`labels ATTNUM`): the same mark means that nothing of it changed. Empty: not known."""

    def column(self, name: str) -> ReplicatedColumn | None:
        return next((each for each in self.columns if each.name == name), None)

    def by_attnum(self) -> dict[int, ReplicatedColumn]:
        return {each.attnum: each for each in self.columns}


@dataclass(frozen=True, slots=True)
class Catalog:
    """Tables at one moment, sorted by name."""

    tables: tuple[ReplicatedTable, ...] = ()

    def table(self, name: QualifiedName) -> ReplicatedTable | None:
        return next((each for each in self.tables if each.name == name), None)

    def by_oid(self) -> dict[int, ReplicatedTable]:
        return {each.oid: each for each in self.tables}
