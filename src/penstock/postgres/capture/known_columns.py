"""Which column of the catalog (attnum) the stores have under each name, and which are their key; and what becomes of a
table whose names passed to other columns although no migration says so, or whose key did.

In: descriptions of the tables, and rows as they come. Out: tables that are read again, or an error that stops one.
Invariants: rows that a store has under the name of another column are read again at a later place in the log, so that
they do not stay; of a table whose rows cannot be read again none is delivered from behind such a change. Both are
written down before a row from behind it is confirmed. A change that was announced as a stop is the migration's.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.errors import Conflict
from penstock.postgres.application.change_stop import ChangeStop
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.records import CapturedTable, CaptureRecords
from penstock.postgres.capture.schemas.column_numbers import ColumnNumbers, TableDescription, column_numbers, describes
from penstock.postgres.capture.schemas.schema_tracker import TrackedTable, identity_key
from penstock.postgres.capture.schemas.table_descriptions import TableDescriptions
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.lsn import lsn_text, parse_lsn
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.schema_form import schema_form, table_form
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries
from penstock.postgres.catalog.store_types import LANDING_COLUMNS

TABLE = f"{OWN_SCHEMA}.known_columns"
DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  capture text NOT NULL, oid int8 NOT NULL, form text NOT NULL, former text NOT NULL, names json NOT NULL,
  lsn pg_lsn NOT NULL, stops text[] NOT NULL, key json, PRIMARY KEY (capture, oid),
  FOREIGN KEY (capture, oid) REFERENCES {OWN_SCHEMA}.captured_tables ON DELETE CASCADE);
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_attribute
    WHERE attrelid = '{TABLE}'::regclass AND attname = 'key') THEN
    ALTER TABLE {TABLE} ADD COLUMN key json;
  END IF;
END $$;
"""
# What is known of a former capture of the table is not written over that of the one that there is now.
_SAVE = f"""WITH saved AS (
    INSERT INTO {TABLE} (capture, oid, form, former, names, lsn, stops, key)
    SELECT capture, oid, %s, %s, %s, %s::pg_lsn, %s, %s FROM {OWN_SCHEMA}.captured_tables
    WHERE capture = %s AND oid = %s AND since IS NOT DISTINCT FROM %s::pg_lsn FOR KEY SHARE
    ON CONFLICT (capture, oid) DO UPDATE SET form = excluded.form, former = excluded.former, names = excluded.names,
      lsn = excluded.lsn, stops = excluded.stops, key = excluded.key RETURNING 1)
  UPDATE {OWN_SCHEMA}.captured_tables SET read_version = NULL, read_done = false
  WHERE capture = %s AND oid = %s AND read_version <= %s::pg_lsn AND NOT insert_only AND EXISTS (SELECT FROM saved)
  RETURNING 1"""
NO_COLUMN = 0
"""Under a name which no column has that the store knows it by."""
log = logging.getLogger("penstock.cdc")


class MovedColumns(Conflict):
    """Names passed to other columns, no migration says so, and the rows of before cannot be read again."""

    code = "moved-columns"

    def __init__(self, table: CapturedTable):
        super().__init__(
            f"columns of {table.name} have other names than the rows that the store has, no migration says so, and a "
            "capture of inserted rows only does not read them again",
            hint=f"put these rows right in the store, then `penstock cdc accept {table.name}`",
        )


class ChangedKey(Conflict):
    """Rows are told from each other by other columns than in the stores: a row that ends or changes would not be found
    there."""

    code = "changed-key"

    def __init__(self, table: CapturedTable, before: Collection[str], now: Collection[str]):
        super().__init__(
            f"rows of {table.name} are told from each other by {_listed(now)}, and those that the store has by "
            f"{_listed(before)}",
            hint=f"empty the table in the store and sort it by {_listed(now)}, then `penstock cdc remove` and "
            f"`cdc add` read it anew; or put its rows right there, then `penstock cdc accept {table.name}`",
        )


