"""Reads the file of a migration.

In: its text. Out: a `Migration`, or located problems. Invariant: a migration that is read is one that could have been
written: phases are safe and in order, `destructive` says what the operations do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeAlias, cast, get_args

from penstock.errors import Location, Problem, did_you_mean
from penstock.postgres.catalog.replicated_table import EnumLabel, QualifiedName, ReplicaIdentity, ReplicatedType
from penstock.postgres.migration.json_places import JsonPath, JsonPlaces
from penstock.postgres.migration.migration import FORMAT, Migration
from penstock.postgres.migration.operation import (
    CLASSES,
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    OldRows,
    OldRowsRead,
    OldRowsValue,
    Operation,
    OperationName,
    Phase,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SwapColumns,
    safe_phases,
)
from penstock.postgres.migration.type_texts import read_type

_FINGERPRINT = re.compile(r"sha256:[0-9a-f]{64}")
_FIELDS = ("format", "id", "table", "before", "after", "rewrites", "destructive", "operations")
Document: TypeAlias = "Mapping[str, object]"


class _Wrong(Exception):
    """A value is wrong; carries its path, what was expected and what to do."""

    def __init__(self, path: JsonPath, message: str, hint: str | None = None):
        self.path, self.message, self.hint = path, message, hint


def read_migration(text: str, file: str, problems: list[Problem]) -> Migration | None:
    """The migration of a file; None, with a problem more, if it is wrong."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        place = Location(file, getattr(error, "lineno", 1), getattr(error, "colno", 1))
        problems.append(Problem("invalid-migration", f"this is no JSON: {error}", place, _RESTORE))
        return None
    places = JsonPlaces(file, text)
    try:
        found = _migration(_object((), document, _FIELDS))
    except _Wrong as wrong:
        problems.append(Problem("invalid-migration", wrong.message, places.at(*wrong.path), wrong.hint))
        return None
    if found.id != PurePosixPath(file).stem:
        hint = f"name the file {found.id}.json, or write its name as id"
        problems.append(Problem("invalid-migration", "the id is not the file's name", places.at("id"), hint))
    return found


_RESTORE = "files of migrations are written by `penstock migrations observe`"


def _migration(document: Document) -> Migration:
    if document["format"] not in range(1, FORMAT + 1):
        raise _Wrong(("format",), f"the format is not {FORMAT}", "a later release of penstock wrote the file")
    listed = document["operations"]
    if not isinstance(listed, list) or not listed:
        raise _Wrong(("operations",), "`operations` must be a list of at least one operation")
    operations = tuple(_operation(("operations", at), each) for at, each in enumerate(listed))
    _check_order(operations)
    made = Migration(
        _text(("id",), document["id"]),
        _name(("table",), document["table"]),
        _fingerprint(("before",), document["before"]),
        _fingerprint(("after",), document["after"]),
        _flag(("rewrites",), document["rewrites"]),
        operations,
    )
    if _flag(("destructive",), document["destructive"]) != made.destructive:
        said = "true" if made.destructive else "false"
        raise _Wrong(("destructive",), f"`destructive` must be {said}: that is what the operations are")
    return made


def _check_order(operations: tuple[Operation, ...]) -> None:
    for at, each in enumerate(operations):
        allowed = safe_phases(each)
        if each.phase not in allowed:
            known = " or ".join(phase.value for phase in allowed)
            message = f"values would be lost in phase {each.phase.value}: the phase must be {known}"
            raise _Wrong(("operations", at, "phase"), message)
        if at and each.phase.place < operations[at - 1].phase.place:
            message = f"an operation of phase {each.phase.value} stands behind one of {operations[at - 1].phase.value}"
            raise _Wrong(("operations", at, "phase"), message, "the order is pre, at_lsn, post")


def _operation(path: JsonPath, value: object) -> Operation:
    if not isinstance(value, dict):
        raise _Wrong(path, "an operation must be an object")
    name = value.get("op")
    if name not in CLASSES:
        raise _Wrong((*path, "op"), f"there is no operation `{name}`", did_you_mean(str(name), CLASSES))
    name = cast(OperationName, name)
    optional = (*_OPTIONAL, "narrowing") if name == "change_type" else _OPTIONAL
    document = _object(path, value, ("op", "phase", *_KEYS.get(name, ("column",))), optional)
    phases = [each.value for each in Phase]
    if document["phase"] not in phases:
        raise _Wrong((*path, "phase"), f"the phase must be one of {', '.join(phases)}")
    return replace(_of_name(name, path, document), phase=Phase(document["phase"]))


_TYPE = ("type",)
_OPTIONAL = ("typmod", "labels", "base")
_KEYS: Mapping[OperationName, tuple[str, ...]] = {
    "rename_column": ("column", "to"),
    "swap_columns": ("columns",),
    "change_type": ("column", *_TYPE),
    "set_default": ("column", "default"),
    "add_enum_value": ("column", "value", "after"),
    "rename_enum_value": ("column", "value", "to"),
    "rename_table": ("to",),
    "change_key": ("key", "replica_identity", "identity"),
}


