"""Drift: the differences between a table as Penstock recorded it and as it is now.

In: a record and the observed table. Out: `TableDrift` values. Invariant: pure; what Penstock does itself (appends,
materialized columns, compaction, expiry of old snapshots) is no drift.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.errors import Problem
from penstock.lake.drift.observed_table import ObservedSnapshot, ObservedTable
from penstock.lake.spark.names import CATALOG, NAMESPACE
from penstock.state.made_tables import MadeTable

DriftKind: TypeAlias = Literal["dropped", "damaged", "replaced", "rolled_back", "columns", "rows"]
OTHER_WAYS = "or deploy its data source under another name, or without it"


@dataclass(frozen=True, slots=True)
class TableDrift:
    """One difference between a table and its record."""

    table: str
    kind: DriftKind
    problem: Problem
    stops: bool
    """Whether flows into and out of the table must stop, since they would write or read wrong rows."""


def missing_table(table: str) -> TableDrift:
    """The drift of a table that does not exist any more."""
    message = f"the table {table} was dropped from outside"
    procedure = f"CALL {CATALOG}.system.register_table('{NAMESPACE}.{table}', <the newest file of its metadata folder>)"
    hint = f"if its files are still there, put it back with `{procedure}`, {OTHER_WAYS}"
    return TableDrift(table, "dropped", Problem("dropped-table", message, hint=hint), stops=True)


def damaged_table(table: str, why: str) -> TableDrift:
    """The drift of a table that is in the catalog and whose metadata file is missing or cannot be read. An older file
    is not used in its place: the tables below may have rows of the newer one."""
    message = f"the files of the table {table} are gone or damaged: {why}"
    hint = f"put the file back from a backup, {OTHER_WAYS}; its older rows and the other tables are as they were"
    return TableDrift(table, "damaged", Problem("damaged-table", message, hint=hint), stops=True)


def table_differences(made: MadeTable, now: ObservedTable) -> tuple[TableDrift, ...]:
    """All differences, the most serious first. If the table was dropped and recreated, that is the only one."""
    if made.uuid != now.uuid:
        return (_replaced_table(made, now),)
    found = (_rolled_back_table(made, now), _changed_columns(made, now), _foreign_rows(made, now))
    return tuple(each for each in found if each is not None)


def _replaced_table(made: MadeTable, now: ObservedTable) -> TableDrift:
    message = f"the table {made.id} was dropped and recreated outside Penstock"
    hint = f"drop it and restore the original one (uuid {made.uuid}), {OTHER_WAYS}; the present table is left as it is"
    return TableDrift(made.id, "replaced", Problem("replaced-table", message, hint=hint), stops=True)


def _rolled_back_table(made: MadeTable, now: ObservedTable) -> TableDrift | None:
    """The flows' progress went back with the rows: going on from there would count rows twice in derived tables."""
    newest, there = now.newest, {mark.id for mark in now.line}
    if newest is not None and newest.sequence >= made.newest and newest.id not in there:
        message = f"the table {made.id} was rolled back from outside, behind rows that Penstock had appended"
        procedure = f"CALL {CATALOG}.system.set_current_snapshot('{NAMESPACE}.{made.id}', {newest.id})"
        hint = f"put it back with `{procedure}`, {OTHER_WAYS}"
    elif (newest.sequence if newest is not None else 0) < made.newest or _lost_progress(now):
        message = f"the snapshot of the table {made.id} that held the progress of its flows was removed from outside"
        hint = f"it cannot be put back: keep the table as it is, {OTHER_WAYS}"
    else:
        return None
    return TableDrift(made.id, "rolled_back", Problem("rolled-back-table", message, hint=hint), stops=True)


def _lost_progress(now: ObservedTable) -> bool:
    """Whether every snapshot that carried the flows' progress was expired from outside."""
    return now.newest is not None and not any(mark.progress for mark in now.line)


def _changed_columns(made: MadeTable, now: ObservedTable) -> TableDrift | None:
    harmless, harmful = sorted(_harmless_changes(made, now)), sorted(_harmful_changes(made, now))
    if not harmless and not harmful:
        return None
    message = f"columns of the table {made.id} were changed from outside: {', '.join(harmful + harmless)}"
    hint = "Penstock neither fills nor shows columns that it did not create"
    if harmful:
        hint = f"Iceberg does not bring a dropped column back under its id: name a renamed one as it was, {OTHER_WAYS}"
    return TableDrift(made.id, "columns", Problem("changed-columns", message, hint=hint), stops=bool(harmful))


def _harmful_changes(made: MadeTable, now: ObservedTable) -> Iterator[str]:
    """Changes after which older values would be read as NULL, or not at all."""
    ids, names = {each.id: each for each in now.columns}, {each.name for each in now.columns}
    for column in made.columns:
        if column.id not in ids:
            yield f"`{column.name}` was dropped" + (" and created again" if column.name in names else "")
        elif ids[column.id].name != column.name:
            yield f"`{column.name}` was renamed to `{ids[column.id].name}`"


def _harmless_changes(made: MadeTable, now: ObservedTable) -> Iterator[str]:
    """Changes that lose nothing: Iceberg only widens types, and new columns are NULL in existing rows."""
    ids, names = {each.id: each for each in made.columns}, {each.name for each in made.columns}
    for column in now.columns:
        if column.id in ids and ids[column.id].type != column.type:
            yield f"`{column.name}` was {ids[column.id].type} and is {column.type}"
        elif column.id not in ids and column.name not in names:
            yield f"`{column.name}` was added"


def _foreign_rows(made: MadeTable, now: ObservedTable) -> TableDrift | None:
    changes = [mark for mark in now.line if not mark.ours and mark.change and mark.sequence > made.accepted]
    if not changes:
        return None
    described = ", ".join(map(_describe_change, changes[-_MAX_SHOWN:])) + (", …" if len(changes) > _MAX_SHOWN else "")
    message = f"rows of the table {made.id} were changed from outside: {described}"
    hint = (
        "views read rows appended from outside and ignore deletes and replacements; recomputed tables leave such"
        " appended rows out"
    )
    return TableDrift(made.id, "rows", Problem("foreign-rows", message, hint=hint), stops=False)


_MAX_SHOWN = 5


def _describe_change(mark: ObservedSnapshot) -> str:
    match mark.change:
        case "appended":
            return f"{mark.added} appended (snapshot {mark.id})"
        case "deleted":
            return f"{mark.removed} deleted (snapshot {mark.id})"
        case _:
            return f"{mark.removed} replaced by {mark.added} (snapshot {mark.id})"
