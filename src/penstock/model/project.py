"""A whole project: every resource of a folder, by name.

In: parsed data sources and pipes. Out: `Project`. Called by graph, plan, deploy and serve.
Invariant: resources are sorted by name, so equal folders give equal projects whatever the order
or place of the files.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from penstock.model.datasource import DataSource
from penstock.model.pipe import Node, Pipe


@dataclass(frozen=True, slots=True)
class Project:
    """Data sources and pipes, each sorted by name."""

    datasources: tuple[DataSource, ...] = ()
    pipes: tuple[Pipe, ...] = ()

    @staticmethod
    def of(datasources: Iterable[DataSource], pipes: Iterable[Pipe]) -> Project:
        """A project of resources in any order."""
        return Project(
            tuple(sorted(datasources, key=lambda source: source.name)),
            tuple(sorted(pipes, key=lambda pipe: pipe.name)),
        )

    def datasource(self, name: str) -> DataSource | None:
        return next((source for source in self.datasources if source.name == name), None)

    def pipe(self, name: str) -> Pipe | None:
        return next((pipe for pipe in self.pipes if pipe.name == name), None)

    def feeders(self, datasource: str) -> tuple[tuple[Pipe, Node], ...]:
        """The materialized views that write into a data source."""
        pairs = ((pipe, pipe.materialized) for pipe in self.pipes)
        return tuple((pipe, node) for pipe, node in pairs if node is not None and node.kind.datasource == datasource)  # type: ignore[union-attr]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name SQL may read."""
        return tuple(source.name for source in self.datasources) + tuple(pipe.name for pipe in self.pipes)
