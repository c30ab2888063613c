"""A migration as the text of its file.

In: a `Migration`. Out: JSON with one line an operation where that fits, and types as a person writes them, so that a
review shows what changed. Invariant: `migration_reader` reads the same migration from it.
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
from penstock.postgres.migration.type_texts import spelt_type

Json: TypeAlias = "dict[str, object]"
_ONLY_IF_SO = ("narrowing",)
"""What is not said where it is not so."""


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
    return {"op": NAMES[type(operation)], "phase": operation.phase.value, **_shown(exact_values(operation))}


def _shown(values: Json) -> Json:
    """Values as a person writes them."""
    found = {name: _shown(each) if isinstance(each, dict) else each for name, each in values.items()}
    found = {name: each for name, each in found.items() if each is not False or name not in _ONLY_IF_SO}
    if "typmod" in found:
        of, typmod = found["type"], found["typmod"]
        assert isinstance(of, str), "a type is a name"
        assert isinstance(typmod, int), "a typmod is a number"
        if (spelt := spelt_type(of, typmod)) is not None:
            del found["typmod"]
            found["type"] = spelt
    return found


def exact_values(operation: Operation) -> Json:
    """What an operation of its kind says besides its phase, types by the numbers of the catalog."""
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
            return {**_type_json(of), "narrowing": narrowing}
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
        **_type_json(operation.type),
        "nullable": operation.nullable,
        "default": operation.default,
        "old_rows": {"value": old.value} if isinstance(old, OldRowsValue) else {"read": True},
        **behind,
    }


def _type_json(of: ReplicatedType) -> Json:
    """The values that describe a type."""
    labels: Json = {} if of.labels is None else {"labels": [each.label for each in of.labels]}
    base: Json = {} if of.base is None else {"base": _type_json(of.base)}
    return {"type": of.name, "typmod": of.typmod, **labels, **base}


def type_text(of: ReplicatedType) -> str:
    """A type in a sentence."""
    modified = f" with the modifier {of.typmod}" if of.typmod >= 0 else ""
    return spelt_type(of.name, of.typmod) or f"{of.name}{modified}"


def name_json(name: QualifiedName) -> Json:
    return {"schema": name.schema, "name": name.name}


def _line(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
