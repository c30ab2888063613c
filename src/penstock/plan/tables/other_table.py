"""A live table of another name that has the rows of a view's target, and where to look for one.

In: two versions of a project. Out: `OtherTable`, and the names of data sources that may have such a table. Invariant:
a data source that is not named does not have the columns that the target needs, so it need not be looked at.
"""

from __future__ import annotations

from collections.abc import Collection

from penstock.model.datasource import DataSource
from penstock.model.manifest import BoundColumn
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.plan.tables.running_datasource import RunningDataSource


@dataclass(frozen=True, slots=True)
class OtherTable:
    """A live table that has the rows that the views into a data source of another name give of all history."""

    running: RunningDataSource
    columns: tuple[BoundColumn, ...]
    """The columns of the target, in that table."""
    continued: tuple[tuple[str, str, str], ...]
    """Pipe and node of each view into the target, and the id of the live flow that it goes on from. None where the view
    passes on the rows of that table itself."""

    @property
    def passes_on(self) -> bool:
        """Whether the view passes on the rows of the table itself."""
        return not self.continued

    @property
    def reason(self) -> str:
        """Why the target begins as a clone of it."""
        name = self.running.source.name
        if self.passes_on:
            return f"its view passes on the rows of `{name}`, of which it begins as a clone"
        given = "its view gives" if len(self.continued) == 1 else "its views give"
        return f"{given} the rows that are stored in `{name}`, of which it begins as a clone"


def has_columns(other: DataSource, source: DataSource) -> bool:
    """Whether a data source has every column of another one, with the same type."""
    known = {column.name: column.type for column in other.columns}
    return all(known.get(column.name) == column.type for column in source.columns)


def find_possible_others(before: Project, after: Project, changed: Collection[str]) -> frozenset[str]:
    """The data sources of the version before whose table may have the rows of a view target that is new, or into which
    one of the pipes `changed` writes. They are found by their columns."""
    targets = [each for each in after.datasources if _is_asked(before, after, each, changed)]
    if not targets:
        return frozenset()
    numbers: dict[tuple[str, str], int] = {}
    forms: dict[_Form, list[str]] = {}
    for each in before.datasources:
        if before.feeders(each.name):
            forms.setdefault(_form(before, each, numbers), []).append(each.name)
    wanted = {_form(after, target, numbers) for target in targets}
    fitting = (form for form in forms if any(form[:2] == each[:2] and each[2] <= form[2] for each in wanted))
    return frozenset(name for form in fitting for name in forms[form])


_Form = tuple[str, int, frozenset[int]]
"""The engine of a data source, the number of its views, and its columns as numbers, which are compared faster."""


def _form(project: Project, source: DataSource, numbers: dict[tuple[str, str], int]) -> _Form:
    pairs = ((column.name, str(column.type)) for column in source.columns)
    columns = frozenset(numbers.setdefault(pair, len(numbers)) for pair in pairs)
    return source.engine.name, len(project.feeders(source.name)), columns


def _is_asked(before: Project, after: Project, source: DataSource, changed: Collection[str]) -> bool:
    feeders = after.feeders(source.name)
    is_new = before.datasource(source.name) is None
    return bool(feeders) and (is_new or any(pipe.name in changed for pipe, _ in feeders))
