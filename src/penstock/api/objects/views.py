"""What computes rows from tables: materialized views and copies, which store them, and views: names for queries.

In: SQL as text, with the tables that it reads. Out: declared objects. Invariant: a materialized view has one target, a
table; one that is made for it is declared before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.api.objects.declarations import DECLARED, Declared, Modelled, RowModel
from penstock.api.objects.engines import TableEngine
from penstock.api.objects.nodes import Nodes, nodes_of
from penstock.api.objects.option_values import require_items, require_kind, require_mapping
from penstock.api.objects.sql_template import require_query
from penstock.api.objects.tables import OlapConfig, OlapTable, Token


@dataclass(frozen=True, slots=True, kw_only=True)
class MaterializedViewOptions:
    """The query of a materialized view, the tables that it reads, and its target if that is not given as an object:
    a table of the name `table_name`, with this engine and sorting key.

    >>> options = MaterializedViewOptions(
    ...     materialized_view_name="copy_pages",
    ...     select_tables=[events],
    ...     select_statement=f"SELECT id, at, page FROM {events}",
    ...     table_name="copied_pages",
    ...     order_by_fields=["page"],
    ... )
    >>> MaterializedView[Event](options).target_table.ref
    'copied_pages'
    """

    select_statement: str
    select_tables: Sequence[Declared]
    """Those that the query reads; where it says `{table.name}`, they say which version that is."""
    materialized_view_name: str
    table_name: str | None = None
    """The name of a target that is made for the view; beside a `target_table` it is the name of that."""
    engine: TableEngine | None = None
    """Of that target; None: MergeTree."""
    order_by_fields: Sequence[str] = ()
    """The sorting key of that target."""
    metadata: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        require_items("select_tables", self.select_tables, Declared)
        require_kind("engine", self.engine, TableEngine)
        require_mapping("metadata", self.metadata)


class MaterializedView(Modelled[RowModel]):
    """Stores the rows of a query in its target, as the rows that it reads arrive; existing rows once.

    The model is that of the target. Raises TypeError without a target. A query that leaves out a column of the model,
    or gives it a value of another kind, is a warning at the object.

    >>> class Hits(BaseModel):
    ...     page: str
    ...     hits: UInt64
    >>> hits = OlapTable[Hits]("hits", OlapConfig(order_by_fields=["page"], engine=SummingMergeTreeEngine()))
    >>> view = MaterializedView[Hits](
    ...     MaterializedViewOptions(
    ...         materialized_view_name="hits_mv",
    ...         select_tables=[events],
    ...         select_statement=f"SELECT page, count() AS hits FROM {events} GROUP BY page",
    ...     ),
    ...     target_table=hits,
    ... )
    >>> view.target_table.ref
    'hits'
    """

    def __init__(self, options: MaterializedViewOptions, target_table: OlapTable[Any] | None = None):
        if not isinstance(options, MaterializedViewOptions):
            raise TypeError(f"MaterializedView needs MaterializedViewOptions, not {type(options).__name__}")
        name = options.materialized_view_name
        require_query(f"select_statement of MaterializedView {name!r}", options.select_statement)
        if target_table is not None and not isinstance(target_table, OlapTable):
            raise TypeError(f"target_table of MaterializedView {name!r} must be an OlapTable, not {target_table!r}")
        if target_table is not None and options.table_name not in (None, target_table.name, target_table.ref):
            raise TypeError(
                f"MaterializedView {name!r} has two targets: {options.table_name!r} and {target_table.ref!r}"
            )
        if target_table is not None and (options.engine is not None or options.order_by_fields):
            raise TypeError(f"MaterializedView {name!r}: engine and order_by_fields belong to its target_table")
        if target_table is None and options.table_name is None:
            raise TypeError(f"MaterializedView {name!r} needs a target: target_table=…, or table_name in its options")
        self.named_target = _find_table(options.table_name) if target_table is None else None
        """The table that was meant by `table_name`, which only says its name."""
        self.versions_of_name = () if target_table is not None else _find_versions(options.table_name)
        """The versions of a table of which `table_name` says the name only."""
        self.target_table: OlapTable[Any] = target_table or self.named_target or self._make_target(options)
        super().__init__(name)
        self.options = options
        self.schema = self.row_model

    def _make_target(self, options: MaterializedViewOptions) -> OlapTable[Any]:
        config = OlapConfig(order_by_fields=options.order_by_fields, engine=options.engine)
        return OlapTable[self.row_model](str(options.table_name), config)  # type: ignore[name-defined]


def _find_table(name: str | None) -> OlapTable[Any] | None:
    return next((each for each in DECLARED if isinstance(each, OlapTable) and each.ref == name), None)


def _find_versions(name: str | None) -> tuple[OlapTable[Any], ...]:
    return tuple(each for each in DECLARED if isinstance(each, OlapTable) and each.name == name != each.ref)


class View(Declared):
    """A name for a query, which other SQL reads like a table. It stores nothing.

    >>> recent = View("recent", f"SELECT * FROM {events} WHERE at > '2026-01-01 00:00:00'", base_tables=[events])
    >>> f"SELECT count() FROM {recent}"
    'SELECT count() FROM recent'
    """

    def __init__(
        self,
        name: str,
        select_statement: str,
        base_tables: Sequence[Declared] = (),
        metadata: Mapping[str, object] | None = None,
        nodes: Nodes | None = None,
    ):
        require_query(f"select_statement of View {name!r}", select_statement)
        super().__init__(name)
        self.select_statement = select_statement
        self.nodes = nodes_of(f"View {name!r}", nodes)
        """Queries by name, each of which those after it and `select_statement` may read."""
        for node_name, node in self.nodes.items():
            require_query(f"node {node_name!r} of View {name!r}", node.sql)
        require_items("base_tables", base_tables, Declared)
        require_mapping("metadata", metadata or {})
        self.base_tables = base_tables
        self.metadata = metadata or {}


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOptions:
    """When a copy runs, and whether its rows are added to the table or replace what is there. A schedule that is no
    cron is a problem where the project is loaded.

    >>> hourly = CopyOptions(schedule="0 * * * *", mode="replace", select_tables=[events])
    """

    schedule: str | None = None
    """Cron, in UTC; None: only on demand."""
    mode: Literal["append", "replace"] = "append"
    select_tables: Sequence[Declared] = ()
    tokens: Sequence[Token] = ()
    description: str | None = None

    def __post_init__(self) -> None:
        require_items("select_tables", self.select_tables, Declared)
        require_items("tokens", self.tokens, Token)


class CopyPipe(Declared):
    """Writes the rows of a query into a table each time it runs: on demand, or at the times of a schedule.

    Raises TypeError for a target that is no OlapTable, and for options that are no CopyOptions.

    >>> snapshot = OlapTable[Event]("snapshot")
    >>> copy = CopyPipe("take_snapshot", f"SELECT id, at, page FROM {events}", snapshot, CopyOptions(mode="replace"))
    """

    def __init__(
        self, name: str, select_statement: str, target_table: OlapTable[Any], options: CopyOptions | None = None
    ):
        if not isinstance(target_table, OlapTable):
            raise TypeError(f"target_table of CopyPipe {name!r} must be an OlapTable, not {target_table!r}")
        if options is not None and not isinstance(options, CopyOptions):
            raise TypeError(f"the options of CopyPipe {name!r} must be CopyOptions, not {type(options).__name__}")
        require_query(f"select_statement of CopyPipe {name!r}", select_statement)
        super().__init__(name)
        self.select_statement = select_statement
        self.target_table = target_table
        self.options = options or CopyOptions()