class ReservedLandingColumn(Conflict):
    """A column of the table is called as one of the landing's own, which would take the place of its values."""

    code = "reserved-column"

    def __init__(self, table: CapturedTable, name: str):
        super().__init__(
            f"{table.name} has a column `{name}`, which is a name of the landing's own columns: its rows wait",
            hint=f"rename it, then `penstock cdc remove {table.name}`, empty the table in the store and `cdc add` it",
        )


@dataclass(frozen=True, slots=True)
class KnownKey:
    """The columns by which the stores tell the rows of a table from each other."""

    columns: Mapping[str, int]
    """By the names that they had then, their attnums."""
    lsn: int
    """From where in the log on. Rows from before it are those of a former capture, or were put right by hand."""

    def is_other(self, columns: Mapping[str, int | None]) -> bool:
        """Whether these columns are neither by their names nor by their attnums those of the key. Without any, rows are
        only inserted."""
        if not columns or not self.columns:
            return False
        return {*columns} != {*self.columns} and {*columns.values()} != {*self.columns.values()}


def key_columns(table: ReplicatedTable) -> dict[str, int]:
    """The columns by which rows of a table are told from each other, with their attnums."""
    names = identity_key(table)
    return {each.name: each.attnum for each in table.columns if each.name in names}


def _key_of(description: TableDescription) -> KnownKey:
    return KnownKey(key_columns(description.table), description.seen)


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What the stores have of a table."""

    form: str
    """Of the rows that come now …"""
    former: str
    """… and of those that came before the last change of it."""
    names: Mapping[str, int]
    """The attnum of the column that they have under each name; also of names that no column has any more."""
    lsn: int
    """Where this was seen in the log."""
    stops: frozenset[str] = frozenset()
    """The stops that have said so before: the next change needs another one."""
    key: KnownKey | None = None
    """None: it is not known yet."""

    def moved(self, table: ReplicatedTable) -> tuple[str, ...]:
        """The names under which the store has another column, or not the values of a column that it has."""
        return self.moved_of({each.name: each.attnum for each in table.columns})

    def moved_of(self, columns: Mapping[str, int | None]) -> tuple[str, ...]:
        """The same, of columns by their names; None: nobody knows which one it is."""
        known = {*self.names.values()}
        return tuple(
            name
            for name, at in columns.items()
            if at is None or (self.names[name] != at if name in self.names else at in known)
        )

    def following(self, description: TableDescription, stops: Collection[str]) -> KnownTable:
        """The same after a change."""
        now = {each.name: each.attnum for each in description.table.columns}
        there = {*now.values()}
        before = {name: NO_COLUMN if at in there else at for name, at in self.names.items()}
        form = table_form(description.table)
        key = self.key or _key_of(description)
        return KnownTable(form, self.form, before | now, description.seen, self.stops.union(stops), key)


@dataclass
class _Rows:
    """The rows of a table since its last Relation."""

    tracked: TrackedTable
    numbers: ColumnNumbers
    are_moved: bool
    read_again: set[int] = field(default_factory=set)
    """The versions of readings that were too early."""


class KnownColumns:
    """The tables of one capture. `stores` are those that the rows go to; None: it is not known which. Its methods raise
    Failed and Unavailable."""

    def __init__(
        self,
        connection: SourceConnection,
        capture: str,
        descriptions: TableDescriptions,
        stores: Collection[str] | None,
    ):
        self.connection, self.descriptions = connection, descriptions
        self._capture, self._stores = capture, stores
        self._records = CaptureRecords(connection, capture)
        self._known = load_known(connection, capture)
        self.is_outdated = False
        """Whether a table was removed: what is known here of it, and how it was described, is of its former capture."""
        self._looked: dict[int, TableDescription] = {}
        self._checked: dict[int, _Rows] = {}

    def look(self, tables: Collection[CapturedTable]) -> None:
        """See how the tables are described by now, and let those be read again whose names passed to other columns."""
        stored = load_known(self.connection, self._capture)
        former = [each for each in tables if self.descriptions.is_of_former(each.oid, each.since)]
        self.is_outdated = bool(former) or not self._known.keys() <= stored.keys()
        if self.is_outdated:
            return
        self._known = stored
        for table in tables:
            now = self.descriptions.last(table.oid)
            if now is None or now is self._looked.get(table.oid):
                continue
            known = self._known.get(table.oid)
            if known is None:
                first = self.descriptions.first(table.oid) or now
                made = KnownTable(table_form(first.table), table_form(first.table), {}, 0).following(first, ())
                self._save(table, made, 0)
            elif known.key is None:  # it was set up before keys were known
                self._save(table, replace(known, key=_key_of(now)), 0)
            if self._follow(table, now):
                self._looked[table.oid] = now

    def check_rows(self, table: CapturedTable, tracked: TrackedTable, lsn: int) -> None:
        """Look at a row before it is delivered, which is at a place in the log: if the store has other columns under
        these names its table is read again from behind it. Raises ChangedKey, ReservedLandingColumn,
        and MovedColumns where that cannot be."""
        rows = self._checked.get(table.oid)
        if rows is None or rows.tracked is not tracked:
            _check_names(table, tracked.schema.names)
            numbers = self._numbers(tracked, lsn)
            rows = self._checked[table.oid] = _Rows(tracked, numbers, self._are_moved(table, tracked, (lsn, numbers)))
        known = self._known.get(table.oid)
        if known is not None and known.key is not None and known.key.lsn <= lsn:
            key = {tracked.schema.columns[at].name: rows.numbers[at] for at in tracked.key}
            _check_key(table, known.key, key)
        if not rows.are_moved:
            return
        if table.insert_only:
            raise MovedColumns(table)
        version = table.read.version
        if version is not None and version <= lsn and version not in rows.read_again:
            rows.read_again.add(version)
            self._records.read_later(table, lsn)

    def check_reading(self, table: CapturedTable) -> None:
        """Look at a table before rows of it are read. Raises ChangedKey, ReservedLandingColumn."""
        now, known = self.descriptions.last(table.oid), self._known.get(table.oid)
        if now is not None:
            _check_names(table, [each.name for each in now.table.columns])
        if now is not None and known is not None and known.key is not None:
            _check_key(table, known.key, key_columns(now.table))

    def _follow(self, table: CapturedTable, now: TableDescription) -> bool:
        """Take a description over. Returns whether that was done: it waits where rows cannot be read again."""
        known = self._known[table.oid]
        moved, form = known.moved(now.table), table_form(now.table)
        declaring = [_name(each) for each in self._stops() if form in each.after and (each.is_sure or not each.is_done)]
        if moved and known.stops.issuperset(declaring):
            if table.insert_only:
                return False
            named = ", ".join(moved)
            log.warning("%s: %s became other columns, and no migration says so: it is read again", table.name, named)
            self._save(table, known.following(now, ()), now.seen)
        elif moved or form != known.form:
            self._save(table, known.following(now, declaring), 0)
        return True

    def _are_moved(self, table: CapturedTable, tracked: TrackedTable, at: tuple[int, ColumnNumbers]) -> bool:
        """Whether rows of the stream, at a place in the log and with the attnums of their columns, may stay in the
        store under the names of other columns."""
        known, (lsn, numbers) = self._known.get(table.oid), at
        form = schema_form(tracked.schema.table, ((each.name, each.type) for each in tracked.schema.columns))
        if known is None or (form == known.former and lsn < known.lsn):
            return False
        columns = {shown.name: number for shown, number in zip(tracked.relation.columns, numbers, strict=True)}
        if not known.moved_of(columns):
            return False
        return not any(form in each.before or form in each.after for each in self._stops())

    def _numbers(self, tracked: TrackedTable, lsn: int) -> ColumnNumbers:
        """The attnums of the columns of rows at a place in the log; None: nobody knows."""
        relation = tracked.relation
        before = self.descriptions.before(relation.oid, lsn)
        if before is None or not before.is_followed or not describes(before.table, relation):
            self.descriptions.look([relation.oid])
        before, after = self.descriptions.before(relation.oid, lsn), self.descriptions.after(relation.oid, lsn)
        numbers = column_numbers(relation, before, after or before)
        for each in (before, after):  # what nobody saw otherwise
            if each is not None and None in numbers and describes(each.table, relation):
                numbers = tuple(column.attnum for column in each.table.columns)
        return numbers

    def _stops(self) -> list[ChangeStop]:
        records = StopRecords(self.connection)
        return records.of_stores(self._stores if self._stores is not None else records.stores())

    def _save(self, table: CapturedTable, known: KnownTable, read_again: int) -> None:
        """Write it down; a table that was read before an LSN is read again."""
        _save_known(self.connection, (self._capture, table), known, read_again)
        self._known[table.oid] = known


def _check_names(table: CapturedTable, names: Collection[str]) -> None:
    for each in sorted(LANDING_COLUMNS.intersection(names)):
        raise ReservedLandingColumn(table, each)


def _check_key(table: CapturedTable, known: KnownKey, key: Mapping[str, int | None]) -> None:
    if not table.insert_only and known.is_other(key):
        raise ChangedKey(table, known.columns, key)


def load_known(connection: SourceConnection, capture: str) -> dict[int, KnownTable]:
    """What the stores of a capture have of each table, by its OID. Raises Failed, Unavailable."""
    statement = f"SELECT oid, form, former, names::text, lsn::text, stops, key::text FROM {TABLE} WHERE capture = %s"
    return {
        oid: KnownTable(form, former, json.loads(names), parse_lsn(lsn), frozenset(stops), _parse_key(key))
        for oid, form, former, names, lsn, stops, key in _rows(connection, statement, capture)
    }


def accept_columns(connection: SourceConnection, capture: str, table: CapturedTable) -> bool:
    """Somebody has put the rows of a table right in the store: they have the names and the key of now. Returns whether
    there was something to accept. Raises Failed, Unavailable."""
    known = load_known(connection, capture).get(table.oid)
    descriptions = TableDescriptions(connection, capture)
    descriptions.load()
    descriptions.look([table.oid])
    now = descriptions.last(table.oid)
    if known is None or now is None:
        return False
    key = _key_of(now)
    if not known.moved(now.table) and (known.key is None or not known.key.is_other(key.columns)):
        return False
    _save_known(connection, (capture, table), replace(known.following(now, ()), key=key), 0)
    return True


def _save_known(
    connection: SourceConnection, of: tuple[str, CapturedTable], known: KnownTable, read_again: int
) -> None:
    """Write down what the stores of a capture have of a table; one that was read before an LSN is read again."""
    capture, table = of
    names, key = json.dumps(known.names), known.key and json.dumps([known.key.columns, lsn_text(known.key.lsn)])
    values = (known.form, known.former, names, lsn_text(known.lsn), sorted(known.stops), key)
    since = lsn_text(table.since) if table.since is not None else None
    _rows(connection, _SAVE, *values, capture, table.oid, since, capture, table.oid, lsn_text(read_again))


def _parse_key(text: str | None) -> KnownKey | None:
    if text is None:
        return None
    columns, lsn = json.loads(text)
    return KnownKey(columns, parse_lsn(lsn))


def _listed(names: Collection[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)


def _name(stop: ChangeStop) -> str:
    return f"{stop.store} {stop.migration}"


def _rows(connection: SourceConnection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    return SourceQueries(connection, "worked on the columns that the stores know").rows(statement, *values)
