"""What a deployment is made of: physical tables, the names bound to them, the flows that feed them.

In: values made by the planner. Out: `Manifest` and its parts. Called by plan, state, lake, flow,
deploy. Invariant: a manifest is immutable and self-contained: it holds every Spark SQL text that
reading and feeding its tables needs, so a restarted server runs it without planning again.

Every physical table has the hidden column `_seq BIGINT` = batch number * 2**20 + row of the batch
(a row of a materialized view carries that of the row it was made from, at most the last `_seq` of the
step that made it; a row made of many carries the latter). Landing tables also
have `_rejects STRING`: the landing versions that do not accept the row, NULL where all do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias, Union

from penstock.model.merge_rule import Merge
from penstock.model.types import Type

SEQ = "_seq"
REJECTS = "_rejects"
ROWS_PER_BATCH = 2**20


def last_seq(batch: int) -> int:
    """The greatest `_seq` that a row of this batch, or of an earlier one, can have."""
    return (batch + 1) * ROWS_PER_BATCH - 1


def version_mark(version: str) -> str:
    """How a landing version stands in `_rejects`: between spaces, so that none is part of another."""
    return f" {version} "


@dataclass(frozen=True, slots=True)
class Field:
    """A physical column: its name never changes and is never used twice in a table."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Transform:
    """One part of a partition or sorting key, as Iceberg knows it."""

    kind: Literal["identity", "years", "months", "days", "hours"]
    column: str


@dataclass(frozen=True, slots=True)
class Table:
    """A physical table as a deployment wants it. `lands` says that raw rows are landed in it."""

    id: str
    fields: tuple[Field, ...]
    partition: tuple[Transform, ...] = ()
    sort: tuple[Transform, ...] = ()
    lands: bool = False


@dataclass(frozen=True, slots=True)
class Before:
    """What a column is for rows with `_seq` <= cut: a Spark SQL expression over physical columns.
    `cut` is None until the deployment is activated on the table. In rows with `_seq` <= settled the
    physical column holds the value already."""

    expression: str
    cut: int | None = None
    settled: int = -1

    @property
    def is_settled(self) -> bool:
        return self.cut is not None and self.settled >= self.cut


@dataclass(frozen=True, slots=True)
class BoundColumn:
    """A logical column and the physical one it reads."""

    name: str
    type: Type
    physical: str
    before: Before | None = None


@dataclass(frozen=True, slots=True)
class Accepts:
    """Rows with `_seq` <= upto (None: all later ones) are seen unless `version` rejects them.
    An `upto` of None that is not the last of its chain is filled in at activation."""

    version: str
    upto: int | None = None


@dataclass(frozen=True)
class Binding:
    """A logical name bound to a physical table. `keeps`, Spark SQL over logical names, is true for rows
    that have not expired (None: all); `merge` is what FINAL does. Without slots: columns are indexed when asked for."""

    name: str
    table: str
    columns: tuple[BoundColumn, ...]
    accepts: tuple[Accepts, ...] = ()
    keeps: str | None = None
    merge: Merge | None = None

    def column(self, name: str) -> BoundColumn | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> Mapping[str, BoundColumn]:
        return {column.name: column for column in reversed(self.columns)}


@dataclass(frozen=True, slots=True)
class LandingColumn:
    """One column filled from a raw row. `path` None: only the default fills it. `default` is Spark
    SQL over the physical columns of the table; None: an absent value is NULL where the type allows,
    else the row is rejected."""

    name: str
    physical: str
    type: Type
    path: str | None
    default: str | None = None


Starts: TypeAlias = Literal["beginning", "placed", "met", "resumed"]
"""Where a flow without a cursor begins: at the beginning of its source; `placed`: not before somebody
(a history copy, an activation) has placed its cursor in the target table; `met`: at the beginning of
its source as of the meeting of that; `resumed`: with what its source gets after its meeting."""


@dataclass(frozen=True, slots=True)
class Landing:
    """Raw batches of a stream → typed rows of a table. Landings of several deployments into one
    table run as one flow whose rows carry the versions that reject them."""

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
    """A table read inside a view's SQL: `placeholder` in the text stands for the binding, which
    holds the columns that are used and no others."""

    placeholder: str
    binding: Binding


@dataclass(frozen=True, slots=True)
class View:
    """Rows that arrive in `trigger` → `sql` → rows of `table`, by the names in `fields` (physical,
    in the order of the select list). `others` are read as they are at each step."""

    id: str
    pipe: str
    node: str
    table: str
    sql: str
    trigger: Source
    fields: tuple[str, ...]
    others: tuple[Source, ...] = ()
    starts: Starts = "beginning"


@dataclass(frozen=True, slots=True)
class Copy:
    """The history of a new table: the rows of `source` as of one snapshot, through `select`
    (physical target column, Spark SQL over the source's logical names). `cursors` are the flows
    of the source table whose cursors at that snapshot become those of flows of the new table."""

    id: str
    source: Binding
    table: str
    select: tuple[tuple[str, str], ...]
    cursors: tuple[tuple[str, str], ...]


Flow: TypeAlias = Union[Landing, View, Copy]


@dataclass(frozen=True, slots=True)
class Meet:
    """A new table in which all flows meet at the end of their histories, before any goes on: its first
    snapshot with all of them there is the meeting, the place from which a flow out of it goes on that
    has the rows up to there already. `stops`: the batch at which streams landed in it meet."""

    table: str
    stops: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Manifest:
    """Everything a deployment reads and feeds. `quarantines` bind `<name>_quarantine`; `meets` are
    those of its own new tables."""

    tables: tuple[Table, ...] = ()
    bindings: tuple[Binding, ...] = ()
    quarantines: tuple[Binding, ...] = ()
    flows: tuple[Flow, ...] = ()
    meets: tuple[Meet, ...] = ()

    def binding(self, name: str) -> Binding | None:
        """The binding of a data source or of a quarantine."""
        return self._bindings.get(name)

    def name_of(self, table: str) -> str:
        """The data source that a table is bound to; the table itself where there is none."""
        return next((bound.name for bound in self.bindings if bound.table == table), table)

    def meet(self, table: str) -> Meet | None:
        return next((each for each in self.meets if each.table == table), None)

    def table(self, table: str) -> Table | None:
        return self._tables.get(table)

    def landing(self, name: str) -> Landing | None:
        """The landing flow of a data source."""
        bound = self.binding(name)
        flows = self.flows_into(bound.table) if bound is not None else ()
        return next((flow for flow in flows if isinstance(flow, Landing)), None)

    def flows_into(self, table: str) -> tuple[Flow, ...]:
        """The flows whose rows go to a table, in their order."""
        return self._flows.get(table, ())

    @cached_property
    def landings(self) -> tuple[Landing, ...]:
        return tuple(flow for flow in self.flows if isinstance(flow, Landing))

    @cached_property
    def views(self) -> tuple[View, ...]:
        return tuple(flow for flow in self.flows if isinstance(flow, View))

    @cached_property
    def copies(self) -> tuple[Copy, ...]:
        return tuple(flow for flow in self.flows if isinstance(flow, Copy))

    # What is looked up by name is indexed when it is first asked for, which is why there are no slots.

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
