"""Migrations as changes of an Iceberg table's schema, each of which keeps the ids of its fields.

In: the operations of one phase and the table's fields. Out: steps whose text is JSON: all changes of a phase are one
commit. Invariants: a type changes only where Iceberg's specification has a promotion (a scale never changes); a
dropped column is renamed first and deleted later; old rows get their value while the consumer is stopped at the change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedColumn, ReplicatedType
from penstock.postgres.catalog.store_types import iceberg_type
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import (
    AddColumn,
    ChangeType,
    DropColumn,
    DropNotNull,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameTable,
    SwapColumns,
)
from penstock.postgres.translation.refusal import CannotTranslate
from penstock.postgres.translation.store_step import StoreStep

Change: TypeAlias = "dict[str, str]"
HIDDEN = "_dropped_"
_DECIMAL = re.compile(r"decimal\((\d+), (\d+)\)")


@dataclass(frozen=True, slots=True)
class IcebergField:
    """A column of a table."""

    type: str
    required: bool
    is_key: bool = False
    """Whether a partition, the sort order or the identifier has it."""


@dataclass(frozen=True, slots=True)
class IcebergSchema:
    """A table with its columns by name."""

    name: str
    fields: Mapping[str, IcebergField]


def iceberg_phases(migration: Migration) -> tuple[Phase, ...]:
    """The phases in which there is something to do: a value of old rows is written at the place of the change."""
    fills = bool(_filled(migration))
    return tuple(each for each in Phase if migration.of_phase(each) or (fills and each is Phase.at_lsn))


def iceberg_steps(
    migration: Migration, phase: Phase, table: IcebergSchema, renamed: str
) -> tuple[tuple[StoreStep, ...], IcebergSchema]:
    """The steps of a phase, and what they make of the table; `renamed` is its name afterwards. Raises
    CannotTranslate."""
    changes: list[Change] = []
    hidden: list[str] = []
    fields = dict(table.fields)
    for operation in migration.of_phase(phase):
        made = [*_changes(operation, fields, table.name, migration)]
        changes += made
        hidden += [each["to"] for each in made if each.get("to", "").startswith(HIDDEN)]
    steps = [_commit(table.name, changes, migration.id, phase)] if changes else []
    if phase is Phase.at_lsn:
        steps += [_fill(table.name, each, _name_behind(migration, each), migration.id) for each in _filled(migration)]
    is_renamed = phase is Phase.at_lsn and any(isinstance(each, RenameTable) for each in migration.operations)
    if is_renamed:
        steps += _rename(table.name, renamed)
    deletes: list[Change] = [{"delete": each} for each in hidden]
    if deletes:
        text = _text({"table": table.name, "changes": deletes, "mark": f"{migration.id}.deleted"})
        steps.append(StoreStep(text, "deletes what was hidden", deletes=True))
    return tuple(steps), IcebergSchema(renamed if is_renamed else table.name, fields)


def _changes(
    operation: Operation, fields: dict[str, IcebergField], table: str, migration: Migration
) -> Iterator[Change]:
    """The changes of an operation; `fields` becomes what they lead to."""
    match operation:
        case AddColumn(name, of):
            yield from _addition(name, _type_of(name, of), fields, table)
        case DropColumn(name):
            if name in fields:
                yield _hidden(name, fields, table, migration.id)
        case RenameColumn(name, to):
            fields[to] = _field(name, fields, table)
            del fields[name]
            yield {"rename": name, "to": to}
        case SwapColumns(name, other):
            fields[name], fields[other] = _field(other, fields, table), _field(name, fields, table)
            yield {"rename": name, "to": other}
            yield {"rename": other, "to": name}
        case ChangeType(name, of):
            yield from _type_change(operation, _type_of(name, of), fields, table, migration)
        case DropNotNull(name):
            if _field(name, fields, table).required:
                yield {"optional": name}
        case _:
            # Columns are optional, labels are texts, and rows come with all their values.
            return


def _addition(name: str, made: str, fields: dict[str, IcebergField], table: str) -> Iterator[Change]:
    if name not in fields:
        fields[name] = IcebergField(made, False)
        yield {"add": name, "type": made}
    elif fields[name].type != made:
        hint = "drop or rename that column first"
        raise CannotTranslate(f"the table {table} has a column `{name}` of {fields[name].type} already", hint)


def _type_change(
    operation: ChangeType, to: str, fields: dict[str, IcebergField], table: str, migration: Migration
) -> Iterator[Change]:
    name = operation.name
    field = _field(name, fields, table)
    if field.type == to and not operation.narrowing:
        return
    if is_promotion(field.type, to):
        fields[name] = IcebergField(to, field.required, field.is_key)
        yield {"type": name, "to_type": to}
        return
    if operation.phase is not Phase.at_lsn or not migration.rewrites:
        hint = "set the phase of the operation to at_lsn and `rewrites` to true: the rows are read again from Postgres"
        raise CannotTranslate(f"Iceberg cannot make {field.type} of `{name}` into {to}", hint)
    yield _hidden(name, fields, table, migration.id)
    fields[name] = IcebergField(to, False)
    yield {"add": name, "type": to}


def is_promotion(before: str, after: str) -> bool:
    """Whether Iceberg changes the type in place. Source: Iceberg's specification, "Schema Evolution"; of decimals only
    the precision may grow."""
    decimals = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(after)
    if decimals[0] and decimals[1]:
        return int(decimals[1][1]) >= int(decimals[0][1]) and decimals[0][2] == decimals[1][2]
    return before == after or (before, after) in (("int", "long"), ("float", "double"))


def _hidden(name: str, fields: dict[str, IcebergField], table: str, mark: str) -> Change:
    field = _field(name, fields, table)
    if field.is_key:
        hint = "make a table with another partition spec, sort order or identifier, and copy the rows"
        raise CannotTranslate(f"a key of {table} has the column `{name}`", hint)
    del fields[name]
    return {"rename": name, "to": f"{HIDDEN}{name}_{mark}"}


def _filled(migration: Migration) -> list[AddColumn]:
    """The new columns whose old rows have a value."""
    added = [each for each in migration.operations if isinstance(each, AddColumn)]
    return [each for each in added if isinstance(each.old_rows, OldRowsValue) and each.old_rows.value is not None]


def _field(name: str, fields: Mapping[str, IcebergField], table: str) -> IcebergField:
    if name not in fields:
        hint = f"its columns: {', '.join([*fields][:20])}; `penstock migrations check` compares the store with Postgres"
        raise CannotTranslate(f"the table {table} has no column `{name}`", hint)
    return fields[name]


def _type_of(name: str, of: ReplicatedType) -> str:
    return iceberg_type(ReplicatedColumn(0, name, of))


def _commit(table: str, changes: Sequence[Change], mark: str, phase: Phase) -> StoreStep:
    back = [_inverse(each) for each in reversed(changes)]
    document: dict[str, object] = {"table": table, "changes": list(changes), "mark": f"{mark}.{phase.value}"}
    undo = None
    if all(each is not None for each in back):
        undo = _text({"table": table, "changes": back, "unmark": f"{mark}.{phase.value}"})
    return StoreStep(_text(document), "one commit of the schema", undo=undo)


def _inverse(change: Change) -> Change | None:
    if "add" in change:
        return {"delete": change["add"]}
    if "rename" in change:
        return {"rename": change["to"], "to": change["rename"]}
    return {} if "optional" in change else None


def _name_behind(migration: Migration, added: AddColumn) -> str:
    """What a new column is called once the changes of `at_lsn` are made."""
    name = added.name
    for each in migration.operations[migration.operations.index(added) + 1 :]:
        match each:
            case RenameColumn(former, to) if former == name:
                name = to
            case SwapColumns(one, other) if name in (one, other):
                name = other if name == one else one
    return name


def _fill(table: str, operation: AddColumn, name: str, mark: str) -> StoreStep:
    value = operation.old_rows.value if isinstance(operation.old_rows, OldRowsValue) else None
    of = _type_of(operation.name, operation.type)
    document = {"table": table, "fill": name, "type": of, "value": value, "mark": f"{mark}.{operation.name}"}
    return StoreStep(_text(document), "old rows get the value that they have in Postgres")


def _rename(table: str, to: str) -> list[StoreStep]:
    if table == to:
        return []
    back = _text({"rename_table": to, "to": table})
    return [StoreStep(_text({"rename_table": table, "to": to}), "the table's name", undo=back)]


def table_name(namespace: str, tables: Mapping[str, str], name: QualifiedName) -> str:
    """The identifier of the table for one of Postgres."""
    return tables.get(str(name), f"{namespace}.{name.name}")


def _text(document: Mapping[str, object]) -> str:
    return json.dumps(document, ensure_ascii=False)
