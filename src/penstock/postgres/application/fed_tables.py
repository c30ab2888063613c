"""Which stores have nothing to do with the migrations of a table: those that do not take it.

In: the migrations, the source and a store. Out: the store, without the tables that it does not take. Invariant: a store
takes a table if it has it, by any of its names, if a capture may bring its rows there, or if a migration of the table
has begun there; else what the application does to that table changes nothing there, and must not hold it up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.errors import Unavailable
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.source_state import SourceState, table_chains
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.migration.migration import Migration
from penstock.postgres.stores.filtered_store import FilteredStore
from penstock.postgres.stores.migration_store import MigrationStore


@dataclass(frozen=True, slots=True)
class FedTables:
    """What decides whether a store takes a table."""

    migrations: Sequence[Migration]
    state: SourceState
    journal: SourceJournal

    def of(self, store: MigrationStore) -> FilteredStore:
        """The store, without the tables that it does not take. Raises Failed."""
        begun = {each.key.migration for each in self.journal.records() if each.key.store == store.name}
        untaken: dict[str, QualifiedName] = {}
        for chain in table_chains(self.migrations):
            if begun.isdisjoint(each.id for each in chain) and not self._takes(store, chain):
                untaken |= {each.id: chain[-1].table_after for each in chain}
        return FilteredStore(store, untaken)

    def _takes(self, store: MigrationStore, chain: Sequence[Migration]) -> bool:
        names = list(dict.fromkeys(name for each in chain for name in (each.table, each.table_after)))
        return self._is_captured(store, chain[-1], names) or _has_one(store, names)

    def _is_captured(self, store: MigrationStore, last: Migration, names: Iterable[QualifiedName]) -> bool:
        """Whether a capture may bring the table's rows to a store."""
        table = self.state.tables.get(last.id)
        if table is None:
            return self.journal.is_captured(names)
        consumers = self.journal.consumers(table.oid, "0/0")
        return consumers.may_feed(store.name) if store.takes_rows else bool(consumers.brokers)


def _has_one(store: MigrationStore, names: Iterable[QualifiedName]) -> bool:
    """Whether a store has a table of one of these names; of one that does not answer it is taken for granted."""
    try:
        return any(not store.differences(ReplicatedTable(0, name, ())) for name in names)
    except Unavailable:
        return True
