"""The steps of a plan: a closed set of frozen values, in the order in which they run.

The planner makes and explains them; `deploy` executes them and stores them as JSON under their class and field
names. Invariant: each step can be run again after a crash, and none of them changes what the live version reads.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, Union

from penstock.model.manifest import Binding, Field, Table, Transform
from penstock.model.quick_dataclass import dataclass
from penstock.model.stored_values import StoredClaim
from penstock.model.types import Type


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create a physical table."""

    table: Table


@dataclass(frozen=True, slots=True)
class AddFields:
    """Add physical columns to a table; the live version does not see them."""

    table: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class WidenField:
    """Promote a physical column in the table's metadata; the live version continues to read the narrower type."""

    table: str
    field: str
    to: Type


@dataclass(frozen=True, slots=True)
class SetSort:
    """Set the order in which later writes and compactions sort the rows."""

    table: str
    sort: tuple[Transform, ...]
    before: tuple[Transform, ...]
    """The previous order, to undo the step."""


@dataclass(frozen=True, slots=True)
class SetPartition:
    """Set the partition key of later writes."""

    table: str
    partition: tuple[Transform, ...]
    before: tuple[Transform, ...]
    """The previous partition key, to undo the step."""


@dataclass(frozen=True, slots=True)
class PlaceCursors:
    """Start the views into a new table with the rows that arrive from now on (`BACKFILL skip`)."""

    table: str


@dataclass(frozen=True, slots=True)
class Clone:
    """Create a table that begins with the snapshots and files of another one, without copying rows."""

    table: Table
    of: str
    """The table that is cloned."""
    widened: tuple[Field, ...] = ()
    """Columns whose stored type is promoted."""
    unposted: bool = False
    """The plan holds only while no row was posted to the table that is cloned: posted rows have the DEFAULT of a new
    column, and rows of views another value."""
    views_only: tuple[str, ...] = ()
    """Tables of live for which the plan holds only while no row was posted to them."""
    cursors: tuple[tuple[str, str], ...] = ()
    """Pairs of a flow of the table that is cloned and the flow of the clone that takes over its cursor."""
    unrejected: bool = False
    """The plan holds only while live sees every row of the table that is cloned."""


@dataclass(frozen=True, slots=True)
class Activate:
    """Create the clones, all as of one moment, and start the flows at that moment. This fills in the cutover offsets of
    the manifest's bindings."""

    clones: tuple[Clone, ...] = ()
    begins: tuple[str, ...] = ()
    """New tables whose history has to end at that moment."""
    claims: tuple[StoredClaim, ...] = ()
    """What has to hold of the rows that are stored at that moment: it did when the plan was made."""


@dataclass(frozen=True, slots=True)
class Check:
    """What a forward query may do to live values in one column of the next version. Kind `fails`: a conversion fails;
    `default`: it gives the default; `unsure`: the only way to know is to compute `value`."""

    column: str
    kind: Literal["fails", "default", "unsure"]
    conversion: str
    """The conversion as written."""
    value: str
    """Spark SQL of the new value, over the columns of the live table."""
    bad: str = "false"
    """Spark SQL over the columns of the live table, true for rows in which the conversion fails or gives the
    default."""


@dataclass(frozen=True, slots=True)
class CheckRows:
    """Fail and say how many live rows cannot be converted."""

    name: str
    live: Binding
    checks: tuple[Check, ...]


@dataclass(frozen=True, slots=True)
class MaterializeColumns:
    """Write the values of bridged columns into the files of a table. The live version does not see them, and readers of
    the next one get the same values before and after."""

    table: str
    name: str
    """The data source."""
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Wait until every flow has processed the rows that had arrived when the wait began."""


Step: TypeAlias = Union[
    CreateTable,
    AddFields,
    WidenField,
    SetSort,
    SetPartition,
    PlaceCursors,
    Activate,
    CheckRows,
    CatchUp,
    MaterializeColumns,
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
    MaterializeColumns,
)
"""Tables exist before anything is set on them; nothing flows before all of it is set. Files are rewritten last: by then
every row is known to convert, and no history is being filled."""


def sort_steps(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """The steps in the order in which they run; steps of one kind keep their order."""
    return tuple(sorted(steps, key=lambda step: STEP_ORDER.index(type(step))))
