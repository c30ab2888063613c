"""The manifest of a deployment: its physical tables, the names bound to them, and the flows that feed them.

In: values that the planner makes. Out: `Manifest` and its parts; they are stored as JSON with the names of their
classes and fields (`state/manifest_codec.py`). Invariant: a manifest is immutable and holds every Spark SQL text
that is needed to read and feed its tables, so a restarted server runs it without planning again.

Every physical table has the hidden column `_seq BIGINT` = batch number * 2**20 + position of the row in its batch.
A row of a materialized view carries the `_seq` of the row it was made from, at most the last one of its step; a row
that was made from many carries the latter. Tables that receive raw rows also have `_rejects STRING`: the landing
versions that reject the row, NULL where every version accepts it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal, TypeAlias, Union

from typing_extensions import assert_never

from penstock.model.graph import Graph
from penstock.model.merge_rule import Merge
from penstock.model.pipe import OnError
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type

SEQ = "_seq"
REJECTS = "_rejects"
ROWS_PER_BATCH = 2**20
ICEBERG_NAMES = frozenset(
    ["_deleted", "_file", "_last_updated_sequence_number", "_partition", "_pos", "_row_id", "_spec_id"]
)
"""Names that no column of a table has for Spark: Iceberg's own metadata columns. Source: Iceberg spec, "Reserved Field
IDs"."""
KEEPS_NOTHING = "false"
"""What a binding of engine Null keeps: queries see none of its rows."""


def last_seq(batch: int) -> int:
    """The greatest `_seq` that a row of this batch, or of an earlier one, can have."""
    return (batch + 1) * ROWS_PER_BATCH - 1


def version_mark(version: str) -> str:
    """How a landing version is written in `_rejects`: between spaces, so that no mark is part of another one."""
    return f" {version} "


def view_rejects(table: str) -> str:
    """The `version` of quarantine rows that views into a physical table rejected."""
    return f"view:{table}"


@dataclass(frozen=True, slots=True)
class Field:
    """A physical column: its name never changes and is never used twice in a table."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Transform:
    """One part of a partition or sorting key, as an Iceberg transform (Iceberg spec, "Partition Transforms")."""

    kind: Literal["identity", "years", "months", "days", "hours"]
    column: str


@dataclass(frozen=True, slots=True)
class Table:
    """A physical table as a deployment needs it."""

    id: str
    fields: tuple[Field, ...]
    partition: tuple[Transform, ...] = ()
    sort: tuple[Transform, ...] = ()
    lands: bool = False
    """Raw rows are landed in it."""
    whole: bool = False
    """Its views have filled it from the beginning of their sources, and none has left out a row: what is in it is what
    they give, but for rows that were posted to it. False for tables that an earlier release made."""
    filled_as: str = ""
    """Like `whole`, whatever its engine merges: how it has merged the rows from the first one on, and which it has let
    expire (`merging_form`). Empty if a view has left out a row, or if they were merged in another way once."""


EVERY_ROW = 2**63 - 1
"""The cutover offset of an expression that says of each row by itself whether it is an older one."""


@dataclass(frozen=True, slots=True)
class Before:
    """The value of a column in older rows: those with `_seq` <= `cut`."""

    expression: str
    """Spark SQL over physical columns."""
    cut: int | None = None
    """The cutover offset; None until the deployment is activated on the table."""
    settled: int = -1
    """In rows with `_seq` <= this the column has been materialized: the physical column holds the value itself."""
    checked: str | None = None
    """The expression without the errors of its conversions, once a check has seen that no older row gets to them."""

    @property
    def value(self) -> str:
        """The expression as queries read it."""
        return self.checked if self.checked is not None else self.expression

    @property
    def is_settled(self) -> bool:
        return self.cut is not None and self.settled >= self.cut


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A logical column and the physical column it reads."""

    name: str
    type: Type
    physical: str
    before: Before | None = None
    """Its value in older rows; None: the physical column has it in all rows."""


@dataclass(frozen=True, slots=True)
class Accepts:
    """One link of a chain of accepted landing versions."""

    version: str
    """Rows of this link are visible unless this landing version rejects them."""
    upto: int | None = None
    """The link is about rows with `_seq` <= this; None: all later rows. A None that is not in the last link is filled
    in at activation."""


@dataclass(frozen=True)
class Binding:
    """A logical name bound to a physical table. It has no slots because the index of its columns is cached."""

    name: str
    table: str
    columns: tuple[BoundColumn, ...]
    accepts: tuple[Accepts, ...] = ()
    keeps: str | None = None
    """Spark SQL over logical names, true for rows whose TTL has not expired; None: all rows."""
    merge: Merge | None = None
    """The rule of FINAL."""

    def column(self, name: str) -> BoundColumn | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, BoundColumn]:
        return {column.name: column for column in reversed(self.columns)}


