"""Reads whole tables, part by part, while their changes go on being streamed.

In: the tables of a capture that are to be read. Out: packages of rows at their place. Invariants: every row that was
there when a table's reading began is delivered, unless a later change of it is; of both, the later one has the greater
version. Why: the version V of rows that are read is a place in the log, and they are read once every transaction that
was under way at V is over. A change before V is then seen by the reader. A change behind V has a greater version and
wins, whether the reader saw it or not, and whichever arrives first. While a part is delivered the table is held against
TRUNCATE (ACCESS SHARE), so that one which comes later is behind the part in the stream, too. Rows of a new form are
delivered behind all changes that were made while the table had another one. A part has its own position in the stores,
so that it is stored once; its last key is written down before it is sent.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from penstock.crash_points import crash_point
from penstock.errors import Failed
from penstock.model.cursor import Position
from penstock.postgres.application.delivery_records import latest
from penstock.postgres.capture.records import CapturedTable
from penstock.postgres.capture.schemas.schema_tracker import identity_key, read_table, table_schema
from penstock.postgres.capture.table_delivery import DeliveryContext
from penstock.postgres.capture.table_rows import copy_rows, key_condition, open_reader, own_rows_sql, sql_name
from penstock.postgres.catalog.lsn import parse_lsn
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.schema_form import table_form
from penstock.postgres.delivery.destination import LostRows, lacks
from penstock.postgres.packages.package import PackageRow, RowPackage, begins_reading

PART_ROWS = 5_000
PART_BYTES = 4 * 2**20
log = logging.getLogger("penstock.cdc")


class TableReads:
    """Reads the tables of one capture into one destination."""

    def __init__(self, dsn: str, context: DeliveryContext):
        self._connection = open_reader(dsn)
        self._changes, self._source = context.capture.source, context.capture.read_source
        self._records, self._deliveries = context.records, context.deliveries
        self._destination = context.destination
        self._part_rows: dict[int, int] = {}
        self._forms: dict[int, tuple[str, int]] = {}
        """The form of each table, and a place in the log at which it had it."""

    def close(self) -> None:
        self._connection.close()

    def step(self, table: CapturedTable, received: int, sent: Position | None) -> bool:
        """Read and deliver one part, or begin, or end. `received` is the LSN up to which all changes are received,
        `sent` where those of the table are that were sent. Returns whether something was done. Raises what delivering
        raises; then the same part is read again."""
        read = table.read
        if read.done:
            return False
        if read.version is None or read.wait is None:
            self._records.begin_read(table)
            log.info("reading %s begins", table.name)
            return True
        if not self._records.is_over(read.wait) or received < self._forms.get(table.oid, ("", 0))[1]:
            return False
        if read.upto is not None and self._is_stored(table):
            self._records.finish_part(table, 0)
            return True
        return self._deliver_part(table, sent)

    def _is_stored(self, table: CapturedTable) -> bool:
        """Whether the part that was under way is in the store."""
        stored = self._delivered(table)[0]
        return stored is not None and stored[0] == table.read.version and stored[2] >= table.read.part

    def _delivered(self, table: CapturedTable) -> tuple[Position | None, Position | None]:
        """Up to where the rows of its readings are at the destination, and were sent; all that is in some broker
        counts."""
        stored = self._destination.position(self._source, table.store)
        sent = self._deliveries.sent(table.store).get(self._source)
        return latest(stored, sent) if self._destination.is_broker else stored, sent

    def _deliver_part(self, table: CapturedTable, changes: Position | None) -> bool:
        connection = self._connection
        connection.autocommit = False
        try:
            found = self._hold(table)
            if found is not None and self._has_new_form(found):
                return True
            rows = self._read_rows(table, found) if found is not None else []
            if found is not None and rows:
                package = self._package(table, found, rows)
                behind = (self._changes, changes) if changes is not None else None
                self._deliver(table, replace(package, behind=behind))
            elif found is not None and table.read.upto is not None:
                self._records.finish_part(table, 0)  # its rows are gone; what is behind it follows
            else:
                self._records.finish_read(table)
                log.info("reading %s is over: %d rows", table.name, table.read.rows)
        finally:
            with suppress(Exception):
                connection.rollback()
            connection.autocommit = True
        return True

    def _hold(self, table: CapturedTable) -> ReplicatedTable | None:
        """The table as it is now, which stays so until the transaction ends; None: it is gone."""
        before = read_table(self._connection, table.oid)
        if before is None:
            return None
        copy_rows(self._connection, f"SELECT 1 FROM {own_rows_sql(before)} LIMIT 0", ())  # takes ACCESS SHARE
        found = read_table(self._connection, table.oid)
        if found is not None and not identity_key(found):
            raise Failed(f"{table.name} has no key any more, by which it is read", hint="give it a primary key")
        return found

    def _has_new_form(self, found: ReplicatedTable) -> bool:
        """Whether a table has another form than before; then it is noted where in the log it has this one."""
        form = table_form(found)
        if self._forms.get(found.oid, ("", 0))[0] == form:
            return False
        self._forms[found.oid] = (form, self._place())
        return True

    def _place(self) -> int:
        """Where the log is now."""
        rows = copy_rows(self._connection, "SELECT pg_catalog.pg_current_wal_insert_lsn()", ())
        return parse_lsn(str(rows[0][0]))

    def _read_rows(self, table: CapturedTable, found: ReplicatedTable) -> list[tuple[str | None, ...]]:
        key, read = identity_key(found), table.read
        given = [(value, sign) for value, sign in ((read.after, ">"), (read.upto, "<=")) if value is not None]
        wheres = " AND ".join(key_condition(key, sign) for _, sign in given) or "true"
        columns, order = ", ".join(sql_name(each.name) for each in found.columns), ", ".join(map(sql_name, key))
        limit = "" if read.upto is not None else f" LIMIT {self._part_rows.get(table.oid, PART_ROWS)}"
        text = f"SELECT {columns} FROM {own_rows_sql(found)} WHERE {wheres} ORDER BY {order}{limit}"
        rows = copy_rows(self._connection, text, [each for value, _ in given for each in value])
        size = sum(len(value or "") for row in rows for value in row) // max(len(rows), 1)
        self._part_rows[table.oid] = max(1, min(PART_ROWS, PART_BYTES // max(size, 1)))
        return rows

    def _package(
        self, table: CapturedTable, found: ReplicatedTable, rows: Sequence[tuple[str | None, ...]]
    ) -> RowPackage:
        """The next part; its end is written down."""
        read, version, schema = table.read, table.read.version, table_schema(found)
        assert version is not None, "reading has begun"
        part = read.part if read.upto is not None else read.part + 1
        if read.upto is None:
            last = dict(zip(schema.names, rows[-1], strict=True))
            self._records.intend_part(table, part, [str(last[each]) for each in identity_key(found)])
        crash_point("cdc.part-intended")
        made = tuple(PackageRow((version, 0, part, at), version, "read", row) for at, row in enumerate(rows))
        # The table is held: it has this form at this place, too.
        return RowPackage(self._source, table.store, schema, made[-1].position, made, as_of=self._place())

    def _deliver(self, table: CapturedTable, package: RowPackage) -> None:
        stored, sent = self._delivered(table)
        if sent is not None and lacks(stored, sent) and not begins_reading(package):
            raise LostRows(table.store, stored, sent)
        aside = self._destination.deliver(package.following(stored)).set_aside
        crash_point("cdc.part-delivered")
        self._deliveries.note_sent([((table.store, self._source), package.upto)])
        self._records.finish_part(table, len(package.rows))
        if aside:
            self._records.note_set_aside(table, aside)
