"""The schema of each table as its rows in the stream have it.

In: Relation messages, and catalog snapshots of the event trigger where there is one. Out: the `PackageSchema` of the
rows that follow. Invariant: a schema is that of the row's place in the log: from the catalog of now only what cannot
change is taken (what a type is, by its OID), and a fingerprint only if it describes the very same columns.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from penstock.postgres.capture.schemas.column_numbers import TableDescription, column_numbers, describes
from penstock.postgres.capture.schemas.table_descriptions import TableDescriptions
from penstock.postgres.capture.stream.pgoutput import LogicalMessage, Relation, Row, TypeName
from penstock.postgres.catalog.fingerprint import fingerprint
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, source_errors
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE, parse_table
from penstock.postgres.packages.package import PackageColumn, PackageSchema

MESSAGE_PREFIX = "penstock"
"""Of the messages that our event trigger writes into the log."""
UNKNOWN_TYPE = "text"
"""What a type is taken for that was dropped meanwhile: its values are texts."""
_BASE_TYPE = """WITH RECURSIVE based AS (
  SELECT t.oid, t.typtype, t.typbasetype FROM pg_catalog.pg_type t WHERE t.oid = %s::oid
  UNION ALL SELECT t.oid, t.typtype, t.typbasetype FROM pg_catalog.pg_type t JOIN based b ON t.oid = b.typbasetype
  WHERE b.typtype = 'd')
SELECT pg_catalog.format_type(oid, NULL) FROM based WHERE typtype <> 'd'"""


@dataclass(frozen=True, slots=True)
class TrackedTable:
    """A table as the stream describes it now."""

    relation: Relation
    schema: PackageSchema
    key: tuple[int, ...]
    """The places of the columns by which its rows are told from each other; empty: they are not."""

    def key_of(self, row: Row) -> tuple[object, ...]:
        return tuple(row[at] for at in self.key)


class SchemaTracker:
    """The tables of a stream."""

    def __init__(self, connection: SourceConnection, descriptions: TableDescriptions):
        self._connection, self.descriptions = connection, descriptions
        self._relations: dict[int, Relation] = {}
        self._tables: dict[int, TrackedTable] = {}
        self._types: dict[int, str] = {}

    def table(self, oid: int, lsn: int) -> TrackedTable | None:
        """The table of a row at this place in the log, as the last Relation described it; None if there was none.
        Raises Failed, Unavailable."""
        relation = self._relations.get(oid)
        found = self._tables.get(oid)
        if relation is not None and (found is None or found.relation is not relation):
            found = self._tables[oid] = self._tracked(relation, lsn)
        return found

    def track(self, relation: Relation) -> None:
        """What the rows after this message look like."""
        self._relations[relation.oid] = relation

    def note_type(self, message: TypeName) -> None:
        """A type may have been made anew under its OID only after it was dropped: ask for it again."""
        self._types.pop(message.oid, None)

    def note_message(self, message: LogicalMessage) -> None:
        """Take the catalog snapshot of an event trigger's message; others are passed over. Raises Failed,
        Unavailable."""
        if message.prefix == MESSAGE_PREFIX:
            with suppress(ValueError, KeyError, TypeError):  # somebody else's, with our prefix
                self.descriptions.note_message(json.loads(message.content)["table"], message.lsn)

    def type_name(self, oid: int) -> str:
        """The name of a type; of a domain that of the type it is based on. Raises Failed, Unavailable."""
        if oid not in self._types:
            with source_errors("read the catalog"):
                cursor = self._connection.cursor()
                cursor.execute(_BASE_TYPE, (oid,))
                row = cursor.fetchone()
            self._types[oid] = str(row[0]) if row is not None else UNKNOWN_TYPE
        return self._types[oid]

    def _tracked(self, relation: Relation, lsn: int) -> TrackedTable:
        before, after = self.descriptions.before(relation.oid, lsn), self.descriptions.after(relation.oid, lsn)
        if before is not None and before.is_followed and describes(before.table, relation):
            snapshot: ReplicatedTable | None = before.table
        else:
            snapshot = read_table(self._connection, relation.oid)
        names = self._key_names(relation, snapshot, before, after)
        columns = tuple(
            PackageColumn(each.name, self.type_name(each.type_oid), each.typmod, each.name in names)
            for each in relation.columns
        )
        mark = fingerprint(snapshot) if snapshot is not None and describes(snapshot, relation) else None
        schema = PackageSchema(QualifiedName(relation.schema, relation.name), columns, mark)
        return TrackedTable(relation, schema, tuple(at for at, each in enumerate(columns) if each.is_key))

    def _key_names(
        self,
        relation: Relation,
        snapshot: ReplicatedTable | None,
        before: TableDescription | None,
        after: TableDescription | None,
    ) -> frozenset[str]:
        """The columns by which rows are told from each other: the identity; where that is all columns, the primary key
        of before, else that of the catalog if it describes these rows, else that of the rows before."""
        if relation.identity != "f":
            return frozenset(each.name for each in relation.columns if each.is_identity)
        there = {each.name for each in relation.columns}
        if before is not None and (found := _former_key(relation, before, after)):
            return found
        if snapshot is not None and {*snapshot.key} <= there:
            return frozenset(snapshot.key)
        former = self._tables.get(relation.oid)
        known = frozenset(each.name for each in former.schema.columns if each.is_key) if former else frozenset()
        return known if known <= there else frozenset()


def read_table(connection: SourceConnection, oid: int) -> ReplicatedTable | None:
    """The table as the catalog describes it now; None if it is gone. Raises Failed, Unavailable."""
    with source_errors("read the catalog"):
        cursor = connection.cursor()
        cursor.execute(f"SELECT {SNAPSHOT}::text FROM {SOURCE} WHERE {IS_TABLE} AND c.oid = %s::oid", (oid,))
        row = cursor.fetchone()
    return parse_table(json.loads(str(row[0]))) if row is not None else None


def table_schema(table: ReplicatedTable) -> PackageSchema:
    """The schema of rows that are read from a table."""
    names = identity_key(table)
    columns = tuple(
        PackageColumn(each.name, each.type.stored.name, each.type.typmod, each.name in names) for each in table.columns
    )
    return PackageSchema(table.name, columns, fingerprint(table))


def identity_key(table: ReplicatedTable) -> tuple[str, ...]:
    """The columns by which its rows are told from each other, in the order of their index."""
    return table.identity if table.replica_identity == "index" else table.key


def _former_key(relation: Relation, before: TableDescription, after: TableDescription | None) -> frozenset[str]:
    """The columns that were the primary key before, by the names that they have here; empty if they are not known."""
    known = before.table.by_attnum()
    key = [at for at, each in known.items() if each.name in before.table.key]
    # Where nothing was noted since, it is as it was before: what was done meanwhile would have been looked at.
    numbers = column_numbers(relation, before, after or before)
    names = [shown.name for shown, at in zip(relation.columns, numbers, strict=True) if at in key]
    return frozenset(names) if len(names) == len(key) else frozenset()