@dataclass(frozen=True, slots=True)
class LandingColumn:
    """One column filled from a raw row."""

    name: str
    physical: str
    type: Type
    path: str | None
    """The JSON path of the value in the row; None: only the default fills the column."""
    default: str | None = None
    """Spark SQL over the physical columns of the table. Without one, an absent value is NULL if the type allows it,
    else the row is rejected."""


Starts: TypeAlias = Literal["beginning", "placed", "met", "resumed"]
"""Where a flow without a cursor begins. `beginning`: at the beginning of its source. `placed`: not before a history
copy or an activation has committed its cursor to the target table. `met`: at the beginning of its source as of that
table's barrier. `resumed`: with the rows that its source gets after its barrier."""


@dataclass(frozen=True, slots=True)
class Landing:
    """The flow from the raw batches of a stream to typed rows of a table. Landings of several deployments into
    one table run as one flow, whose rows carry the versions that reject them."""

    stream: str
    table: str
    version: str
    columns: tuple[LandingColumn, ...]
    starts: Starts = "beginning"

    @property
    def id(self) -> str:
        return f"landing.{self.stream}"


@dataclass(frozen=True, slots=True)
class Source:
    """A table that a view's SQL reads."""

    placeholder: str
    """What stands for the table in the SQL."""
    binding: Binding
    """The binding of the table, with only the columns that are used."""


@dataclass(frozen=True, slots=True)
class View:
    """The flow of a materialized view: rows that arrive in `trigger` become, through `sql`, rows of `table`."""

    id: str
    pipe: str
    node: str
    table: str
    sql: str
    trigger: Source
    fields: tuple[str, ...]
    """The physical target columns, in the order of the select list."""
    others: tuple[Source, ...] = ()
    """Other tables that the SQL reads, as they are at each step."""
    starts: Starts = "beginning"
    on_error: OnError = "stop"
    """What becomes of a row for which the SQL fails."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The flow that gives a new table its history: the rows of `source` as of one snapshot."""

    id: str
    source: Binding
    table: str
    select: tuple[tuple[str, str], ...]
    """Pairs of a physical target column and Spark SQL over the source's logical names."""
    cursors: tuple[tuple[str, str], ...]
    """Pairs of a flow of the source table and the flow of the new table that takes over its cursor at that snapshot."""
    where: str | None = None
    """Spark SQL over the source's logical names, true for the rows to copy; None: all rows. It is told from what views
    have written, so it holds only while no row was posted to the source."""


Flow: TypeAlias = Union[Landing, View, Copy]


@dataclass(frozen=True, slots=True)
class Meet:
    """The barrier of a new table: all flows into it wait at the end of their histories until every one has arrived. A
    flow out of the table that has the rows up to that snapshot already continues from there."""

    table: str
    stops: tuple[tuple[str, int], ...] = ()
    """The batch at which each stream landed in the table waits."""


