"""Versions of a table side by side: data sources whose names are the table's and a version's, as `events_0_1`.

In: a project, its graph and the name of a table. Out: its versions in their order, with the pipes that feed and read
each. Invariant: what a pipe reads is what `project_graph` draws.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from penstock.model.datasource import DataSource
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.plan.project_graph import ProjectGraph
from penstock.plan.quarantine_sources import SUFFIX

_NUMBERS = re.compile(r"_([0-9]+(?:_[0-9]+)*)")


@dataclass(frozen=True, slots=True)
class TableVersion:
    """One of the versions of a table."""

    version: str
    """Such as `0.1`; empty for the data source that has the table's own name."""
    source: DataSource
    fed_by: tuple[str, ...]
    """The pipes that write it."""
    read_by: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name under which SQL reads it."""
        return self.source.name


def find_versions(project: Project, graph: ProjectGraph, table: str) -> tuple[TableVersion, ...]:
    """The versions of a table, the lowest first; none if there is no such table. `graph` is that of the project."""
    found = [
        TableVersion(version, source, graph.before(source.name), tuple(_readers(graph, source.name)))
        for source in project.datasources
        if (version := _version_in(source.name, table)) is not None
    ]
    return tuple(sorted(found, key=lambda each: [int(part) for part in each.version.split(".") if part]))


def _readers(graph: ProjectGraph, name: str) -> Iterator[str]:
    """What reads a table or its quarantine."""
    for after in graph.after(name):
        if after == f"{name}{SUFFIX}":
            yield from graph.after(after)
        else:
            yield after


def _version_in(name: str, table: str) -> str | None:
    """The version that the name of a data source has of a table; None if it is another table."""
    if name == table:
        return ""
    found = _NUMBERS.fullmatch(name, len(table)) if name.startswith(table) else None
    return found[1].replace("_", ".") if found else None


def table_of_version(name: str) -> str:
    """The table of which a data source with this name is a version; empty if it is none."""
    start = len(name.rstrip("0123456789_"))
    return name[:start] if _NUMBERS.fullmatch(name, start) else ""
