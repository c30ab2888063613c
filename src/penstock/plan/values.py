"""What the planner is given and what it answers, as frozen values.

In: nothing. Out: `Live`, `PlanOptions`, `Plan` and their parts. Called by the modules of plan, by
deploy and by cli. Invariant: a plan is complete: what it says can be saved, shown and carried out
later without looking at a project again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.errors import Problem
from penstock.model.manifest import Manifest
from penstock.model.project import Project
from penstock.plan.changes import Change, Kind
from penstock.plan.steps import Step

Strategy: TypeAlias = Literal["none", "in_place", "reuse", "bridge", "forward", "recompute", "create", "drop"]


@dataclass(frozen=True, slots=True)
class Size:
    """How much a table holds."""

    rows: int
    bytes: int

    def __add__(self, other: Size) -> Size:
        return Size(self.rows + other.rows, self.bytes + other.bytes)


NOTHING = Size(0, 0)


@dataclass(frozen=True, slots=True)
class Live:
    """What runs now. `sizes` (by physical table) may lack tables whose size is not known. `columns`
    (by physical table) are physical columns that other deployments made and that may still be
    there: no new column takes the name of one."""

    project: Project
    manifest: Manifest
    sizes: Mapping[str, Size]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """`suffix` ends the names of new physical tables; no other deployment has the same one. `streams`
    have batches in the log: a new data source does not take over those of a deleted one."""

    suffix: str
    allow_destructive: bool = False
    streams: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Rejected:
    """A strategy that was considered and is not right, or dearer. Rows are None if not known."""

    strategy: Strategy
    rows: int | None
    bytes: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class ResourcePlan:
    """What happens to one resource, why, and what it moves (None: the size is not known)."""

    name: str
    kind: Kind
    strategy: Strategy
    reason: str
    rows: int | None = 0
    bytes: int | None = 0
    rejected: tuple[Rejected, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The way from what is live to a project. Where `problems` holds an error, `steps` and
    `manifest` are empty."""

    changes: tuple[Change, ...] = ()
    resources: tuple[ResourcePlan, ...] = ()
    steps: tuple[Step, ...] = ()
    manifest: Manifest = field(default_factory=Manifest)
    problems: tuple[Problem, ...] = ()

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.level == "error")

    @property
    def rows_moved(self) -> int | None:
        """Rows to copy or compute; None if a size is not known."""
        return _total(tuple(resource.rows for resource in self.resources))

    @property
    def bytes_moved(self) -> int | None:
        return _total(tuple(resource.bytes for resource in self.resources))

    def resource(self, name: str) -> ResourcePlan | None:
        return next((resource for resource in self.resources if resource.name == name), None)


def _total(parts: tuple[int | None, ...]) -> int | None:
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None
