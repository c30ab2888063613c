"""Iceberg tags that keep a snapshot from expiring while a history is read from it.

In: a table, a snapshot and the flow that reads it. Out: an Iceberg tag, or its removal. Invariant: the tag exists
from before the first slice is read until the last one is committed; setting and removing it can both be repeated.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Collection

from py4j.protocol import Py4JJavaError

from penstock.crash_points import reached
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables import physical_tables
from penstock.sql.spark_text import quote_identifier

TAG_PREFIX = "penstock_"
MAX_TRIES = 20
RETENTION_DAYS = 100 * 365
"""Days: an Iceberg tag has an age, after which expiry drops it."""


def tag_snapshot(lake: Lake, table: str, snapshot: int, reader: tuple[str, str]) -> None:
    """Let the snapshot stay while `reader` (its target and flow) reads it."""
    name = tag_name(reader)
    clause = f"CREATE TAG IF NOT EXISTS {quote_identifier(name)} AS OF VERSION {snapshot} RETAIN {RETENTION_DAYS} DAYS"
    if name not in list_tags(lake, table):
        _alter_tags(lake, f"ALTER TABLE {qualified_table(table)} {clause}")


def release_tag(lake: Lake, table: str, reader: tuple[str, str]) -> None:
    """The reader needs it no longer."""
    drop_tags_except(lake, table, set(list_tags(lake, table)) - {tag_name(reader)})


def drop_tags_except(lake: Lake, table: str, names: Collection[str]) -> None:
    """Drop the tags of ours that are not among these names (see `name_of`)."""
    for name in sorted(set(list_tags(lake, table)) - set(names)):
        _alter_tags(lake, f"ALTER TABLE {qualified_table(table)} DROP TAG IF EXISTS {quote_identifier(name)}")


def list_tags(lake: Lake, table: str) -> tuple[str, ...]:
    """The tags of ours that a table has."""
    found = physical_tables.load_table(lake, table)
    return tuple(sorted(name for name in found.metadata.refs if name.startswith(TAG_PREFIX))) if found else ()


def tag_name(reader: tuple[str, str]) -> str:
    """The tag of a reader. Flow ids hold characters that a tag may not."""
    return TAG_PREFIX + hashlib.blake2b("\0".join(reader).encode(), digest_size=12).hexdigest()


def _alter_tags(lake: Lake, sql: str) -> None:
    """Changes of tags are not rebased on appends that come between (apache/iceberg#8254): try again."""
    for attempt in range(MAX_TRIES):
        reached("lake.before")
        try:
            lake.spark.sql(sql)
        except Py4JJavaError as error:
            if attempt == MAX_TRIES - 1 or "CommitFailedException" not in str(error.java_exception):
                raise
            time.sleep(random.uniform(0.0, 0.2))
        else:
            reached("lake.after")
            return
