"""The catalog's description of a table as JSON: the SQL that Postgres makes it with, and its reader.

In: a document that `SNAPSHOT` made, read by a connection or sent by the event trigger in the stream. Out: a
`ReplicatedTable`. Invariant: reader, observer and event trigger all use this one SQL, reader and observer with the
settings that `source_connection` gives, so that a type or default is never spelt in two ways.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from penstock.postgres.catalog.replicated_table import (
    EnumLabel,
    QualifiedName,
    ReplicaIdentity,
    ReplicatedColumn,
    ReplicatedTable,
    ReplicatedType,
)

Document: TypeAlias = Mapping[str, Any]
_LABELS = """(SELECT json_agg(json_build_object('oid', e.oid::int8, 'label', e.enumlabel) ORDER BY e.enumsortorder)
  FROM pg_catalog.pg_enum e WHERE e.enumtypid = {of})"""
_COLUMN = f"""json_build_object(
  'attnum', a.attnum, 'name', a.attname, 'not_null', a.attnotnull OR t.typnotnull,
  'type', pg_catalog.format_type(a.atttypid, NULL), 'type_oid', a.atttypid::int8, 'typmod', a.atttypmod,
  'base', CASE WHEN t.typtype = 'd' THEN pg_catalog.format_type(t.typbasetype, NULL) END,
  'base_oid', t.typbasetype::int8, 'base_typmod', t.typtypmod,
  'labels', {_LABELS.format(of="CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE a.atttypid END")},
  'default', pg_catalog.pg_get_expr(d.adbin, d.adrelid), 'mark', a.xmin::text,
  'old_value', CASE WHEN a.atthasmissing THEN (a.attmissingval::text::text[])[1] END)"""
_COLUMNS = f"""(SELECT json_agg({_COLUMN} ORDER BY a.attnum)
  FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_catalog.pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '')"""
_GENERATED = """(SELECT json_agg(a.attnum ORDER BY a.attnum) FROM pg_catalog.pg_attribute a
  WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> '')"""
_INDEX_COLUMNS = """(SELECT json_agg(a.attname ORDER BY k.place)
  FROM pg_catalog.pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, place), pg_catalog.pg_attribute a
  WHERE i.indrelid = c.oid AND {which} AND k.place <= i.indnkeyatts AND a.attrelid = c.oid AND a.attnum = k.attnum)"""
SNAPSHOT = f"""json_build_object(
  'oid', c.oid::int8, 'schema', n.nspname, 'name', c.relname, 'relfilenode', c.relfilenode::int8,
  'partitioned', c.relkind = 'p', 'replica_identity', c.relreplident,
  'key', {_INDEX_COLUMNS.format(which="i.indisprimary")},
  'index', {_INDEX_COLUMNS.format(which="i.indisreplident")},
  'last', c.relnatts, 'generated', {_GENERATED},
  'columns', {_COLUMNS})"""
"""SQL of the document of a table: `c` is its row of pg_class, `n` that of pg_namespace."""
SOURCE = "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace"
IS_TABLE = "c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence = 'p'"
"""Partitions are parts of their root, and temporary and unlogged tables are not replicated."""
_IDENTITIES: dict[str, ReplicaIdentity] = {"d": "default", "f": "full", "n": "nothing", "i": "index"}


def parse_table(document: Document) -> ReplicatedTable:
    """The table that a document describes. Columns get their typmod from the domain, where the type is one."""
    columns = tuple(map(_column, document["columns"] or ()))
    replica = _IDENTITIES[document["replica_identity"]]
    key, index = tuple(document["key"] or ()), tuple(document["index"] or ())
    every = tuple(each.name for each in columns)
    identity = {"default": key, "full": every, "nothing": (), "index": index}[replica]
    return ReplicatedTable(
        document["oid"],
        QualifiedName(document["schema"], document["name"]),
        columns,
        key,
        replica,
        identity,
        document["relfilenode"],
        document["partitioned"],
        document.get("last", 0),
        frozenset(document.get("generated") or ()),
    )


def _column(document: Document) -> ReplicatedColumn:
    return ReplicatedColumn(
        document["attnum"],
        document["name"],
        _type(document),
        document["not_null"],
        document["default"],
        document["old_value"],
        document.get("mark"),
    )


def _type(document: Document) -> ReplicatedType:
    found = document["labels"]
    labels = tuple(EnumLabel(each["oid"], each["label"]) for each in found) if found else None
    if document["base"] is None:
        return ReplicatedType(document["type"], document["typmod"], document["type_oid"], labels=labels)
    base = ReplicatedType(document["base"], document["base_typmod"], document["base_oid"], labels=labels)
    return ReplicatedType(document["type"], -1, document["type_oid"], base)
