"""The operations of a migration: a closed union, each with the phase in which the stores carry it out.

In: nothing; the difference of two catalogs or a file makes them. Out: frozen values. Invariant: an operation of phase
`pre` names columns as they are before the migration, one of `post` as they are after it; in between, at their LSN,
columns and tables change their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Literal, TypeAlias, Union, get_args

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicaIdentity, ReplicatedType


class Phase(str, Enum):
    """When the stores carry an operation out, in order."""

    pre = "pre"
    """Before Postgres changes."""
    at_lsn = "at_lsn"
    """Where the change stands in Postgres' log: the consumer stops there."""
    post = "post"
    """After every consumer has passed the place where Postgres changed."""

    @property
    def place(self) -> int:
        return [*Phase].index(self)


@dataclass(frozen=True, slots=True)
class OldRowsValue:
    """The rows that a new column finds have this value, the text that Postgres writes; None: NULL."""

    value: str | None


@dataclass(frozen=True, slots=True)
class OldRowsRead:
    """The rows that a new column finds have values of their own, which only Postgres knows: they are read again."""


OldRows: TypeAlias = Union[OldRowsValue, OldRowsRead]


@dataclass(frozen=True, slots=True)
class AddColumn:
    name: str
    type: ReplicatedType
    nullable: bool
    default: str | None
    old_rows: OldRows
    after: str | None = None
    """The column that it stands behind; None: it is the last one."""
    phase: Phase = Phase.pre


@dataclass(frozen=True, slots=True)
class DropColumn:
    name: str
    phase: Phase = Phase.post


@dataclass(frozen=True, slots=True)
class RenameColumn:
    name: str
    to: str
    phase: Phase = Phase.at_lsn


@dataclass(frozen=True, slots=True)
class SwapColumns:
    """Two columns exchange their names: how a column is replaced by another that was filled beside it."""

    name: str
    other: str
    phase: Phase = Phase.at_lsn


@dataclass(frozen=True, slots=True)
class ChangeType:
    name: str
    type: ReplicatedType
    narrowing: bool
    """Whether the new type lacks values of the former one, or gives them another form."""
    phase: Phase


@dataclass(frozen=True, slots=True)
class DropNotNull:
    name: str
    phase: Phase = Phase.pre


@dataclass(frozen=True, slots=True)
class SetNotNull:
    name: str
    phase: Phase = Phase.post


@dataclass(frozen=True, slots=True)
class SetDefault:
    name: str
    default: str
    phase: Phase = Phase.post


@dataclass(frozen=True, slots=True)
class DropDefault:
    name: str
    phase: Phase = Phase.post


@dataclass(frozen=True, slots=True)
class AddEnumValue:
    name: str
    """The column whose enum gets the label."""
    value: str
    after: str | None
    """The label that it stands behind; None: it is the first one."""
    phase: Phase = Phase.pre


@dataclass(frozen=True, slots=True)
class RenameEnumValue:
    name: str
    value: str
    to: str
    phase: Phase = Phase.at_lsn


@dataclass(frozen=True, slots=True)
class RenameTable:
    to: QualifiedName
    phase: Phase = Phase.at_lsn


@dataclass(frozen=True, slots=True)
class ChangeKey:
    """The primary key or the replica identity: what an old row is found by."""

    key: tuple[str, ...]
    replica_identity: ReplicaIdentity
    identity: tuple[str, ...]
    phase: Phase = Phase.at_lsn


Operation: TypeAlias = Union[
    AddColumn,
    DropColumn,
    RenameColumn,
    SwapColumns,
    ChangeType,
    DropNotNull,
    SetNotNull,
    SetDefault,
    DropDefault,
    AddEnumValue,
    RenameEnumValue,
    RenameTable,
    ChangeKey,
]
OperationName = Literal[
    "add_column",
    "drop_column",
    "rename_column",
    "swap_columns",
    "change_type",
    "drop_not_null",
    "set_not_null",
    "set_default",
    "drop_default",
    "add_enum_value",
    "rename_enum_value",
    "rename_table",
    "change_key",
]
CLASSES: dict[OperationName, type[Operation]] = dict(zip(get_args(OperationName), get_args(Operation), strict=True))
NAMES: dict[type[Operation], OperationName] = {of: name for name, of in CLASSES.items()}
_SAFE_PHASES: dict[OperationName, tuple[Phase, ...]] = {
    "add_column": (Phase.pre, Phase.at_lsn),
    "drop_not_null": (Phase.pre, Phase.at_lsn),
    "add_enum_value": (Phase.pre, Phase.at_lsn),
    "change_type": (Phase.pre, Phase.at_lsn),
    "drop_column": (Phase.post,),
    "set_not_null": (Phase.at_lsn, Phase.post),
    "set_default": tuple(Phase),
    "drop_default": tuple(Phase),
}
"""Later than its first phase, an operation would find rows that the store cannot keep; earlier than its last, rows
that still need what it takes away. What is not here happens at its LSN only."""


def safe_phases(operation: Operation) -> tuple[Phase, ...]:
    """The phases in which the operation loses no value."""
    if isinstance(operation, ChangeType) and operation.narrowing:
        return (Phase.at_lsn,)
    return _SAFE_PHASES.get(NAMES[type(operation)], (Phase.at_lsn,))


def is_destructive(operation: Operation) -> bool:
    """Whether values are lost by it."""
    return isinstance(operation, DropColumn) or (isinstance(operation, ChangeType) and operation.narrowing)


def columns_of(operation: Operation) -> tuple[str, ...]:
    """The names of the columns that the operation is about, the new ones included."""
    match operation:
        case RenameColumn(name, to):
            return (name, to)
        case SwapColumns(name, other):
            return (name, other)
        case RenameTable():
            return ()
        case ChangeKey(key):
            return key
        case _:
            return (operation.name,)


def freed_name(operation: Operation) -> str | None:
    """The name that no column has behind the operation, if there is one."""
    return operation.name if isinstance(operation, (DropColumn, RenameColumn)) else None
