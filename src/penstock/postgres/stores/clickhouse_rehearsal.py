"""Migrations on a throw-away copy of a ClickHouse database's tables.

In: the tables that migrations reach, and their views. Out: the time of each statement, and the tables compared before
and after. Invariants: the copy shares the files of the tables (ATTACH PARTITION … FROM links them), the database of
the copy is dropped whatever happens, and no statement is sent to the tables themselves.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from penstock.model.settings import StoreSettings
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.clickhouse_server import ClickHouseConnection
from penstock.postgres.stores.migration_store import MigrationStore, carry_out_all
from penstock.postgres.stores.store_rehearsal import (
    RehearsedPhase,
    StoreRehearsal,
    TableParity,
    names_after,
)
from penstock.postgres.translation.clickhouse.schema import ClickHouseSchema, ClickHouseTable, quoted_name

_BEFORE = "_before_"
"""What the name of the copy's own copy begins with, which no migration reaches."""


class ClickHouseRehearsal:
    """A rehearsal on the tables of a database."""

    def __init__(self, connection: ClickHouseConnection, schema: ClickHouseSchema, settings: StoreSettings):
        self._connection = connection
        self._schema = schema
        self._copy = replace(settings, database=f"penstock_rehearsal_{uuid.uuid4().hex[:12]}")

    def run(
        self,
        sources: Sequence[str],
        phases: Sequence[RehearsedPhase],
        opened: Callable[[StoreSettings], MigrationStore],
    ) -> StoreRehearsal:
        """Rehearse phases; `opened` gives the store of a database. Raises CannotTranslate, Failed, Unavailable."""
        tables = self.reached(sources)
        with self._copied(tables):
            store = opened(self._copy)
            steps = tuple(carry_out_all(store, phases))
            parity = []
            for table in tables:
                own = [phase for source, phase in zip(sources, phases, strict=True) if source == table.name]
                renamed = any(each.phase is Phase.at_lsn for each in own) and self._renamed(own)
                parity.append(self._parity(table, own, renamed or table.name))
        return StoreRehearsal(store.name, steps, tuple(parity))

    def reached(self, sources: Sequence[str]) -> list[ClickHouseTable]:
        """The tables and all targets of views over them."""
        names = list(dict.fromkeys(sources))
        for name in names:
            targets = dict.fromkeys(each.target for each in self._schema.views_of(name) if each.target)
            names += [each for each in targets if each not in names]
        return [each for each in map(self._schema.table, names) if each is not None]

    @contextmanager
    def _copied(self, tables: Sequence[ClickHouseTable]) -> Iterator[None]:
        database = quoted_name(self._copy.database)
        self._connection.run(f"CREATE DATABASE {database}")
        try:
            for table in tables:
                original = f"{quoted_name(self._schema.database)}.{quoted_name(table.name)}"
                copy, before = (f"{database}.{quoted_name(each)}" for each in (table.name, _BEFORE + table.name))
                self._connection.run(f"CREATE TABLE {copy} AS {original}")
                self._connection.run(f"ALTER TABLE {copy} ATTACH PARTITION ALL FROM {original}")
                self._connection.run(f"CREATE TABLE {before} AS {original}")
                self._connection.run(f"ALTER TABLE {before} ATTACH PARTITION ALL FROM {copy}")
            names = {each.name for each in tables}
            for view in self._schema.views:
                if view.target in names and {*view.query.tables(self._schema.database)} & names:
                    query = view.query.with_database(self._schema.database, self._copy.database, names).text
                    made = f"CREATE MATERIALIZED VIEW {database}.{quoted_name(view.name)}"
                    self._connection.run(f"{made} TO {database}.{quoted_name(view.target or '')} AS {query}")
            yield
        finally:
            self._connection.run(f"DROP DATABASE {database} SYNC")

    def _renamed(self, phases: Sequence[RehearsedPhase]) -> str | None:
        """The name that the last rename gives the table."""
        made = [each.migration for each in phases if each.migration.table != each.migration.table_after]
        return self._copy.tables.get(str(made[-1].table_after), made[-1].table_after.name) if made else None

    def _parity(self, table: ClickHouseTable, phases: Sequence[RehearsedPhase], after: str) -> TableParity:
        names = names_after([each.name for each in table.columns], phases)
        types = self._types(after)
        compared = {
            before: now
            for before, now in names.items()
            if now in types and not types[now].startswith("AggregateFunction") and now is not None
        }
        ones = [f"CAST({quoted_name(before)}, {_text(types[now])})" for before, now in compared.items()]
        others = [quoted_name(now) for now in compared.values()]
        rows_before, *first = self._sums(_BEFORE + table.name, ones)
        rows_after, *second = self._sums(after, others)
        pairs = zip(compared, first, second, strict=True)
        differing = tuple(name for name, one, other in pairs if one != other)
        return TableParity(
            table.name, rows_before, rows_after, differing, tuple(each for each in names if each not in compared)
        )

    def _sums(self, table: str, expressions: Sequence[str]) -> list[int]:
        """The number of rows, and a checksum of each expression over all of them, in any order."""
        sums = [f"toString(sum(cityHash64(ifNull(toString({each}), '\\\\N'))))" for each in expressions]
        name = f"{quoted_name(self._copy.database)}.{quoted_name(table)}"
        (row,) = self._connection.rows(f"SELECT {', '.join(['toString(count())', *sums])} FROM {name}")
        return [int(str(each)) for each in row]

    def _types(self, table: str) -> dict[str, str]:
        name = f"{quoted_name(self._copy.database)}.{quoted_name(table)}"
        return {str(row[0]): str(row[1]) for row in self._connection.rows(f"DESCRIBE TABLE {name}")}


def _text(type_name: str) -> str:
    return "'" + type_name.replace("\\", "\\\\").replace("'", "\\'") + "'"
