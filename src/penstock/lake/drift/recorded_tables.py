"""The record of each table as Penstock made it, and the check that the table still is what was recorded.

In: the stored records, and a call for every table that Penstock creates, alters or drops. Out: `TableDrift` values,
or DriftedTable. Invariant: a record holds only changes by Penstock; changes by others are reported, and neither
record nor table is touched.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyiceberg.table import Table as IcebergTable

from penstock.errors import Conflict
from penstock.lake.drift.differences import TableDrift, damaged_table, missing_table, table_differences
from penstock.lake.drift.observed_table import ObservedTable, observe_table
from penstock.lake.tables.physical_tables import DamagedTable
from penstock.model.manifest import REJECTS, SEQ, Field
from penstock.sql.stored_types import spark_type
from penstock.state.made_tables import MadeColumn, MadeTable, MadeTables

_PROMOTED = {"BIGINT": "long", "DOUBLE": "double"}
"""Spark types that a column can be widened to, and Iceberg's names for them; decimals are the third kind."""
CHECK_VALID_SECONDS = 1.0
"""Seconds for which the check of a table is valid for later steps."""
log = logging.getLogger("penstock.lake")


class DriftedTable(Conflict):
    """A table differs from what Penstock made; flows neither write to it nor continue to read it."""

    code = "drifted-table"


class RecordedTables:
    """The records of all tables. Thread-safe, and cached in memory: only the server that owns the store changes them,
    so a process beside it reads them again. `load` gives a table as the catalog has it now."""

    def __init__(self, load: Callable[[str], IcebergTable | None], store: MadeTables):
        self._load_table = load
        self._store = store
        self._tables = {each.id: each for each in store.all()}
        self._unsaved: set[str] = set()
        self._looked: dict[str, tuple[float, tuple[TableDrift, ...]]] = {}
        self._guard = threading.RLock()
        self._changes: dict[str, int] = {}
        """For each table, how often a change began or ended: odd while one is in progress."""
        self._settled = threading.Condition(self._guard)

    def record_created(self, *tables: str) -> None:
        """Record tables that were just created or cloned; all or none is stored. A clone's older snapshots are accepted
        as the original's are."""
        found = {table: now for table in tables if isinstance(now := self._load(table), ObservedTable)}
        uuids = {now.uuid for now in found.values()}
        with self._guard:
            known = [each for each in self._tables.values() if each.uuid in uuids]
        accepted = {uuid: max((each.accepted for each in known if each.uuid == uuid), default=0) for uuid in uuids}
        self._keep(*(_make_record(table, now, accepted[now.uuid]) for table, now in found.items()))

    @contextmanager
    def changing(self, table: str, columns: Collection[str]) -> Iterator[None]:
        """Enclose a change of these columns by Penstock, and record it at the end. A check of the table waits
        until the change has ended, since it would report the change as drift."""
        self._count(table)
        try:
            yield
            self._changed(table, columns)
        finally:
            self._count(table)

    def _count(self, table: str) -> None:
        with self._settled:
            self._changes[table] = self._changes.get(table, 0) + 1
            self._settled.notify_all()

    def _changed(self, table: str, columns: Collection[str]) -> None:
        """Record these columns as they are now; the record of the other columns stays."""
        before, now = self._of(table), self._load(table)
        if before is not None and isinstance(now, ObservedTable):
            others = [each for each in before.columns if each.name not in columns]
            changed = [each for each in now.columns if each.name in columns]
            self._keep(replace(before, columns=_sort_by_id(others + changed)))

    def record_dropped(self, table: str) -> None:
        """Remove the record of a table that Penstock dropped."""
        with self._guard:
            self._looked.pop(table, None)
            if self._tables.pop(table, None) is not None:
                self._unsaved.discard(table)
                self._store.forget(table)

    def column_names(self) -> dict[str, tuple[str, ...]]:
        """By table, the names of its physical columns; also of those that no deployment uses any more, but that are
        still there: a reader may hold them, or a former key."""
        with self._guard:
            return {table: tuple(each.name for each in made.columns) for table, made in self._tables.items()}

    def adopt(self, table: str) -> None:
        """Record, as it is now, a table that a release of Penstock without records created."""
        if self._of(table) is None and isinstance(now := self._load(table), ObservedTable):
            log.info("table %s has no record: recorded as it is, with %d columns", table, len(now.columns))
            self._keep(_make_record(table, now, now.sequence))

    def reconcile(self, table: str, wanted: Mapping[str, Field]) -> None:
        """Record changes by Penstock that a crash left unrecorded: columns that deployments declare and that were added
        or widened to the declared type, and columns that no deployment declares and that were dropped."""
        before, now = self._of(table), self._load(table)
        if before is None or not isinstance(now, ObservedTable) or before.uuid != now.uuid:
            return
        there = {each.id: each for each in now.columns}
        kept = [
            _update_type(each, there.get(each.id), wanted)
            for each in before.columns
            if _is_recorded_still(each, there, wanted)
        ]
        names = {each.name for each in before.columns}
        new = [each for each in now.columns if each.name in wanted and each.name not in names]
        if (columns := _sort_by_id(kept + new)) != before.columns:
            self._keep(replace(before, columns=columns))

    def is_own(self, table: str) -> bool:
        """Whether Penstock may drop the table: not if it was replaced from outside by a table of the same name."""
        made, now = self._of(table), self._load(table)
        return made is None or (isinstance(now, ObservedTable) and now.uuid == made.uuid)

    def is_unsound(self) -> bool:
        """Whether drift has stopped the flows of a recorded table: then files that no table refers to may still be
        needed, to put that table back."""
        with self._guard:
            made = tuple(self._tables)
        return any(each.stops for table in made for each in self.differences(table))

    def differences(self, table: str) -> tuple[TableDrift, ...]:
        """The drift of a table that should exist. A table without a record has drifted only if it is missing."""
        made, now = self._read_both(table)
        if not isinstance(now, ObservedTable):
            return (now,)
        if made is None:
            return ()
        found = table_differences(made, now)
        if now.newest is not None and not any(each.stops for each in found):
            self._saw(table, now.newest.sequence)
        return found

    def _read_both(self, table: str) -> tuple[MadeTable | None, ObservedTable | TableDrift]:
        """The record and the table, both read while no change by Penstock is in progress. The record is read first, so
        the table is never older than the record."""
        while True:
            with self._settled:
                self._settled.wait_for(lambda: self._changes.get(table, 0) % 2 == 0)
                count, made = self._changes.get(table, 0), self._tables.get(table)
            now = self._load(table)
            with self._settled:
                if self._changes.get(table, 0) == count:
                    return made, now

    def verify(self, tables: Iterable[str]) -> None:
        """Raises DriftedTable if flows into or out of one of the tables must stop. The check of a table is valid for
        a second, since the metadata of many snapshots takes a while to read."""
        for table in tables:
            at, found = self._looked.get(table, (float("-inf"), ()))
            if time.monotonic() - at > CHECK_VALID_SECONDS:
                at, found = time.monotonic(), self.differences(table)
                self._looked[table] = at, found
            grave = [each.problem for each in found if each.stops]
            if grave:
                raise DriftedTable(grave[0].message, grave, hint=grave[0].hint)

    def read_again(self, tables: Collection[str]) -> None:
        """Read the records of tables again, which another process may have changed together with the tables."""
        with self._guard:
            for made in self._store.of(tables):
                self._tables[made.id] = _with_newest(made, self._tables.get(made.id))
                self._looked.pop(made.id, None)

    def save(self) -> None:
        """Store the newest snapshot seen of each table, for the next server."""
        with self._guard:
            self._store.keep([self._tables[table] for table in sorted(self._unsaved)])
            self._unsaved.clear()

    def _saw(self, table: str, newest: int) -> None:
        with self._guard:
            made = self._tables.get(table)
            if made is not None and made.newest < newest:
                self._tables[table] = replace(made, newest=newest)
                self._unsaved.add(table)

    def _keep(self, *records: MadeTable) -> None:
        with self._guard:
            newest = [_with_newest(made, self._tables.get(made.id)) for made in records]
            self._store.keep(newest)
            for made in newest:
                self._tables[made.id] = made
                self._looked.pop(made.id, None)
                self._unsaved.discard(made.id)

    def _of(self, table: str) -> MadeTable | None:
        with self._guard:
            return self._tables.get(table)

    def _load(self, table: str) -> ObservedTable | TableDrift:
        try:
            found = self._load_table(table)
        except DamagedTable as error:
            return damaged_table(table, error.why)
        return observe_table(found) if found is not None else missing_table(table)


