"""Tables: `OlapTable[Model](name, OlapConfig(…))`.

In: a Pydantic model, a name and options. Out: a declared table, which other objects and f-strings refer to. Invariant:
an option is kept as it was given; what it means is decided where datafiles are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from penstock.api.objects.declarations import Modelled, RowModel, require_text
from penstock.api.objects.engines import TableEngine
from penstock.api.objects.option_values import member_of, require_flags, require_items, require_kind, require_mapping
from penstock.api.objects.row_insertion import InsertOptions, InsertResult, Rows, insert_rows
from penstock.api.objects.sql_template import TableColumns
from penstock.model.datasource import versioned_name


class LifeCycle(str, Enum):
    """What a deployment may take from a table: all that it is allowed to, or neither rows nor values
    (DELETION_PROTECTED). EXTERNALLY_MANAGED is a problem where the project is loaded: other tools' word for a table
    that others change, which no data source is.

    >>> kept = OlapTable[Event]("kept", OlapConfig(life_cycle=LifeCycle.DELETION_PROTECTED))
    """

    FULLY_MANAGED = "FULLY_MANAGED"
    DELETION_PROTECTED = "DELETION_PROTECTED"
    EXTERNALLY_MANAGED = "EXTERNALLY_MANAGED"


@dataclass(frozen=True, slots=True)
class TableIndex:
    """A skip index: kept, without effect, since tables have statistics of their own.

    >>> indexed = OlapTable[Event]("indexed", OlapConfig(indexes=[TableIndex("by_page", "page", "bloom_filter")]))
    """

    name: str
    expression: str
    type: str
    granularity: int = 1


@dataclass(frozen=True, slots=True)
class Token:
    """The token of this name may READ or APPEND; another scope is a problem where the project is loaded.

    >>> shared = OlapTable[Event]("shared", OlapConfig(tokens=[Token("dashboard", "READ")]))
    """

    name: str
    scope: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OlapConfig:
    """The options of a table. Without `order_by_fields` and `order_by_expression` its sorting key is the `Key` columns.

    Raises TypeError for a value of another kind. Columns that the model does not have, a key given twice, and a version
    that is not numbers with dots are problems where the project is loaded.

    >>> config = OlapConfig(order_by_fields=["page", "at"], partition_by="toYYYYMM(at)", ttl="at + INTERVAL 90 DAY")
    >>> by_page = OlapTable[Event]("by_page", config)
    """

    order_by_fields: Sequence[str] = ()
    """The sorting key: names of fields."""
    order_by_expression: str | None = None
    """The sorting key as SQL, such as `page, toDate(at)`."""
    partition_by: str | None = None
    """The partition key as SQL."""
    primary_key_expression: str | None = None
    """Kept, without effect on rows."""
    sample_by_expression: str | None = None
    """What SAMPLE divides rows by, as SQL."""
    engine: TableEngine | None = None
    """None: MergeTree."""
    version: str | None = None
    """Of several versions of one table, which are tables side by side."""
    ttl: str | None = None
    """After which time queries do not see a row, as SQL."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Kept, without effect on rows."""
    life_cycle: LifeCycle | None = None
    """None: fully managed. A text such as "DELETION_PROTECTED" is taken for the member of that value."""
    indexes: Sequence[TableIndex] = ()
    metadata: Mapping[str, object] = field(default_factory=dict)
    """`{"description": "…"}`, as `description`."""
    description: str | None = None
    tags: Sequence[str] = ()
    tokens: Sequence[Token] = ()
    renamed_from: str | None = None
    """The table's former name."""
    forward_query: str | None = None
    """The select list by which the existing rows become rows of a changed table."""
    backfill: bool = True
    """Whether a new target of a materialized view is filled from existing rows."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "life_cycle", member_of(LifeCycle, "life_cycle", self.life_cycle))
        require_flags(backfill=self.backfill)
        require_kind("engine", self.engine, TableEngine)
        require_items("indexes", self.indexes, TableIndex)
        require_items("tags", self.tags, str)
        require_items("tokens", self.tokens, Token)
        require_mapping("settings", self.settings)
        require_mapping("metadata", self.metadata)


class OlapTable(Modelled[RowModel]):
    """A table whose rows have the model between the square brackets. `f"{table}"` is its name in SQL.

    Raises TypeError without a model, and for a config that is no OlapConfig. Two tables of one name and version are a
    problem where the project is loaded.

    >>> old = OlapTable[Event]("visits", OlapConfig(version="0.1"))
    >>> f"SELECT count() FROM {old}"
    'SELECT count() FROM visits_0_1'
    """

    def __init__(self, name: str, config: OlapConfig | None = None):
        if config is not None and not isinstance(config, OlapConfig):
            raise TypeError(f"the config of OlapTable {name!r} must be an OlapConfig, not {type(config).__name__}")
        version = config.version if config is not None else None
        if version is not None:
            require_text(f"version of OlapTable {name!r}", version)
        super().__init__(name)
        self.config = config or OlapConfig()
        self.schema = self.row_model

    @property
    def ref(self) -> str:
        """The name under which SQL reads it: `events_0_1` for the version "0.1" of `events`."""
        return versioned_name(self.name, self.config.version or "")

    @property
    def columns(self) -> TableColumns:
        """The columns in SQL: `f"SELECT {table.columns.id} FROM {table}"`."""
        return TableColumns(self.ref, tuple(self.row_model.model_fields))

    def insert(self, data: Rows[RowModel], options: InsertOptions | None = None) -> InsertResult:
        """Store rows in this version of the table: models, dicts, or a table of Arrow, pandas or Spark. The server is
        that of PENSTOCK_URL, else of the nearest project. Raises ClientError (docs/client.md)."""
        return insert_rows(self, data, options)
