"""A migration as the text of its file.

In: a `Migration`. Out: JSON with one line an operation where that fits, so that a review shows what changed. Invariant:
`migration_reader` reads the same migration from it.
"""

from __future__ import annotations

import json
from typing import TypeAlias

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedType
from penstock.postgres.migration.migration import FORMAT, Migration
from penstock.postgres.migration.operation import (
    NAMES,
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    OldRowsValue,
    Operation,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SwapColumns,
)

Json: TypeAlias = "dict[str, object]"


def migration_text(migration: Migration) -> str:
    """The text of the file."""
    document = migration_json(migration)
    operations = document.pop("operations")
    assert isinstance(operations, list), "operations are a list"
    head = ",\n".join(f"  {json.dumps(name)}: {_line(value)}" for name, value in document.items())
    lines = ",\n".join(f"    {_line(each)}" for each in operations)
    return f'{{\n{head},\n  "operations": [\n{lines}\n  ]\n}}\n'


def migration_json(migration: Migration) -> Json:
    """The document of the file."""
    return {
        "format": FORMAT,
        "id": migration.id,
        "table": name_json(migration.table),
        "before": migration.before,
        "after": migration.after,
        "rewrites": migration.rewrites,
        "destructive": migration.destructive,
        "operations": [operation_json(each) for each in migration.operations],
    }


def operation_json(operation: Operation) -> Json:
    """The document of one operation."""
    return {"op": NAMES[type(operation)], "phase": operation.phase.value, **_values(operation)}


def _values(operation: Operation) -> Json:
    """What an operation of its kind says besides its phase."""
    found: Json
    match operation:
        case AddColumn():
            found = {"column": _column_json(operation)}
        case SwapColumns(name, other):
            found = {"columns": [name, other]}
        case RenameTable(table):
            found = {"to": name_json(table)}
        case ChangeKey(key, replica, identity):
            found = {"key": list(key), "replica_identity": replica, "identity": list(identity)}
        case _:
            found = {"column": operation.name, **_details(operation)}
    return found


def _details(operation: Operation) -> Json:
    """What an operation on one column says besides the column."""
    match operation:
        case RenameColumn(_, to):
            return {"to": to}
        case ChangeType(_, of, narrowing):
            return {**type_json(of), "narrowing": narrowing}
        case SetDefault(_, default):
            return {"default": default}
        case AddEnumValue(_, value, after):
            return {"value": value, "after": after}
        case RenameEnumValue(_, value, to):
            return {"value": value, "to": to}
        case _:
            return {}


def _column_json(operation: AddColumn) -> Json:
    old = operation.old_rows
    behind: Json = {} if operation.after is None else {"after": operation.after}
    return {
        "name": operation.name,
        **type_json(operation.type),
        "nullable": operation.nullable,
        "default": operation.default,
        "old_rows": {"value": old.value} if isinstance(old, OldRowsValue) else {"read": True},
        **behind,
    }


def type_json(of: ReplicatedType) -> Json:
    """The values that describe a type."""
    labels: Json = {} if of.labels is None else {"labels": [each.label for each in of.labels]}
    base: Json = {} if of.base is None else {"base": type_json(of.base)}
    return {"type": of.name, "typmod": of.typmod, **labels, **base}


def name_json(name: QualifiedName) -> Json:
    return {"schema": name.schema, "name": name.name}


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
