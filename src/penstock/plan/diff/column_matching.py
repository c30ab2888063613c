"""Which column of the new version continues which column of the old version.

In: two versions of a data source and the forward query of the step. Out: `ColumnMatch`. Invariant: a dropped and an
added column are never guessed to be a rename; the user says so by RENAMED_FROM, or by a forward query that selects
the bare old column under the new name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.model.datasource import Column, DataSource
from penstock.model.project import Project
from penstock.plan.diff.forward_columns import ForwardQuery


@dataclass(frozen=True, slots=True)
class ColumnMatch:
    """The columns of two versions of a data source, paired."""

    pairs: tuple[tuple[Column, Column | None], ...]
    """Each column of the new version with the old column it continues, if any."""
    dropped: tuple[Column, ...]
    """The old columns that no new column continues."""


def match_columns(old: DataSource, new: DataSource, forward: ForwardQuery | None) -> ColumnMatch:
    """Pair the columns of two versions of a data source."""
    taken: set[str] = set()
    pairs = []
    for column in new.columns:
        origin = _find_origin(column, old, new, forward)
        if origin is not None and origin.name in taken:
            origin = None
        if origin is not None:
            taken.add(origin.name)
        pairs.append((column, origin))
    return ColumnMatch(tuple(pairs), tuple(column for column in old.columns if column.name not in taken))


def _find_origin(column: Column, old: DataSource, new: DataSource, forward: ForwardQuery | None) -> Column | None:
    same = old.column(column.name)
    if same is not None:
        return same
    for former in (column.renamed_from, forward.renames(column.name) if forward else None):
        if former is not None and new.column(former) is None and old.column(former) is not None:
            return old.column(former)
    return None


def find_former_names(old: Project, new: Project) -> Mapping[str, str]:
    """The name in `old` of each data source of `new` that continues an old one: its own name or, with RENAMED_FROM, the
    former name, unless a data source of `new` still uses that."""
    former: dict[str, str] = {}
    for source in new.datasources:
        if old.datasource(source.name) is not None:
            former[source.name] = source.name
    for source in new.datasources:
        name = source.renamed_from
        free = name is not None and new.datasource(name) is None and name not in former.values()
        if source.name not in former and name is not None and free and old.datasource(name) is not None:
            former[source.name] = name
    return former
