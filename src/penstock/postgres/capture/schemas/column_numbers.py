"""Which column of the catalog (attnum) each column of a Relation message is.

In: a Relation, which has names only, and how the catalog described the table before and after that place in the log.
Out: for each column its attnum, or None where more than one is possible. Invariant: nothing is guessed. A name may have
passed to another column, so that two columns have the same name proves nothing by itself; what does: columns stand in
the order of their attnums, a dropped one never comes back, and a description that nobody touched was the same all the
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from penstock.postgres.capture.stream.pgoutput import Relation
from penstock.postgres.catalog.replicated_table import ReplicatedColumn, ReplicatedTable

MOST_UNSURE = 12
"""Columns that may have been there or not: beyond so many they are not tried in all combinations."""
ColumnNumbers: TypeAlias = "tuple[int | None, ...]"


@dataclass(frozen=True, slots=True)
class TableDescription:
    """How the catalog described a table at a place in the log."""

    table: ReplicatedTable
    begins: int
    """The table was not described otherwise from this LSN …"""
    seen: int
    """… to this one: the same LSN where the change itself says so, else it was looked at in between."""
    is_followed: bool
    """Whether every later change of the table is in the log, as a message of the event trigger; of a description that
    was looked for: whether the trigger was there then."""


def describes(table: ReplicatedTable, relation: Relation) -> bool:
    """Whether a description has the columns that a Relation has."""
    described = [(each.name, each.type.oid) for each in table.columns]
    return described == [(each.name, each.type_oid) for each in relation.columns]


def column_numbers(
    relation: Relation, before: TableDescription | None, after: TableDescription | None
) -> ColumnNumbers:
    """The attnums of a Relation's columns. `before` and `after` are the closest descriptions on both sides of it; None:
    there is none."""
    if before is None:
        return (None,) * len(relation.columns)
    is_followed = before.is_followed and (after is None or after.is_followed)
    if is_followed and describes(before.table, relation):
        return tuple(each.attnum for each in before.table.columns)
    if after is None or not before.table.last_attnum or not after.table.last_attnum:
        return (None,) * len(relation.columns)
    possible = list(_assignments(relation, before.table, after.table))
    if not possible:
        return (None,) * len(relation.columns)
    return tuple(each[0] if len({*each}) == 1 else None for each in zip(*possible, strict=True))


def _assignments(relation: Relation, before: ReplicatedTable, after: ReplicatedTable) -> Iterator[Sequence[int]]:
    """All attnums that the columns could have, in their order."""
    first, last = before.by_attnum(), after.by_attnum()
    sure = first.keys() & last.keys()
    fresh = {*range(before.last_attnum + 1, after.last_attnum + 1)}
    # A generated column is in no Relation, and may have become a plain one at any time.
    unsure = sorted((first.keys() | before.generated | fresh) - after.generated - sure)
    count = len(relation.columns) - len(sure)
    if not 0 <= count <= len(unsure) or len(unsure) > MOST_UNSURE:
        return
    untouched = {at: last[at] for at in sure if first[at].mark is not None and first[at].mark == last[at].mark}
    for some in combinations(unsure, count):
        numbers = sorted({*sure, *some})
        if _fits(relation, numbers, untouched):
            yield numbers


def _fits(relation: Relation, numbers: Sequence[int], untouched: dict[int, ReplicatedColumn]) -> bool:
    """Whether columns that nobody touched are what they are now, and have their names for themselves."""
    names = {each.name: at for at, each in untouched.items()}
    for shown, at in zip(relation.columns, numbers, strict=True):
        known = untouched.get(at)
        if known is not None and (shown.name, shown.type_oid) != (known.name, known.type.oid):
            return False
        if names.get(shown.name, at) != at:
            return False
    return True