@dataclass(frozen=True)
class Manifest:
    """Everything that a deployment reads and feeds. It has no slots because its indexes are cached."""

    tables: tuple[Table, ...] = ()
    bindings: tuple[Binding, ...] = ()
    quarantines: tuple[Binding, ...] = ()
    """The bindings of `<name>_quarantine`."""
    flows: tuple[Flow, ...] = ()
    meets: tuple[Meet, ...] = ()
    """The barriers of the deployment's own new tables."""

    def binding(self, name: str) -> Binding | None:
        """The binding of a data source or of a quarantine."""
        return self._bindings.get(name)

    def quarantined_table(self, quarantine: Binding) -> str | None:
        """The physical table of the data source whose quarantine this is."""
        bound = self._bindings.get(quarantine.name.removesuffix("_quarantine"))
        return bound.table if bound is not None else None

    def name_of(self, table: str) -> str:
        """The data source that is bound to a table; the table's own id if there is none."""
        return next((bound.name for bound in self.bindings_of(table)), table)

    def meet(self, table: str) -> Meet | None:
        """The barrier of a table, if it has one."""
        return self._meets.get(table)

    def table(self, table: str) -> Table | None:
        return self._tables.get(table)

    def landing(self, name: str) -> Landing | None:
        """The landing flow of a data source."""
        bound = self.binding(name)
        flows = self.flows_into(bound.table) if bound is not None else ()
        return next((flow for flow in flows if isinstance(flow, Landing)), None)

    def flows_into(self, table: str) -> tuple[Flow, ...]:
        """The flows that write into a table, in the manifest's order."""
        return self._flows.get(table, ())

    @cached_property
    def table_graph(self) -> Graph:
        """Each table with the tables whose rows trigger the views into it."""
        reads: dict[str, set[str]] = {}
        for view in self.views:
            reads.setdefault(view.table, set()).add(view.trigger.binding.table)
        return Graph.of(reads)

    @cached_property
    def read_graph(self) -> Graph:
        """Each table with the tables that the views into it read: those that trigger them and those that they join."""
        reads: dict[str, set[str]] = {}
        for view in self.views:
            reads.setdefault(view.table, set()).update(each.binding.table for each in (view.trigger, *view.others))
        return Graph.of(reads)

    def derived_names(self, name: str) -> tuple[str, ...]:
        """The data sources that views compute from a data source, directly or through others, sorted."""
        bound = self.binding(name)
        tables = self.read_graph.downstream(bound.table) if bound is not None else ()
        return tuple(sorted({each.name for table in tables for each in self.bindings_of(table)} - {name}))

    @cached_property
    def landings(self) -> tuple[Landing, ...]:
        return tuple(flow for flow in self.flows if isinstance(flow, Landing))

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(flow for flow in self.flows if isinstance(flow, View))

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(flow for flow in self.flows if isinstance(flow, Copy))

    @cached_property
    def streams_by_table(self) -> Mapping[str, frozenset[str]]:
        """By table, the streams whose rows end up in it, directly or through views."""
        streams: dict[str, frozenset[str]] = {table.id: frozenset() for table in self.tables}
        for landing in self.landings:
            streams[landing.table] = streams.get(landing.table, frozenset()) | {landing.stream}
        changed = True
        while changed:  # ends after at most as many rounds as the graph of views is deep
            changed = False
            for view in self.views:
                now = streams.get(view.table, frozenset()) | streams.get(view.trigger.binding.table, frozenset())
                changed = changed or now != streams.get(view.table, frozenset())
                streams[view.table] = now
        return streams

    def bindings_of(self, table: str) -> tuple[Binding, ...]:
        """The data sources that are bound to a table."""
        return self._bindings_by_table.get(table, ())

    def quarantines_of(self, table: str) -> tuple[Binding, ...]:
        """The quarantines that are bound to a table."""
        return self._quarantines_by_table.get(table, ())

    def landings_of(self, stream: str) -> tuple[Landing, ...]:
        """The landings of a stream."""
        return self._landings.get(stream, ())

    def flows_of_stream(self, stream: str) -> tuple[Flow, ...]:
        """The landings and views that the rows of a stream go through."""
        return self._flows_by_stream.get(stream, ())

    # These indexes are cached, which is why the class has no slots.

    @cached_property
    def _bindings(self) -> Mapping[str, Binding]:
        return {bound.name: bound for bound in reversed((*self.bindings, *self.quarantines))}

    @cached_property
    def _tables(self) -> Mapping[str, Table]:
        return {each.id: each for each in reversed(self.tables)}

    @cached_property
    def _flows(self) -> Mapping[str, tuple[Flow, ...]]:
        found: dict[str, list[Flow]] = {}
        for flow in self.flows:
            found.setdefault(flow.table, []).append(flow)
        return {table: tuple(flows) for table, flows in found.items()}

    @cached_property
    def _meets(self) -> Mapping[str, Meet]:
        return {each.table: each for each in reversed(self.meets)}

    @cached_property
    def _bindings_by_table(self) -> Mapping[str, tuple[Binding, ...]]:
        return _group_by_table(self.bindings)

    @cached_property
    def _quarantines_by_table(self) -> Mapping[str, tuple[Binding, ...]]:
        return _group_by_table(self.quarantines)

    @cached_property
    def _landings(self) -> Mapping[str, tuple[Landing, ...]]:
        found: dict[str, list[Landing]] = {}
        for landing in self.landings:
            found.setdefault(landing.stream, []).append(landing)
        return {stream: tuple(landings) for stream, landings in found.items()}

    @cached_property
    def _flows_by_stream(self) -> Mapping[str, tuple[Flow, ...]]:
        found: dict[str, list[Flow]] = {}
        for flow in self.flows:
            for stream in self._streams_of(flow):
                found.setdefault(stream, []).append(flow)
        return {stream: tuple(flows) for stream, flows in found.items()}

    def _streams_of(self, flow: Flow) -> frozenset[str]:
        match flow:
            case Landing():
                return frozenset({flow.stream})
            case View():
                return self.streams_by_table.get(flow.trigger.binding.table, frozenset())
            case Copy():
                return frozenset()
            case _:
                assert_never(flow)


def _group_by_table(bindings: Iterable[Binding]) -> Mapping[str, tuple[Binding, ...]]:
    found: dict[str, list[Binding]] = {}
    for bound in bindings:
        found.setdefault(bound.table, []).append(bound)
    return {table: tuple(bound) for table, bound in found.items()}
