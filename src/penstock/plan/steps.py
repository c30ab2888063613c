"""The steps of a plan: a closed set of frozen values, in the order in which they run.

The planner makes and explains them; `deploy` executes them and stores them as JSON under their class and field
names. Invariant: each step can be run again after a crash, and none of them changes what the live version reads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from penstock.model.manifest import Binding, Field, Table, Transform
from penstock.model.types import Type


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Make a physical table."""

    table: Table


@dataclass(frozen=True, slots=True)
class AddFields:
    """Add physical columns to a table; live does not see them."""

    table: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class WidenField:
    """Promote a physical column in the table's metadata; live goes on reading the narrower type."""

    table: str
    field: str
    to: Type


@dataclass(frozen=True, slots=True)
class SetSort:
    """The order in which later writes and compactions lay rows out. `before` undoes it."""

    table: str
    sort: tuple[Transform, ...]
    before: tuple[Transform, ...]


@dataclass(frozen=True, slots=True)
class SetPartition:
    """The partition key of later writes. `before` undoes it."""

    table: str
    partition: tuple[Transform, ...]
    before: tuple[Transform, ...]


@dataclass(frozen=True, slots=True)
class PlaceCursors:
    """`BACKFILL skip`: the views into a new table begin with what arrives from now on."""

    table: str


@dataclass(frozen=True, slots=True)
class Clone:
    """A table that begins with the snapshots and files of another: no row is copied. `widened` are
    the columns whose stored type is promoted."""

    table: Table
    of: str
    widened: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Activate:
    """Make the clones, all as of one moment, and start the flows from there. The cuts of the
    manifest's bindings are filled in here. `begins` are new tables with a history that has to end at
    that moment."""

    clones: tuple[Clone, ...] = ()
    begins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """What may become of values of live in a column of the next version. `bad` is true for rows of which
    `value` (both Spark SQL over live's columns) fails in, or takes a default for, a `conversion`; of a
    column that is `unsure` only computing the `value` tells."""

    column: str
    kind: Literal["fails", "default", "unsure"]
    conversion: str
    value: str
    bad: str = "false"


@dataclass(frozen=True, slots=True)
class CheckRows:
    """Fail, with numbers, where rows of live cannot be had in the next version of a data source."""

    name: str
    live: Binding
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Wait until every flow has what had arrived when the wait began."""


Step: TypeAlias = Union[
    CreateTable, AddFields, WidenField, SetSort, SetPartition, PlaceCursors, Activate, CheckRows, CatchUp
]

STEP_ORDER: tuple[type[Step], ...] = (
    CreateTable,
    AddFields,
    WidenField,
    SetSort,
    SetPartition,
    PlaceCursors,
    Activate,
    CheckRows,
    CatchUp,
)
"""Tables exist before anything is set on them; nothing flows before all of it is set."""


def sort_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps in the order in which they run; those of one kind stay as they were."""
    return tuple(sorted(steps, key=lambda step: STEP_ORDER.index(type(step))))
