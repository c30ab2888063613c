"""Input and output of the planner, as frozen values.

`Live` and `PlanOptions` go in, `Plan` comes out. Invariant: a plan is complete: it can be saved, shown and executed
later without reading a project again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Literal, TypeAlias

from penstock.errors import Location, Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import Binding, Manifest
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.settings import DeploySettings
from penstock.model.stored_values import StoredValues
from penstock.plan.diff.changes import Change
from penstock.plan.diff.resource_kinds import ResourceKind
from penstock.plan.diff.rollback import Rollback
from penstock.plan.steps import CheckRows, Step

Strategy: TypeAlias = Literal["none", "in_place", "reuse", "bridge", "forward", "recompute", "create", "drop"]

MOVING: tuple[Strategy, ...] = ("reuse", "bridge", "forward", "recompute")
"""Strategies after which a data source has another table, or other values, than in the live version."""


@dataclass(frozen=True, slots=True)
class Size:
    """The rows, stored bytes and data files of a table, or those that a step reads."""

    rows: int
    bytes: int
    files: int = 0

    def __add__(self, other: Size) -> Size:
        return Size(self.rows + other.rows, self.bytes + other.bytes, self.files + other.files)


NOTHING = Size(0, 0)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Another deployment that was planned against the same live version, and that runs."""

    name: str
    project: Project
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class Live:
    """The live version. All mappings are by physical table."""

    project: Project
    manifest: Manifest
    sizes: Mapping[str, Size]
    """Sizes of tables; a table whose size is not known is left out."""
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Physical columns that other deployments made and that may still exist: no new column gets one of these names."""
    column_bytes: Callable[[str], Mapping[str, int]] | None = None
    """Returns the stored bytes of each physical column of a table. It reads the metadata of data files, so it is called
    only where data moves."""
    stored_values: Callable[[str], StoredValues | None] | None = None
    """Returns what Iceberg's statistics say of the values of a table, which they do of its rows as they are now. It
    reads the metadata of data files too."""
    candidates: tuple[Candidate, ...] = ()
    """Other deployments whose data sources can be reused."""
    shortened: frozenset[str] = frozenset()
    """Tables that do not have all the rows they got: expired ones were deleted, or engine Null had not kept them."""
    made_afterwards: frozenset[tuple[str, str]] = frozenset()
    """Pairs of a shortened table and a target that views made of it when those rows were gone."""


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What the user, or the server, decides about a plan."""

    suffix: str
    """The end of the names of new physical tables; unique for each deployment."""
    allow_destructive: bool = False
    streams: frozenset[str] = frozenset()
    """Streams that have batches in the batch log. A new data source does not take over the batches of a deleted one."""
    strategies: Mapping[str, str] = field(default_factory=dict)
    """The strategies that the user requests, by data source."""
    rebuilt: frozenset[str] = frozenset()
    """Targets of views that are computed anew, although nothing that they are made by has changed."""
    materialize_bytes: int = DeploySettings().materialize_bytes
    """The most bytes of files into which bridged columns are written before the promotion."""


@dataclass(frozen=True, slots=True)
class RejectedStrategy:
    """A strategy that was considered and is wrong, or costs more."""

    strategy: Strategy
    moves: Size | None
    """What it would move; None if not known."""
    reason: str


@dataclass(frozen=True, slots=True)
class RuleResult:
    """A rule by which a data source could get its strategy, and what it said."""

    strategy: Strategy
    """What it stands for."""
    rule: str
    """When it applies, as a sentence."""
    says: str
    """What was found: empty if it applies and nothing more is to be said."""
    applies: bool = False


@dataclass(frozen=True, slots=True)
class Materialization:
    """When the columns of a data source that are computed at read time are written into its files."""

    columns: tuple[str, ...]
    rewrites: Size | None
    """The files into which they are written; None if not known."""
    before_promotion: bool | None
    """Before the version is ready; otherwise in the background once it is live. None where no size is known, as in a
    plan without a server."""
    reason: str


@dataclass(frozen=True, slots=True)
class ResourcePlan:
    """What happens to one resource, and why."""

    name: str
    kind: ResourceKind
    strategy: Strategy
    reason: str
    moves: Size | None = NOTHING
    """What is copied or computed; None if the size is not known."""
    rejected: tuple[RejectedStrategy, ...] = ()
    unsettled: tuple[str, ...] = ()
    """Columns that are still computed at read time, until they are materialized."""
    materialization: Materialization | None = None
    """When they are; None if there are none, or if nothing is done with the data source."""
    rollback: Rollback | None = None
    """What a rollback would keep; None for a resource without rows, and where nothing changes."""
    lost: Size | None = NOTHING
    """The rows that the next version does not have, once the previous one is retired; None if not known."""
    rules: tuple[RuleResult, ...] = ()
    """The rules that were tried for a data source that live has, in their order: the first that applies decides, unless
    the user asked for another strategy."""


@dataclass(frozen=True, slots=True)
class HiddenRows:
    """Live rows that the next version of a data source does not show, because its TTL is shorter or its engine Null."""

    source: DataSource
    before: DataSource
    """It in the live version."""
    live: Binding
    expired: str
    """Spark SQL over the columns of the live table; true for the hidden rows."""
    location: Location
    """The place of the TTL."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The way from the live version to a project."""

    changes: tuple[Change, ...] = ()
    resources: tuple[ResourcePlan, ...] = ()
    steps: tuple[Step, ...] = ()
    """Empty where `problems` holds an error."""
    manifest: Manifest = field(default_factory=Manifest)
    """Empty where `problems` holds an error."""
    problems: tuple[Problem, ...] = ()
    checks: tuple[CheckRows, ...] = ()
    """What forward queries may do to existing rows, to be counted where the data is."""
    forward_queries: Mapping[str, Location] = field(default_factory=dict)
    """Where the forward queries of the project are written, by data source."""
    hides: tuple[HiddenRows, ...] = ()
    """Existing rows that a TTL of the next version hides, to be counted where the data is."""
    places: Mapping[Change, Location] = field(default_factory=dict)
    """Where each change is written."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level == "error")

    @property
    def moves(self) -> Size | None:
        """What is copied or computed in total; None if a size is not known."""
        total = NOTHING
        for resource in self.resources:
            if resource.moves is None:
                return None
            total += resource.moves
        return total

    @property
    def rows_moved(self) -> int | None:
        return self.moves.rows if self.moves is not None else None

    @property
    def bytes_moved(self) -> int | None:
        return self.moves.bytes if self.moves is not None else None

    @property
    def rewrites(self) -> Size:
        """The files that are rewritten before the promotion, with bridged columns."""
        planned = (each.materialization for each in self.resources)
        sizes = (each.rewrites or NOTHING for each in planned if each is not None and each.before_promotion)
        return sum(sizes, NOTHING)

    @property
    def rewritten_later(self) -> Size | None:
        """The files that get bridged columns once the version is live; None if there are none."""
        planned = (each.materialization for each in self.resources)
        sizes = [each.rewrites or NOTHING for each in planned if each is not None and each.before_promotion is False]
        return sum(sizes, NOTHING) if sizes else None

    @property
    def rows_lost(self) -> int | None:
        """The rows that the next version does not have; None if the size of a table that loses rows is not known."""
        lost = [resource.lost for resource in self.resources]
        return None if None in lost else sum(each.rows for each in lost if each is not None)

    def resource(self, name: str) -> ResourcePlan | None:
        return next((resource for resource in self.resources if resource.name == name), None)
