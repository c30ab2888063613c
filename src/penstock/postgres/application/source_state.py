"""Where Postgres is on the chains of migrations of its tables.

In: the catalog of the source and the migrations. Out: for each migration whether Postgres has it. Invariant: that is
told by fingerprints only; a table with a schema that no migration begins or ends with is in no known state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import Catalog, QualifiedName, ReplicatedTable
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.migration.migration import Migration, MigrationHistory


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


def source_state(catalog: Catalog, history: MigrationHistory) -> SourceState:
    """The stage of each migration."""
    stages: dict[str, SourceStage] = {}
    tables: dict[str, ReplicatedTable] = {}
    undeclared: list[QualifiedName] = []
    for chain in table_chains(history.migrations):
        table, reached = _reached(catalog, chain)
        if reached is None:
            undeclared.append(chain[-1].table_after)
        for at, each in enumerate(chain):
            stage = (
                SourceStage.unknown if reached is None else SourceStage.after if at < reached else SourceStage.before
            )
            stages[each.id] = stage
            if table is not None:
                tables[each.id] = table
    return SourceState(stages, tables, tuple(undeclared), frozenset(map(table_form, catalog.tables)))


def table_chains(migrations: Iterable[Migration]) -> list[list[Migration]]:
    """The migrations of each table, in order."""
    chains: dict[QualifiedName, list[Migration]] = {}
    for each in migrations:
        chain = chains.pop(each.table, [])
        chains[each.table_after] = [*chain, each]
    return [*chains.values()]


def _reached(catalog: Catalog, chain: list[Migration]) -> tuple[ReplicatedTable | None, int | None]:
    """The table, and how many migrations of the chain it has."""
    table = None
    for at in range(len(chain), -1, -1):
        name, wanted = (chain[at - 1].table_after, chain[at - 1].after) if at else (chain[0].table, chain[0].before)
        found = catalog.table(name)
        table = table or found
        if found is not None and fingerprint(found) == wanted:
            return found, at
    return table, None
