"""Input and output of the planner, as frozen values.

`Live` and `PlanOptions` go in, `Plan` comes out. Invariant: a plan is complete: it can be saved, shown and executed
later without reading a project again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.errors import Location, Problem
from penstock.model.manifest import Binding, Manifest
from penstock.model.project import Project
from penstock.plan.diff.changes import Change, ResourceKind
from penstock.plan.diff.rollback import Rollback
from penstock.plan.steps import CheckRows, Step

Strategy: TypeAlias = Literal["none", "in_place", "reuse", "bridge", "forward", "recompute", "create", "drop"]

MOVING: tuple[Strategy, ...] = ("reuse", "bridge", "forward", "recompute")
"""Strategies after which a data source has another table, or other values, than the one that live reads."""


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
    """The live version. All mappings are by physical table.

    `sizes` lacks the tables whose size is not known. `columns` are physical columns that other deployments made and
    that may still exist: no new column takes the name of one. `column_bytes` gives the stored bytes of each physical
    column of a table; it reads the metadata of data files, so it is called only where data moves. `candidates` are
    other deployments whose data sources can be reused. Expired rows were deleted from the tables in `shortened`."""

    project: Project
    manifest: Manifest
    sizes: Mapping[str, Size]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    column_bytes: Callable[[str], Mapping[str, int]] | None = None
    candidates: tuple[Candidate, ...] = ()
    shortened: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """`suffix` ends the names of new physical tables; no other deployment has the same one. `streams`
    have batches in the log: a new data source does not take over those of a deleted one. `strategies`
    are those that the user names, by data source."""

    suffix: str
    allow_destructive: bool = False
    streams: frozenset[str] = frozenset()
    strategies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RejectedStrategy:
    """A strategy that was considered and is not right, or dearer. `moves` is None if not known."""

    strategy: Strategy
    moves: Size | None
    reason: str


@dataclass(frozen=True, slots=True)
class ResourcePlan:
    """What happens to one resource, why, and what it moves (None: the size is not known). `unsettled`
    are columns that are computed whenever rows from before are read, until that is settled. `rollback`
    says what going back would keep; None of what has no rows, and where nothing changes."""

    name: str
    kind: ResourceKind
    strategy: Strategy
    reason: str
    moves: Size | None = NOTHING
    rejected: tuple[RejectedStrategy, ...] = ()
    unsettled: tuple[str, ...] = ()
    rollback: Rollback | None = None


@dataclass(frozen=True, slots=True)
class HiddenRows:
    """Rows of live that the next version of a data source does not show: `expired` (Spark SQL over the
    columns of live's table) is true for them. `location` is that of the TTL."""

    name: str
    live: Binding
    expired: str
    location: Location


@dataclass(frozen=True, slots=True)
class Plan:
    """The way from what is live to a project. Where `problems` holds an error, `steps` and
    `manifest` are empty. `checks` is what forward queries may do to the rows there are: whoever has
    the data can count them, and the rows that a TTL `hides`."""

    changes: tuple[Change, ...] = ()
    resources: tuple[ResourcePlan, ...] = ()
    steps: tuple[Step, ...] = ()
    manifest: Manifest = field(default_factory=Manifest)
    problems: tuple[Problem, ...] = ()
    checks: tuple[CheckRows, ...] = ()
    hides: tuple[HiddenRows, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level == "error")

    @property
    def moves(self) -> Size | None:
        """What is copied or computed in all; None if a size is not known."""
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

    def resource(self, name: str) -> ResourcePlan | None:
        return next((resource for resource in self.resources if resource.name == name), None)
