"""The graph of a project's dependencies: which data sources and pipes each resource reads.

In: the names that each resource reads. Out: `Graph`, with a dependency order and everything upstream or
downstream of a name. Invariant: answers depend on the names alone, never on the order in which they were given.
"""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property

from penstock.model.quick_dataclass import dataclass


@dataclass(frozen=True)
class Graph:
    """`reads` has every name, with the names that it reads, sorted. No slots: readers are indexed on first use."""

    reads: Mapping[str, tuple[str, ...]]

    @staticmethod
    def of(reads: Mapping[str, Collection[str]]) -> Graph:
        """The graph of what each name reads; a name that is only read is added as one that reads nothing."""
        every = sorted({*reads, *(name for names in reads.values() for name in names)})
        return Graph({name: tuple(sorted(reads.get(name, ()))) for name in every})

    def cycle(self) -> tuple[str, ...]:
        """The names along one cycle, each read by the next and the first one repeated at the end; () if there is
        no cycle."""
        try:
            graphlib.TopologicalSorter(self.reads).prepare()
        except graphlib.CycleError as error:
            return tuple(error.args[1])
        return ()

    def order(self) -> tuple[str, ...]:
        """Every name after all names that it reads, otherwise in alphabetical order. Raises ValueError if there is
        a cycle."""
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

    def upstream(self, *names: str) -> tuple[str, ...]:
        """Everything that the names derive from, sorted; one of the names only if another derives from it."""
        return self._reachable(names, self.reads)

    def downstream(self, *names: str) -> tuple[str, ...]:
        """Everything that derives from the names, sorted; one of the names only if it derives from another."""
        return self._reachable(names, self._readers)

    @staticmethod
    def _reachable(names: Collection[str], arrows: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        neighbours = (neighbour for name in names for neighbour in arrows.get(name, ()))
        return tuple(sorted(walk(neighbours, lambda name: arrows.get(name, ()))))

    @cached_property
    def _readers(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for reader, names in self.reads.items():
            for name in names:
                found.setdefault(name, []).append(reader)
        return {name: tuple(sorted(readers)) for name, readers in found.items()}


def walk(starts: Iterable[str], neighbours: Callable[[str], Iterable[str]]) -> Iterator[str]:
    """The starts and every name that can be reached from them, each once, nearest first."""
    waiting = list(dict.fromkeys(starts))
    seen = set(waiting)
    for name in waiting:  # the list grows while it is walked
        yield name
        for neighbour in neighbours(name):
            if neighbour not in seen:
                seen.add(neighbour)
                waiting.append(neighbour)