def _of_name(name: OperationName, path: JsonPath, document: Document) -> Operation:
    def text(key: str) -> str:
        return _text((*path, key), document[key])

    match name:
        case "add_column":
            return _addition((*path, "column"), document["column"])
        case "rename_column":
            return RenameColumn(text("column"), text("to"))
        case "swap_columns":
            pair = _texts((*path, "columns"), document["columns"])
            if len(pair) != 2 or pair[0] == pair[1]:
                raise _Wrong((*path, "columns"), "a swap is of two columns")
            return SwapColumns(*pair)
        case "rename_table":
            return RenameTable(_name((*path, "to"), document["to"]))
        case "change_key":
            return _key_change(path, document)
        case "change_type":
            narrowing = _flag((*path, "narrowing"), document.get("narrowing", False))
            return ChangeType(text("column"), _type(path, document), narrowing, Phase.pre)
        case _:
            return _simple(name, path, document)


def _simple(name: OperationName, path: JsonPath, document: Document) -> Operation:
    column = _text((*path, "column"), document["column"])
    match name:
        case "set_default":
            return SetDefault(column, _text((*path, "default"), document["default"]))
        case "add_enum_value":
            value = _text((*path, "value"), document["value"])
            return AddEnumValue(column, value, _optional((*path, "after"), document["after"]))
        case "rename_enum_value":
            return RenameEnumValue(
                column, _text((*path, "value"), document["value"]), _text((*path, "to"), document["to"])
            )
        case _:
            # Those that are left have a column and nothing else.
            return CLASSES[name](column)  # type: ignore[call-arg, arg-type]


def _addition(path: JsonPath, value: object) -> AddColumn:
    document = _object(path, value, ("name", *_TYPE, "nullable", "default", "old_rows"), (*_OPTIONAL, "after"))
    return AddColumn(
        _text((*path, "name"), document["name"]),
        _type(path, document),
        _flag((*path, "nullable"), document["nullable"]),
        _optional((*path, "default"), document["default"]),
        _old_rows((*path, "old_rows"), document["old_rows"]),
        _optional((*path, "after"), document.get("after")),
    )


def _old_rows(path: JsonPath, value: object) -> OldRows:
    if value == {"read": True}:
        return OldRowsRead()
    if not isinstance(value, dict) or set(value) != {"value"}:
        raise _Wrong(path, 'old rows must be {"value": …}, or {"read": true} where only Postgres knows their values')
    return OldRowsValue(_optional((*path, "value"), value["value"]))


def _key_change(path: JsonPath, document: Document) -> ChangeKey:
    replica = document["replica_identity"]
    if replica not in get_args(ReplicaIdentity):
        raise _Wrong((*path, "replica_identity"), f"it must be one of {', '.join(get_args(ReplicaIdentity))}")
    key, identity = (_texts((*path, each), document[each]) for each in ("key", "identity"))
    return ChangeKey(key, cast(ReplicaIdentity, replica), identity)


def _type(path: JsonPath, document: Document) -> ReplicatedType:
    name, typmod = _name_and_typmod(path, document)
    found = document.get("labels")
    labels = None
    if found is not None:
        labels = tuple(EnumLabel(at, each) for at, each in enumerate(_texts((*path, "labels"), found), 1))
    base = document.get("base")
    inner = None if base is None else _type((*path, "base"), _object((*path, "base"), base, _TYPE, _OPTIONAL))
    return ReplicatedType(name, typmod, 0, inner, labels)


def _name_and_typmod(path: JsonPath, document: Document) -> tuple[str, int]:
    text = _text((*path, "type"), document["type"])
    if "typmod" not in document:
        if (found := read_type(text)) is None:
            hint = (
                "such as varchar(80), or with its schema public.mood; for a type of an extension with modifiers, its "
                "name, and `typmod` with the number of the catalog"
            )
            raise _Wrong((*path, "type"), f"`{text}` is no type that Postgres has", hint)
        return found
    typmod = document["typmod"]
    if isinstance(typmod, bool) or not isinstance(typmod, int):
        raise _Wrong((*path, "typmod"), "`typmod` must be a whole number; -1 for none")
    return text, typmod


def _name(path: JsonPath, value: object) -> QualifiedName:
    document = _object(path, value, ("schema", "name"))
    return QualifiedName(_text((*path, "schema"), document["schema"]), _text((*path, "name"), document["name"]))


def _object(path: JsonPath, value: object, keys: Collection[str], optional: Collection[str] = ()) -> Document:
    if not isinstance(value, dict):
        raise _Wrong(path, f"this must be an object with {', '.join(keys)}")
    missing = next((each for each in keys if each not in value), None)
    if missing is not None:
        raise _Wrong(path, f"`{missing}` is missing", _RESTORE)
    unknown = next((each for each in value if each not in (*keys, *optional)), None)
    if unknown is not None:
        raise _Wrong((*path, unknown), f"`{unknown}` is unknown here", did_you_mean(unknown, (*keys, *optional)))
    return value


def _text(path: JsonPath, value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong(path, "this must be a text that is not empty")
    return value


def _optional(path: JsonPath, value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _Wrong(path, "this must be a text or null")
    return value


def _texts(path: JsonPath, value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _Wrong(path, "this must be a list of texts")
    return tuple(_text((*path, at), each) for at, each in enumerate(value))


def _flag(path: JsonPath, value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong(path, "this must be true or false")
    return value


def _fingerprint(path: JsonPath, value: object) -> str:
    if not isinstance(value, str) or not _FINGERPRINT.fullmatch(value):
        raise _Wrong(path, "a fingerprint is sha256: and 64 hexadecimal digits", _RESTORE)
    return value