def _make_record(table: str, now: ObservedTable, accepted: int) -> MadeTable:
    return MadeTable(table, now.uuid, now.columns, accepted, now.newest.sequence if now.newest is not None else 0)


def _with_newest(made: MadeTable, known: MadeTable | None) -> MadeTable:
    """The record with the newest snapshot that is known of the same table."""
    same = known is not None and known.uuid == made.uuid
    return replace(made, newest=max(made.newest, known.newest)) if known is not None and same else made


def _sort_by_id(columns: Sequence[MadeColumn]) -> tuple[MadeColumn, ...]:
    return tuple(sorted(columns, key=lambda column: column.id))


def _is_recorded_still(column: MadeColumn, there: Mapping[int, MadeColumn], wanted: Mapping[str, Field]) -> bool:
    return column.id in there or column.name in wanted or column.name in (SEQ, REJECTS)


def _update_type(column: MadeColumn, now: MadeColumn | None, wanted: Mapping[str, Field]) -> MadeColumn:
    if now is None or column.name not in wanted:
        return column
    return now if now.name == column.name and now.type == _promoted_type(wanted[column.name]) else column


def _promoted_type(field: Field) -> str | None:
    """Iceberg's name of the type that a column may have been widened to; None for types that cannot be widened to."""
    stored = spark_type(field.type).upper()
    return stored.lower().replace(",", ", ").replace("  ", " ") if "DECIMAL" in stored else _PROMOTED.get(stored)
