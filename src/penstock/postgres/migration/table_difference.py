"""The operations that lead from a table to a later form of it.

In: the forms of one table, in order: before, after, and what was seen between them. Out: operations by phase, or
`NameReuse`. Invariants: columns are compared by attnum, so that a rename or a swap is never taken for a drop and an
add; applied to the first form, the operations give the last one's fingerprint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import EnumLabel, ReplicatedColumn, ReplicatedTable, ReplicatedType
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropColumn,
    DropDefault,
    DropNotNull,
    OldRows,
    OldRowsRead,
    OldRowsValue,
    Operation,
    Phase,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
    SetNotNull,
    SwapColumns,
)
from penstock.postgres.migration.operation_effects import DoesNotFit, apply_operations
from penstock.postgres.migration.type_widening import is_widening

_LITERAL = re.compile(
    r"(?:'(?:[^']|'')*'|-?\d+(?:\.\d+)?|\(-\d+(?:\.\d+)?\)|true|false|NULL)(?:::[^()+|*]+(?:\([\d,]+\))?)*"
)
"""A default that is the same in every database: no now(), and no function of the user's."""


class NameReuse(ValueError):
    """A name belongs to one column before and to another one after: steps in between would say how."""


def table_difference(forms: Sequence[ReplicatedTable]) -> tuple[Operation, ...]:
    """The operations, in the order of their phases. Raises NameReuse."""
    before, after = forms[0], forms[-1]
    had, has = before.by_attnum(), after.by_attnum()
    kept = [(had[each], has[each]) for each in had if each in has]
    dropped = [each for number, each in had.items() if number not in has]
    added = [each for number, each in has.items() if number not in had]
    _refuse_reuse(dropped, added, kept)
    found: list[Operation] = [_addition(each, forms) for each in added]
    found += [DropColumn(each.name) for each in dropped]
    found += _later_not_null(added, found)
    found += _renames({one.name: other.name for one, other in kept if one.name != other.name})
    for one, other in kept:
        found += _column_changes(one, other)
    if before.name != after.name:
        found.append(RenameTable(after.name))
    found.sort(key=lambda operation: operation.phase.place)
    return _with_key(before, after, found)


def is_rewritten(forms: Sequence[ReplicatedTable], operations: Sequence[Operation]) -> bool:
    """Whether old rows have values that only Postgres knows, because it wrote them anew."""
    unknown = any(isinstance(each, AddColumn) and isinstance(each.old_rows, OldRowsRead) for each in operations)
    changed = any(isinstance(each, (ChangeType, RenameEnumValue)) for each in operations)
    moved = forms[0].relfilenode != forms[-1].relfilenode or forms[0].is_partitioned
    return unknown or any(isinstance(each, RenameEnumValue) for each in operations) or (changed and moved)


def _refuse_reuse(
    dropped: Sequence[ReplicatedColumn],
    added: Sequence[ReplicatedColumn],
    kept: Sequence[tuple[ReplicatedColumn, ReplicatedColumn]],
) -> None:
    former = {each.name for each in dropped} | {one.name for one, other in kept if one.name != other.name}
    late = {each.name for each in added}
    taken = {other.name for one, other in kept if one.name != other.name} & {each.name for each in dropped}
    for name in sorted((former & late) | taken):
        raise NameReuse(f"the name `{name}` belonged to one column before and belongs to another one now")


def _addition(column: ReplicatedColumn, forms: Sequence[ReplicatedTable]) -> AddColumn:
    """How a column came, by the first form that has it; where it stands is found at the end."""
    at, first = next(
        (at, found) for at, form in enumerate(forms) if (found := form.by_attnum().get(column.attnum)) is not None
    )
    was_rewritten = forms[at].relfilenode != forms[at - 1].relfilenode
    was_generated = column.attnum in forms[at - 1].generated
    old = _old_rows(first, is_sure=not (was_rewritten or was_generated or forms[0].is_partitioned))
    if first.type != column.type:
        moved = forms[at].relfilenode != forms[-1].relfilenode or forms[0].is_partitioned
        old = _retyped(old, first.type, column.type, is_kept=not moved)
    is_set = first.not_null and isinstance(old, OldRowsValue) and old.value is not None
    nullable = not (column.not_null and is_set)
    behind = [each for each in forms[-1].columns if each.attnum < column.attnum]
    is_last = column.attnum > max((each.attnum for each in forms[0].columns), default=0)
    return AddColumn(
        column.name,
        column.type,
        nullable,
        column.default,
        old,
        None if is_last or not behind else behind[-1].name,
    )


def _old_rows(first: ReplicatedColumn, *, is_sure: bool) -> OldRows:
    """What the rows of before have in a column that came without (`is_sure`) or with a rewrite."""
    if first.old_value is not None and first.default is not None and _LITERAL.fullmatch(first.default):
        return OldRowsValue(first.old_value)
    return OldRowsValue(None) if first.old_value is None and is_sure else OldRowsRead()


