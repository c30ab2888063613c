"""The graph of a project's dependencies: which data sources and pipes each resource reads.

In: the names that each resource reads. Out: `Graph`, with a dependency order and everything upstream or
downstream of a name. Invariant: answers depend on the names alone, never on the order in which they were given.
"""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Graph:
    """`reads` has every resource, with the names it reads, sorted. Without slots: who reads a resource
    is indexed when it is first asked for."""

    reads: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(reads: Mapping[str, Collection[str]]) -> Graph:
        """A graph of the given arrows; a name that is only read becomes a resource that reads none."""
        every = sorted({*reads, *(name for names in reads.values() for name in names)})
        return Graph({name: tuple(sorted(reads.get(name, ()))) for name in every})

    def cycle(self) -> tuple[str, ...]:
        """The names along one cycle, each read by the next, the first one again at the end; () if
        there is none."""
        try:
            graphlib.TopologicalSorter(self.reads).prepare()
        except graphlib.CycleError as error:
            return tuple(error.args[1])
        return ()

    def order(self) -> tuple[str, ...]:
        """Every name after all that it reads, else by name. Raises ValueError where a cycle is."""
        sorter = graphlib.TopologicalSorter(self.reads)
        sorter.prepare()
        ordered: list[str] = []
        while sorter.is_active():
            ready = sorted(sorter.get_ready())
            ordered += ready
            sorter.done(*ready)
        return tuple(ordered)

    def readers(self, name: str) -> tuple[str, ...]:
        """The resources that read `name` directly, sorted."""
        return self._readers.get(name, ())

    def upstream(self, name: str) -> tuple[str, ...]:
        """Everything that `name` derives from, sorted."""
        return _reached(name, self.reads)

    def downstream(self, name: str) -> tuple[str, ...]:
        """Everything that derives from `name`, sorted."""
        return _reached(name, self._readers)

    @cached_property
    def _readers(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for reader, names in self.reads.items():
            for name in names:
                found.setdefault(name, []).append(reader)
        return {name: tuple(sorted(readers)) for name, readers in found.items()}


def _reached(start: str, steps: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    found: set[str] = set()
    waiting = set(steps.get(start, ()))
    while waiting:
        found |= waiting
        waiting = {name for each in waiting for name in steps.get(each, ())} - found
    return tuple(sorted(found))
