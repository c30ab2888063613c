"""What differs between two versions of a project: a closed union of frozen changes.

In: nothing. Out: `Change` and its kinds. Called by `diff` (which finds them) and `explain` (which
shows them). Invariant: a change says what the user wrote differently; what follows from it for
tables and flows is decided elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from penstock.model.types import Type

Kind: TypeAlias = Literal["datasource", "materialized", "endpoint", "copy", "pipe"]


@dataclass(frozen=True, slots=True)
class ResourceAdded:
    """A resource that live does not have."""

    resource: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ResourceRemoved:
    """A resource of live that the project no longer has."""

    resource: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class ResourceRenamed:
    """A data source with RENAMED_FROM."""

    resource: str
    kind: Kind
    old: str


@dataclass(frozen=True, slots=True)
class ColumnAdded:
    """A column that live does not have."""

    resource: str
    column: str
    type: Type


@dataclass(frozen=True, slots=True)
class ColumnDropped:
    """A column of live that the project no longer has."""

    resource: str
    column: str


@dataclass(frozen=True, slots=True)
class ColumnRenamed:
    """By RENAMED_FROM, or by a forward query that is a bare column."""

    resource: str
    column: str
    old: str


@dataclass(frozen=True, slots=True)
class ColumnTypeChanged:
    """Another type for the same column."""

    resource: str
    column: str
    before: Type
    after: Type


@dataclass(frozen=True, slots=True)
class ColumnDefaultChanged:
    """Another DEFAULT expression; None is no DEFAULT."""

    resource: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ColumnPathChanged:
    """Filled from another place of the ingested row; None is from nowhere."""

    resource: str
    column: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class ColumnsReordered:
    """The same columns in another order."""

    resource: str


@dataclass(frozen=True, slots=True)
class SortingKeyChanged:
    """ENGINE_SORTING_KEY."""

    resource: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionKeyChanged:
    """ENGINE_PARTITION_KEY."""

    resource: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TtlChanged:
    """ENGINE_TTL; None is none."""

    resource: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class EngineChanged:
    """ENGINE, or an option that belongs to it (ENGINE_VER, ENGINE_SIGN …)."""

    resource: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """ENGINE_SETTINGS, ENGINE_PRIMARY_KEY or ENGINE_SAMPLING_KEY."""

    resource: str


@dataclass(frozen=True, slots=True)
class ViewChanged:
    """The query of a materialized view, or the data source it writes."""

    resource: str
    node: str


@dataclass(frozen=True, slots=True)
class EndpointChanged:
    """The query of a pipe that no table depends on."""

    resource: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class MetadataChanged:
    """Descriptions, tokens, tags and the like; `what` names them."""

    resource: str
    kind: Kind
    what: tuple[str, ...]


Change: TypeAlias = Union[
    ResourceAdded, ResourceRemoved, ResourceRenamed,
    ColumnAdded, ColumnDropped, ColumnRenamed, ColumnTypeChanged, ColumnDefaultChanged, ColumnPathChanged,
    ColumnsReordered, SortingKeyChanged, PartitionKeyChanged, TtlChanged, EngineChanged, SettingsChanged,
    ViewChanged, EndpointChanged, MetadataChanged,
]  # fmt: skip
