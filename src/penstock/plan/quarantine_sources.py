"""Quarantines as data sources that SQL may read: `<name>_quarantine` of each data source.

In: a project. Out: the same with its quarantines. Invariant: only queries read them; no row can be posted to one, and
none feeds a view, since its rows leave it when they are replayed or cleared.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.datasource import Column, DataSource
from penstock.model.engine import Engine
from penstock.model.project import Project
from penstock.model.types import Array, DateTime64, String, Type

SUFFIX = "_quarantine"
QUARANTINE_COLUMNS: Mapping[str, Type] = {"inserted_at": DateTime64(6), "raw": String(), "problems": Array(String())}
"""The time at which a row was rejected, its text, and the reasons."""


def with_quarantines(project: Project) -> Project:
    """The project with a data source for each quarantine that it lacks."""
    names = (f"{source.name}{SUFFIX}" for source in project.datasources)
    columns = tuple(Column(name, of) for name, of in QUARANTINE_COLUMNS.items())
    added = (DataSource(name, columns, Engine()) for name in names if project.datasource(name) is None)
    return Project.of((*project.datasources, *added), project.pipes)


def is_quarantine(project: Project, name: str) -> bool:
    """Whether a name is that of the quarantine of one of the project's data sources."""
    return name.endswith(SUFFIX) and project.datasource(name.removesuffix(SUFFIX)) is not None
