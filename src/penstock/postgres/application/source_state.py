"""Where Postgres is on the chains of migrations of its tables.

In: the catalog of the source, the migrations, and marks of before. Out: for each migration whether Postgres has it.
Invariants: that is told by fingerprints; a table with a schema that no migration begins or ends with is in no known
state; where changes lead back to a schema of before them,
the columns that were added or touched since a mark tell which it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from penstock.postgres.application.table_marks import TableMark
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation import (
    AddColumn,
    ChangeType,
    DropNotNull,
    RenameColumn,
    SetNotNull,
    SwapColumns,
)


class SourceStage(str, Enum):
    """Whether Postgres has a migration."""

    before = "before"
    after = "after"
    unknown = "unknown"
    """The table's schema is none that the migrations know."""


@dataclass(frozen=True, slots=True)
class SourceState:
    """The migrations with their stages."""

    stages: Mapping[str, SourceStage]
    """By the id of the migration."""
    tables: Mapping[str, ReplicatedTable]
    """The table as it is now, by the id of each of its migrations."""
    undeclared: tuple[QualifiedName, ...]
    """The tables in no known state."""
    forms: frozenset[str] = frozenset()
    """The forms that the tables of Postgres have now."""
    marks: Mapping[int, TableMark] = field(default_factory=dict)
    """Where tables are, by OID, if that is sure."""


def source_state(
    catalog: Catalog, history: MigrationHistory, marks: Mapping[int, TableMark] | None = None
) -> SourceState:
    """The stage of each migration. `marks` are those of before."""
    stages: dict[str, SourceStage] = {}
    tables: dict[str, ReplicatedTable] = {}
    undeclared: list[QualifiedName] = []
    found: dict[int, TableMark] = {}
    for chain in table_chains(history.migrations):
        places = _places(catalog, chain)
        table, reached, is_sure = _reached(places, chain, marks or {})
        if table is None:
            table = _last_table(catalog, chain)
        elif reached is not None and is_sure:
            found[table.oid] = TableMark.of(chain[reached - 1].id if reached else None, table)
        if reached is None:
            undeclared.append(chain[-1].table_after)
        for at, each in enumerate(chain):
            stage = (
                SourceStage.unknown if reached is None else SourceStage.after if at < reached else SourceStage.before
            )
            stages[each.id] = stage
            if table is not None:
                tables[each.id] = table
    return SourceState(stages, tables, tuple(undeclared), frozenset(map(table_form, catalog.tables)), found)


def table_chains(migrations: Iterable[Migration]) -> list[list[Migration]]:
    """The migrations of each table, in order."""
    chains: dict[QualifiedName, list[Migration]] = {}
    for each in migrations:
        chain = chains.pop(each.table, [])
        chains[each.table_after] = [*chain, each]
    return [*chains.values()]


def _places(catalog: Catalog, chain: Sequence[Migration]) -> dict[int, ReplicatedTable]:
    """How many migrations of the chain the table may have, by its schema: the most of them first."""
    found: dict[int, ReplicatedTable] = {}
    for at in range(len(chain), -1, -1):
        name, wanted = (chain[at - 1].table_after, chain[at - 1].after) if at else (chain[0].table, chain[0].before)
        table = catalog.table(name)
        if table is not None and fingerprint(table) == wanted:
            found[at] = table
    return found


def _reached(
    places: Mapping[int, ReplicatedTable], chain: Sequence[Migration], marks: Mapping[int, TableMark]
) -> tuple[ReplicatedTable | None, int | None, bool]:
    """The table, how many migrations of the chain it has, and whether that is sure."""
    if len(places) > 1:
        last = max(places)
        fitting = [
            at
            for at, table in places.items()
            if _fits(table, chain[:at], mark := marks.get(table.oid)) and _is_touched(table, chain[:last], at, mark)
        ]
        if fitting:
            return places[fitting[0]], fitting[0], len(fitting) == 1
    at = next(iter(places), None)
    return (None, None, False) if at is None else (places[at], at, len(places) == 1)


def _fits(table: ReplicatedTable, had: Sequence[Migration], mark: TableMark | None) -> bool:
    """Whether a table that has these migrations got as many columns since a mark as they add behind it."""
    if mark is None:
        return False
    ids = [None, *(each.id for each in had)]
    if mark.migration not in ids:
        return False
    since = had[ids.index(mark.migration) :]
    added = sum(isinstance(each, AddColumn) for migration in since for each in migration.operations)
    return mark.last_attnum + added == table.last_attnum


def _is_touched(table: ReplicatedTable, chain: Sequence[Migration], at: int, mark: TableMark | None) -> bool:
    """Whether those columns were touched since a mark that a table has touched which has so many migrations of a chain,
    and none that only later ones touch."""
    touched = mark.touched(table) if mark is not None else None
    if mark is None or touched is None:
        return True
    since = [None, *(each.id for each in chain)].index(mark.migration)
    done, later = _touching(chain[since:at]), _touching(chain[at:])
    fresh = [each for each in later if all(each.isdisjoint(other) for other in done)]
    return all(touched & each for each in done) and not any(touched & each for each in fresh)


def _touching(migrations: Sequence[Migration]) -> list[frozenset[str]]:
    """The columns whose descriptions migrations change, each by all the names that it has meanwhile; columns that have
    a name one after the other are not told from each other."""
    found: list[frozenset[str]] = []
    for operation in (each for migration in migrations for each in migration.operations):
        match operation:
            case RenameColumn(name, other) | SwapColumns(name, other):
                names = frozenset((name, other))
            case ChangeType(name) | SetNotNull(name) | DropNotNull(name):
                names = frozenset((name,))
            case _:
                continue
        joined = [each for each in found if not each.isdisjoint(names)]
        found = [each for each in found if each not in joined] + [names.union(*joined)]
    return found


def _last_table(catalog: Catalog, chain: Sequence[Migration]) -> ReplicatedTable | None:
    """The table of a chain by any name that it has there, the latest one first."""
    names = [*(each.table_after for each in reversed(chain)), chain[0].table]
    return next((found for each in names if (found := catalog.table(each)) is not None), None)
