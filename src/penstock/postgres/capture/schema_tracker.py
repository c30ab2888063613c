"""The schema of each table as its rows in the stream have it.

In: Relation messages, and catalog snapshots of the event trigger where there is one. Out: the `PackageSchema` of the
rows that follow. Invariant: a schema is that of the row's place in the log: from the catalog of now only what cannot
change is taken (what a type is, by its OID), and a fingerprint only if it describes the very same columns.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from penstock.postgres.capture.pgoutput import LogicalMessage, Relation, Row, TypeName
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

    def __init__(self, connection: SourceConnection):
        self._connection = connection
        self._tables: dict[int, TrackedTable] = {}
        self._types: dict[int, str] = {}
        self._snapshots: dict[int, ReplicatedTable] = {}

    def table(self, oid: int) -> TrackedTable | None:
        """The table as the last Relation described it; None if there was none."""
        return self._tables.get(oid)

    def track(self, relation: Relation) -> TrackedTable:
        """What the rows after this message look like. Raises Failed, Unavailable."""
        snapshot = self._snapshots.get(relation.oid)
        if snapshot is None or not _describes(snapshot, relation):
            snapshot = self.read_table(relation.oid)
        names = self._key_names(relation, snapshot)
        columns = tuple(
            PackageColumn(each.name, self._type(each.type_oid), each.typmod, each.name in names)
            for each in relation.columns
        )
        mark = fingerprint(snapshot) if snapshot is not None and _describes(snapshot, relation) else None
        schema = PackageSchema(QualifiedName(relation.schema, relation.name), columns, mark)
        key = tuple(at for at, each in enumerate(columns) if each.is_key)
        tracked = self._tables[relation.oid] = TrackedTable(relation, schema, key)
        return tracked

    def note_type(self, message: TypeName) -> None:
        """A type may have been made anew under its OID only after it was dropped: ask for it again."""
        self._types.pop(message.oid, None)

    def note_message(self, message: LogicalMessage) -> None:
        """Take the catalog snapshot of an event trigger's message; others are passed over."""
        if message.prefix == MESSAGE_PREFIX:
            try:
                table = parse_table(json.loads(message.content)["table"])
            except (ValueError, KeyError, TypeError):
                return  # somebody else's, with our prefix
            self._snapshots[table.oid] = table

    def read_table(self, oid: int) -> ReplicatedTable | None:
        """The table as the catalog describes it now; None if it is gone."""
        with source_errors("read the catalog"):
            cursor = self._connection.cursor()
            cursor.execute(f"SELECT {SNAPSHOT}::text FROM {SOURCE} WHERE {IS_TABLE} AND c.oid = %s::oid", (oid,))
            row = cursor.fetchone()
        return parse_table(json.loads(str(row[0]))) if row is not None else None

    def _key_names(self, relation: Relation, snapshot: ReplicatedTable | None) -> frozenset[str]:
        """The columns by which rows are told from each other: the identity; where that is all columns, the primary key
        of the catalog if it describes these rows, else that of the rows before."""
        if relation.identity != "f":
            return frozenset(each.name for each in relation.columns if each.is_identity)
        if snapshot is not None and {*snapshot.key} <= {each.name for each in relation.columns}:
            return frozenset(snapshot.key)
        former = self._tables.get(relation.oid)
        known = frozenset(each.name for each in former.schema.columns if each.is_key) if former else frozenset()
        return known if known <= {each.name for each in relation.columns} else frozenset()

    def _type(self, oid: int) -> str:
        if oid not in self._types:
            with source_errors("read the catalog"):
                cursor = self._connection.cursor()
                cursor.execute(_BASE_TYPE, (oid,))
                row = cursor.fetchone()
            self._types[oid] = str(row[0]) if row is not None else UNKNOWN_TYPE
        return self._types[oid]


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


def _describes(snapshot: ReplicatedTable, relation: Relation) -> bool:
    """Whether a snapshot has the columns that the stream has."""
    described = [(each.name, each.type.oid) for each in snapshot.columns]
    return described == [(each.name, each.type_oid) for each in relation.columns]
