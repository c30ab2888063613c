"""Which column of the new version continues which column of the old version.

In: two versions of a data source and the forward query of the step. Out: `ColumnMatch`. Invariant: a dropped and an
added column are never guessed to be a rename; the user says so by RENAMED_FROM, or by a forward query that selects
the bare old column under the new name. What is declared anew wins over an equal name.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.datasource import Column, DataSource
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
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
    declared = _declared_origins(old, new)
    origins, taken = dict(declared), set(declared.values())
    for column in new.columns:
        name = None if column.name in declared else _find_undeclared_origin(column, old, new, forward)
        if name is not None and name not in taken:
            origins[column.name] = name
            taken.add(name)
    pairs = tuple((column, old.column(origins.get(column.name, ""))) for column in new.columns)
    return ColumnMatch(pairs, tuple(column for column in old.columns if column.name not in taken))


def is_new_rename(column: Column, old: DataSource) -> bool:
    """Whether the RENAMED_FROM of a column is new in this step. One that the old column of the same name has too is
    left over from an earlier step."""
    same = old.column(column.name)
    left_over = same is not None and same.renamed_from == column.renamed_from
    return column.renamed_from not in (None, column.name) and not left_over


def _declared_origins(old: DataSource, new: DataSource) -> Mapping[str, str]:
    """The old column of each new column that is renamed in this step; columns may exchange their names."""
    declared: dict[str, str] = {}
    for column in new.columns:
        former = column.renamed_from
        if former is not None and is_new_rename(column, old) and old.column(former) and former not in declared.values():
            declared[column.name] = former
    while kept := [name for name, former in declared.items() if new.column(former) and former not in declared]:
        for name in kept:  # the column with the former name goes on under that name
            del declared[name]
    return declared


def _find_undeclared_origin(
    column: Column, old: DataSource, new: DataSource, forward: ForwardQuery | None
) -> str | None:
    """The old column of the same name, or the one that the forward query selects unchanged under this name."""
    if old.column(column.name) is not None:
        return column.name
    former = forward.renames(column.name) if forward else None
    return former if former is not None and new.column(former) is None else None


def find_former_names(old: Project, new: Project) -> Mapping[str, str]:
    """The name in `old` of each data source of `new` that continues an old one: with RENAMED_FROM that is new in this
    step, the former name, otherwise its own."""
    former: dict[str, str] = {}
    for source in new.datasources:
        name, same = source.renamed_from, old.datasource(source.name)
        left_over = same is not None and same.renamed_from == name
        free = name is not None and new.datasource(name) is None and name not in former.values()
        if name is not None and free and not left_over and old.datasource(name) is not None:
            former[source.name] = name
    renamed = set(former.values())
    for source in new.datasources:
        if old.datasource(source.name) is not None and source.name not in renamed:
            former.setdefault(source.name, source.name)
    return former
