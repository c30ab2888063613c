"""Iceberg tags that keep a snapshot from expiring while a history is read from it.

In: a table, a snapshot and the flow that reads it. Out: an Iceberg tag, or its removal. Invariant: the tag exists
before the first slice is read, and until the last slice is committed; setting and removing it can both be repeated.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.sql.spark_text import quote_identifier

TAG_PREFIX = "penstock_"
RETENTION_DAYS = 100 * 365
"""Age in days after which snapshot expiry may drop a tag; Iceberg has no unlimited one."""


def tag_snapshot(lake: Lake, table: str, snapshot: int, reader: tuple[str, str]) -> None:
    """Keep the snapshot from expiring while `reader` (a pair of target table and flow) reads it."""
    name = tag_name(reader)
    clause = f"CREATE TAG IF NOT EXISTS {quote_identifier(name)} AS OF VERSION {snapshot} RETAIN {RETENTION_DAYS} DAYS"
    if name not in list_tags(lake, table):
        physical_tables.run_ddl(lake, f"ALTER TABLE {qualified_table(table)} {clause}")


def release_tag(lake: Lake, table: str, reader: tuple[str, str]) -> None:
    """Remove the tag of a reader that is done."""
    drop_tags_except(lake, table, set(list_tags(lake, table)) - {tag_name(reader)})


def drop_tags_except(lake: Lake, table: str, names: Collection[str]) -> None:
    """Drop Penstock's tags whose names (see `tag_name`) are not in `names`."""
    for name in sorted(set(list_tags(lake, table)) - set(names)):
        physical_tables.run_ddl(
            lake, f"ALTER TABLE {qualified_table(table)} DROP TAG IF EXISTS {quote_identifier(name)}"
        )


def list_tags(lake: Lake, table: str) -> tuple[str, ...]:
    """The names of Penstock's tags on a table."""
    found = physical_tables.load_table(lake, table)
    return tuple(sorted(name for name in found.metadata.refs if name.startswith(TAG_PREFIX))) if found else ()


def tag_name(reader: tuple[str, str]) -> str:
    """The tag name of a reader: a hash, since flow ids contain characters that a tag may not."""
    return TAG_PREFIX + hashlib.blake2b("\0".join(reader).encode(), digest_size=12).hexdigest()
