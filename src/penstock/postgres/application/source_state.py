"""Where Postgres is on the chains of migrations of its tables.

In: the catalog of the source, the migrations, and what is known of before. Out: for each migration whether Postgres
has it. Invariants: that is told by fingerprints; a table with a schema that no migration begins or ends with is in no
known state; where changes lead back to a schema of before them, what was added or touched since a mark tells which it
is, and where it does not, Postgres is taken to be without them: what waits says so, and what runs too early does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from penstock.postgres.application.table_marks import KEY, TABLE_NAME, SourceMemory, TableMark, labels_of
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.migration.migration import Migration, MigrationHistory
from penstock.postgres.migration.operation import (
    AddColumn,
    AddEnumValue,
    ChangeKey,
    ChangeType,
    DropDefault,
    DropNotNull,
    Operation,
    RenameColumn,
    RenameEnumValue,
    RenameTable,
    SetDefault,
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
    """Where tables are, by OID."""
    alike: frozenset[str] = frozenset()
    """The migrations that Postgres is taken to be without, and with which its tables would look the same."""


def source_state(catalog: Catalog, history: MigrationHistory, memory: SourceMemory | None = None) -> SourceState:
    """The stage of each migration."""
    stages: dict[str, SourceStage] = {}
    tables: dict[str, ReplicatedTable] = {}
    undeclared: list[QualifiedName] = []
    found: dict[int, TableMark] = {}
    alike: set[str] = set()
    for chain in table_chains(history.migrations):
        places = _places(catalog, chain)
        reached = _reached(places, chain, memory or SourceMemory())
        if reached is None:
            table = _last_table(catalog, chain)
            undeclared.append(chain[-1].table_after)
        else:
            table = places[reached]
            found[table.oid] = TableMark.of(chain[reached - 1].id if reached else None, table)
            alike |= {each.id for each in chain[reached : max(places)]}
        for at, each in enumerate(chain):
            stage = (
                SourceStage.unknown if reached is None else SourceStage.after if at < reached else SourceStage.before
            )
            stages[each.id] = stage
            if table is not None:
                tables[each.id] = table
    forms = frozenset(map(table_form, catalog.tables))
    return SourceState(stages, tables, tuple(undeclared), forms, found, frozenset(alike))


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


def _reached(places: Mapping[int, ReplicatedTable], chain: Sequence[Migration], memory: SourceMemory) -> int | None:
    """How many migrations of the chain the table has. Where nothing tells, those that it had before, and no more."""
    if not places:
        return None
    had = [at for at, table in places.items() if _had(chain, table, memory).issuperset(each.id for each in chain[:at])]
    candidates = [at for at in places if at >= max(had, default=0)]
    last = max(candidates)
    fitting = [
        at
        for at in candidates
        if _fits(places[at], chain[:at], mark := memory.marks.get(places[at].oid))
        and _is_touched(places[at], chain[:last], at, mark)
    ]
    return min(fitting or candidates)


def _had(chain: Sequence[Migration], table: ReplicatedTable, memory: SourceMemory) -> frozenset[str]:
    """The migrations that a table is known to have had."""
    mark, ids = memory.marks.get(table.oid), [each.id for each in chain]
    at = ids.index(mark.migration) + 1 if mark is not None and mark.migration in ids else 0
    return memory.had.union(ids[:at])


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
    """What migrations change without a new attnum: the descriptions of columns, each by all the names that it has
    meanwhile, their labels, the name of the table and its key. Columns that have a name one after the other are not
    told from each other."""
    operations = [each for migration in migrations for each in _described(migration)]
    names: list[frozenset[str]] = []
    for each in operations:
        if isinstance(each, (RenameColumn, SwapColumns)):
            names = _joined(names, frozenset((each.name, _other_name(each))))
    found: list[frozenset[str]] = []
    for each in operations:
        if (things := _things(each, names)) is not None:
            found = _joined(found, things)
    return found


def _described(migration: Migration) -> list[Operation]:
    """The operations that Postgres writes down: where a label is renamed, the text of a default has its new name."""
    labels = {each.name for each in migration.operations if isinstance(each, RenameEnumValue)}
    return [each for each in migration.operations if not (isinstance(each, SetDefault) and each.name in labels)]


def _other_name(operation: RenameColumn | SwapColumns) -> str:
    return operation.to if isinstance(operation, RenameColumn) else operation.other


def _joined(groups: Sequence[frozenset[str]], added: frozenset[str]) -> list[frozenset[str]]:
    """The groups with one more, which is one with those that it has something in common with."""
    touching = [each for each in groups if not each.isdisjoint(added)]
    return [each for each in groups if each not in touching] + [added.union(*touching)]


def _things(operation: Operation, names: Sequence[frozenset[str]]) -> frozenset[str] | None:
    """What an operation touches; `names` are those that columns have one after the other."""
    match operation:
        case RenameTable():
            return frozenset((TABLE_NAME,))
        case ChangeKey():
            return frozenset((KEY,))
        case RenameColumn(name) | SwapColumns(name) | ChangeType(name) | SetNotNull(name) | DropNotNull(name):
            return _all_names(name, names)
        case SetDefault(name) | DropDefault(name):
            return _all_names(name, names)
        case AddEnumValue(name) | RenameEnumValue(name):
            return frozenset(map(labels_of, _all_names(name, names)))
        case _:
            return None


def _all_names(name: str, names: Sequence[frozenset[str]]) -> frozenset[str]:
    return next((each for each in names if name in each), frozenset((name,)))


def _last_table(catalog: Catalog, chain: Sequence[Migration]) -> ReplicatedTable | None:
    """The table of a chain by any name that it has there, the latest one first."""
    names = [*(each.table_after for each in reversed(chain)), chain[0].table]
    return next((found for each in names if (found := catalog.table(each)) is not None), None)
