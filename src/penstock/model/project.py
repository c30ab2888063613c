"""A project: all data sources and pipes of a folder, by name.

In: parsed data sources and pipes. Out: `Project`. Invariant: resources are sorted by name, so equal contents give
equal projects, whatever the order and place of the files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TypeAlias

from penstock.model.datasource import DataSource
from penstock.model.pipe import Materialized, Node, Pipe
from penstock.model.quick_dataclass import dataclass

TokenGrants: TypeAlias = Mapping[str, tuple[str, ...]]
"""Scopes by token name."""


@dataclass(frozen=True)
class Project:
    """Data sources and pipes, each sorted by name. It has no slots because its indexes by name are cached."""

    datasources: tuple[DataSource, ...] = ()
    pipes: tuple[Pipe, ...] = ()

    @staticmethod
    def of(datasources: Iterable[DataSource], pipes: Iterable[Pipe]) -> Project:
        """The project of these resources, given in any order."""
        return Project(
            tuple(sorted(datasources, key=lambda source: source.name)),
            tuple(sorted(pipes, key=lambda pipe: pipe.name)),
        )

    def datasource(self, name: str) -> DataSource | None:
        return self._datasources.get(name)

    def pipe(self, name: str) -> Pipe | None:
        return self._pipes.get(name)

    def feeders(self, datasource: str) -> tuple[tuple[Pipe, Node], ...]:
        """The materialized views that write into a data source, as pairs of pipe and node."""
        return self._feeders.get(datasource, ())

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that SQL may read."""
        return tuple(source.name for source in self.datasources) + tuple(pipe.name for pipe in self.pipes)

    @cached_property
    def _datasources(self) -> Mapping[str, DataSource]:
        return {source.name: source for source in reversed(self.datasources)}

    @cached_property
    def _pipes(self) -> Mapping[str, Pipe]:
        return {pipe.name: pipe for pipe in reversed(self.pipes)}

    @cached_property
    def _feeders(self) -> Mapping[str, tuple[tuple[Pipe, Node], ...]]:
        found: dict[str, list[tuple[Pipe, Node]]] = {}
        for pipe in self.pipes:
            node = pipe.materialized
            if node is not None and isinstance(node.kind, Materialized):
                found.setdefault(node.kind.datasource, []).append((pipe, node))
        return {name: tuple(pairs) for name, pairs in found.items()}


def collect_grants(project: Project) -> TokenGrants:
    """The scopes that its TOKEN lines grant, by token name: `read:NAME`, `append:NAME`. Each covers one data source or
    pipe, never everything."""
    found: dict[str, dict[str, None]] = {}
    resources: tuple[DataSource | Pipe, ...] = (*project.datasources, *project.pipes)
    for resource in resources:
        for token in resource.tokens:
            found.setdefault(token.name, {})[f"{token.scope.lower()}:{resource.name}"] = None
    return {name: tuple(scopes) for name, scopes in found.items()}
