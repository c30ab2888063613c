"""What has to change in the Python of a project, told from two forms of its datafiles.

In: the projects before and after. Out: for each data source its changed, added and removed columns, and for each pipe
the SQL of its nodes. Invariant: a column that is renamed is one column that changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.model.datasource import Column, DataSource, Text
from penstock.model.project import Project


@dataclass(frozen=True, slots=True)
class TableChange:
    """A data source with the columns that are other ones."""

    before: DataSource
    after: DataSource

    def pairs(self) -> Iterator[tuple[Column, Column | None]]:
        """Each column of before with what it becomes; None where it goes."""
        for each in self.before.columns:
            yield each, self.becomes(each)

    def becomes(self, column: Column) -> Column | None:
        return self.after.column(column.name) or self._renamed(column.name)

    def added(self) -> tuple[Column, ...]:
        """The columns that are new, in their order."""
        had = {made.name for _, made in self.pairs() if made is not None}
        return tuple(each for each in self.after.columns if each.name not in had)

    def _renamed(self, name: str) -> Column | None:
        found = (each for each in self.after.columns if each.renamed_from == name)
        return next((each for each in found if self.before.column(each.name) is None), None)


@dataclass(frozen=True, slots=True)
class QueryChange:
    """A node of a pipe with another SQL."""

    pipe: str
    before: Text
    after: str


def table_changes(before: Project, after: Project) -> Iterator[TableChange]:
    for each in before.datasources:
        made = after.datasource(each.name)
        if made is not None and made != each:
            yield TableChange(each, made)


def query_changes(before: Project, after: Project) -> Iterator[QueryChange]:
    for pipe in before.pipes:
        made = after.pipe(pipe.name)
        for one, other in zip(pipe.nodes, made.nodes if made is not None else (), strict=False):
            if one.sql != other.sql:
                yield QueryChange(pipe.name, one.sql, other.sql.text)
