"""Tables: `OlapTable[Model](name, OlapConfig(…))`.

In: a Pydantic model, a name and options. Out: a declared table, which other objects and f-strings refer to. Invariant:
an option is kept as it was given; what it means is decided where datafiles are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from penstock.api.objects.declarations import Modelled, RowModel
from penstock.api.objects.engines import TableEngine
from penstock.model.datasource import versioned_name


class LifeCycle(str, Enum):
    """Who may change a table."""

    FULLY_MANAGED = "FULLY_MANAGED"
    DELETION_PROTECTED = "DELETION_PROTECTED"
    EXTERNALLY_MANAGED = "EXTERNALLY_MANAGED"


@dataclass(frozen=True, slots=True)
class TableIndex:
    """A skip index: kept, without effect, since tables have statistics of their own."""

    name: str
    expression: str
    type: str
    granularity: int = 1


@dataclass(frozen=True, slots=True)
class Token:
    """The token of this name may READ or APPEND."""

    name: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OlapConfig:
    """The options of a table."""

    order_by_fields: Sequence[str] = ()
    order_by_expression: str | None = None
    partition_by: str | None = None
    primary_key_expression: str | None = None
    sample_by_expression: str | None = None
    engine: TableEngine | None = None
    version: str | None = None
    """Of several versions of one table, which are tables side by side."""
    ttl: str | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    life_cycle: LifeCycle | None = None
    indexes: Sequence[TableIndex] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    description: str | None = None
    tags: Sequence[str] = ()
    tokens: Sequence[Token] = ()
    renamed_from: str | None = None
    forward_query: str | None = None
    """The select list by which the existing rows become rows of a changed table."""
    backfill: bool = True
    """Whether a new target of a materialized view is filled from existing rows."""


class OlapTable(Modelled[RowModel]):
    """A table whose rows have the model between the square brackets."""

    def __init__(self, name: str, config: OlapConfig | None = None):
        if config is not None and not isinstance(config, OlapConfig):
            raise TypeError(f"the config of OlapTable {name!r} must be an OlapConfig, not {type(config).__name__}")
        super().__init__(name)
        self.config = config or OlapConfig()
        self.schema = self.row_model

    @property
    def ref(self) -> str:
        """The name under which SQL reads it: `events_0_1` for the version "0.1" of `events`."""
        return versioned_name(self.name, self.config.version or "")