def _retyped(old: OldRows, one: ReplicatedType, other: ReplicatedType, *, is_kept: bool) -> OldRows:
    """What these rows have once the column is of another type; `is_kept` where Postgres did not write them anew."""
    if old == OldRowsValue(None):
        return old
    if isinstance(old, OldRowsValue) and is_kept:
        if _is_same_enum(one, other):
            oids = {each.label: each.oid for each in one.stored.labels or ()}
            labels = {each.oid: each.label for each in other.stored.labels or ()}
            if (label := labels.get(oids.get(old.value or "", 0))) is not None:
                return OldRowsValue(label)
        elif is_widening(one, other):
            return old
    return OldRowsRead()


def _later_not_null(added: Sequence[ReplicatedColumn], found: Sequence[Operation]) -> Iterator[Operation]:
    nullable = {each.name for each in found if isinstance(each, AddColumn) and each.nullable}
    yield from (SetNotNull(each.name) for each in added if each.not_null and each.name in nullable)


def _renames(names: Mapping[str, str]) -> Iterator[Operation]:
    """Renames in an order in which each new name is free; names that go round become swaps."""
    left = dict(names)
    while left:
        ready = next((name for name, to in left.items() if to not in left), None)
        if ready is not None:
            yield RenameColumn(ready, left.pop(ready))
            continue
        name, to = next(iter(left.items()))
        yield SwapColumns(name, to)
        # The column that was `name` is done; the one that was `to` is called `name` now.
        del left[name]
        target = left.pop(to)
        if target != name:
            left[name] = target


def _column_changes(one: ReplicatedColumn, other: ReplicatedColumn) -> Iterator[Operation]:
    yield from _type_changes(one, other)
    if one.not_null and not other.not_null:
        yield DropNotNull(one.name)
    if other.not_null and not one.not_null:
        yield SetNotNull(other.name)
    if one.default != other.default:
        yield SetDefault(other.name, other.default) if other.default is not None else DropDefault(other.name)


def _type_changes(one: ReplicatedColumn, other: ReplicatedColumn) -> Iterator[Operation]:
    labels = _label_changes(one, other) if _is_same_enum(one.type, other.type) else None
    if labels is not None:
        yield from labels
    elif _spelling(one.type) != _spelling(other.type):
        if is_widening(one.type, other.type):
            yield ChangeType(one.name, other.type, narrowing=False, phase=Phase.pre)
        else:
            yield ChangeType(other.name, other.type, narrowing=True, phase=Phase.at_lsn)


def _is_same_enum(one: ReplicatedType, other: ReplicatedType) -> bool:
    return one.name == other.name and bool(one.stored.labels) and bool(other.stored.labels)


def _spelling(of: ReplicatedType) -> tuple[object, ...]:
    labels = tuple(each.label for each in of.labels) if of.labels is not None else None
    return (of.name, of.typmod, _spelling(of.base) if of.base else None, labels)


def _label_changes(one: ReplicatedColumn, other: ReplicatedColumn) -> Sequence[Operation] | None:
    """The changes of an enum's labels; None if one is gone, or they have another order."""
    had = {each.oid: each.label for each in one.type.stored.labels or ()}
    labels = other.type.stored.labels or ()
    kept = [each for each in labels if each.oid in had]
    if [each.oid for each in kept] != [*had]:
        return None
    renamed = [(had[each.oid], each.label) for each in kept if had[each.oid] != each.label]
    # A new label behind one that is renamed is added before that, and behind its former name.
    added = [
        AddEnumValue(one.name, each.label, _before(labels, at, had))
        for at, each in enumerate(labels)
        if each.oid not in had
    ]
    if {each.value for each in added} & {*had.values()} or {to for _, to in renamed} & {*had.values()}:
        return None
    return [*added, *(RenameEnumValue(other.name, name, to) for name, to in renamed)]


def _before(labels: Sequence[EnumLabel], at: int, had: Mapping[int, str]) -> str | None:
    return had.get(labels[at - 1].oid, labels[at - 1].label) if at else None


def _with_key(
    before: ReplicatedTable, after: ReplicatedTable, operations: Sequence[Operation]
) -> tuple[Operation, ...]:
    """The operations, with one for the key if it is another one than they lead to. Raises NameReuse where they do not
    fit each other."""
    try:
        made = apply_operations(before, operations)
        wanted = (after.key, after.replica_identity, after.identity)
        if (made.key, made.replica_identity, made.identity) != wanted:
            change = ChangeKey(after.key, after.replica_identity, after.identity)
            at = sum(each.phase.place <= Phase.at_lsn.place for each in operations)
            operations = [*operations[:at], change, *operations[at:]]
            made = apply_operations(before, operations)
    except DoesNotFit as error:
        raise NameReuse(str(error)) from error
    if fingerprint(made) != fingerprint(replace(after)):
        raise NameReuse("the columns have another order than the changes lead to")
    return tuple(operations)
