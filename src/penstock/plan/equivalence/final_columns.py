"""Which columns of a source count for a view that reads it with FINAL.

In: a source of a view, and the columns that the view's SQL reads. Out: bound columns. Invariant: what the view gets
depends on the columns that are returned alone: the ones that it reads, and those by which FINAL chooses rows.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.model.manifest import BoundColumn, Source
from penstock.model.merge_rule import Replacing
from penstock.sql.spark_text import column_names


def columns_that_count(source: Source, read: Collection[str]) -> tuple[BoundColumn, ...]:
    """The columns of a source on which a view depends that names the columns `read`. The other engines merge columns,
    or tell rows apart, by more than their keys: there all columns count."""
    rule = source.binding.merge
    if not isinstance(rule, Replacing):
        return source.binding.columns
    chosen_by = {name for part in (*rule.keys, *rule.partition) for name in column_names(part)}
    chosen_by |= {name for name in (rule.version, rule.deleted) if name is not None}
    return tuple(column for column in source.binding.columns if column.name in chosen_by or column.name in read)
