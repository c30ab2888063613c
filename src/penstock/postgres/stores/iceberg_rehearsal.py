"""Migrations on throw-away copies of Iceberg tables.

In: the tables that migrations reach. Out: the time of each commit, and the tables compared before and after.
Invariants: a copy is a second entry of the catalog for the same metadata, so no file is copied and no commit of it
reaches the table; only files that the table does not have are deleted with the copy.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from penstock.model.settings import StoreSettings
from penstock.postgres.stores.migration_store import MigrationStore, carry_out_all
from penstock.postgres.stores.store_rehearsal import (
    RehearsedPhase,
    StoreRehearsal,
    TableParity,
    names_after,
)

COMPARED_ROWS = 100_000
"""So many rows of each table are compared by their values; of a larger one only the number of rows."""


class IcebergRehearsal:
    """A rehearsal on the tables of a catalog."""

    def __init__(self, catalog: Catalog, settings: StoreSettings):
        self._catalog = catalog
        self._namespace = f"penstock_rehearsal_{uuid.uuid4().hex[:12]}"
        self._settings = settings

    def run(
        self,
        sources: Sequence[str],
        phases: Sequence[RehearsedPhase],
        opened: Callable[[StoreSettings], MigrationStore],
    ) -> StoreRehearsal:
        """Rehearse phases; `opened` gives the store of a namespace. Raises CannotTranslate, Failed, Unavailable."""
        names = list(dict.fromkeys(sources))
        with self._copied(names) as copies:
            tables = {str(each.migration.table): copies[source] for source, each in zip(sources, phases, strict=True)}
            after = {
                str(each.migration.table_after): f"{copies[source]}_after"
                for source, each in self._renamed(sources, phases)
            }
            store = opened(replace(self._settings, namespace=self._namespace, tables={**tables, **after}))
            steps = tuple(carry_out_all(store, phases))
            parity = []
            for name in names:
                own = [phase for source, phase in zip(sources, phases, strict=True) if source == name]
                ends = [after.get(str(each.migration.table_after), copies[name]) for each in own]
                found = next(each for each in reversed([copies[name], *ends]) if self._catalog.table_exists(each))
                parity.append(_parity(self._catalog.load_table(name), self._catalog.load_table(found), own))
        return StoreRehearsal(store.name, steps, tuple(parity))

    @staticmethod
    def _renamed(sources: Sequence[str], phases: Sequence[RehearsedPhase]) -> Iterator[tuple[str, RehearsedPhase]]:
        for source, each in zip(sources, phases, strict=True):
            if each.migration.table != each.migration.table_after:
                yield source, each

    @contextmanager
    def _copied(self, names: Sequence[str]) -> Iterator[Mapping[str, str]]:
        """The copy's name of each table."""
        self._catalog.create_namespace(self._namespace)
        copies: dict[str, str] = {}
        try:
            for number, name in enumerate(names):
                copies[name] = f"{self._namespace}.table_{number}"
                self._catalog.register_table(copies[name], self._catalog.load_table(name).metadata_location)
            yield copies
        finally:
            kept = {file for name in names for file in _files(self._catalog.load_table(name))}
            for identifier in self._catalog.list_tables(self._namespace):
                copy = self._catalog.load_table(identifier)
                made = _files(copy) - kept
                self._catalog.drop_table(identifier)
                for file in sorted(made):
                    copy.io.delete(file)
            self._catalog.drop_namespace(self._namespace)


def _files(table: Table) -> frozenset[str]:
    """Everything that a table refers to."""
    metadata = [table.metadata_location, *(each.metadata_file for each in table.metadata.metadata_log)]
    lists = [each.manifest_list for each in table.snapshots() if each.manifest_list]
    manifests = table.inspect.all_manifests().column("path").to_pylist() if lists else []
    data = table.inspect.all_files().column("file_path").to_pylist() if lists else []
    return frozenset(map(str, [*metadata, *lists, *manifests, *data]))


def _parity(before: Table, after: Table, phases: Sequence[RehearsedPhase]) -> TableParity:
    columns = [each.name for each in before.schema().fields]
    names = names_after(columns, phases)
    rows = tuple(int(each.scan().count()) for each in (before, after))
    known = {each.name for each in after.schema().fields}
    compared = {one: other for one, other in names.items() if other in known and other is not None}
    if max(rows) > COMPARED_ROWS:
        compared = {}
    one, other = (each.scan().to_arrow() for each in (before, after)) if compared else (None, None)
    differing = [name for name, now in compared.items() if _sorted(one, name) != _sorted(other, now)]
    left = tuple(each for each in names if each not in compared)
    return TableParity(".".join(before.name()), rows[0], rows[1], tuple(differing), left)


def _sorted(rows: pa.Table, name: str) -> list[str | None]:
    """The values of a column as texts, in an order that does not depend on the files."""
    texts = pc.cast(rows.column(name), pa.string()).to_pylist()
    return sorted(texts, key=lambda each: (each is None, each or ""))
