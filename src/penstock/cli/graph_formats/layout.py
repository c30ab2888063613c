"""Places of the nodes of a graph: in layers from left to right, with few crossings.

In: names, and arrows between them. Out: `Layout`. Invariants: an arrow that is not part of a circle goes to a layer
further right; no two nodes of a layer touch; the same graph has the same layout. It is the method of K. Sugiyama,
S. Tagawa and M. Toda, "Methods for Visual Understanding of Hierarchical System Structures" (1981), with the mean place
of its neighbours as the place of a node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

SWEEPS = 12
"""How often the layers are put in order; graphs of hundreds of nodes do not change after eight."""
Point: TypeAlias = tuple[int, float]
"""A layer, and the place in it from the top; the distance of two nodes is at least 1."""
_Bend: TypeAlias = tuple[str, str, int]
"""Where a long arrow passes a layer: its start, its end and the layer."""
_Slot: TypeAlias = "str | _Bend"


@dataclass(frozen=True, slots=True)
class Layout:
    """The place of each node, and the way of each arrow."""

    nodes: Mapping[str, Point]
    ways: Mapping[tuple[str, str], tuple[Point, ...]]
    """By start and end of an arrow: the points that it passes, both ends included."""


def place_nodes(names: Sequence[str], arrows: Iterable[tuple[str, str]]) -> Layout:
    """The layout of a graph. Arrows from a node to itself are left out."""
    wanted = dict.fromkeys((start, end) for start, end in arrows if start != end)
    layer = _assign_layers(names, [pair for pair in wanted if pair not in _find_back_arrows(names, wanted)])
    ways = {pair: _slots_on_the_way(pair, layer) for pair in wanted}
    layers: list[list[_Slot]] = [[] for _ in range(max(layer.values(), default=0) + 1)]
    for name in names:
        layers[layer[name]].append(name)
    for way in ways.values():
        for slot in way[1:-1]:
            layers[_layer_of(slot, layer)].append(slot)
    places = _arrange(layers, ways.values())
    points = {slot: (number, places[slot]) for number, slots in enumerate(layers) for slot in slots}
    return Layout(
        {name: points[name] for name in names},
        {pair: tuple(map(points.__getitem__, way)) for pair, way in ways.items()},
    )


def _find_back_arrows(names: Sequence[str], arrows: Iterable[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    """The arrows that close a circle when the graph is walked in depth, in the order of the names."""
    following: dict[str, list[str]] = {name: [] for name in names}
    for start, end in arrows:
        following[start].append(end)
    back: set[tuple[str, str]] = set()
    done: set[str] = set()
    for name in names:
        path, waiting = {name: None}, [(name, iter(following[name]))]
        while waiting:
            here, ends = waiting[-1]
            found = next((end for end in ends if end not in done), None)
            if found is None:
                done.add(here)
                path.pop(here)
                waiting.pop()
            elif found in path:
                back.add((here, found))
            else:
                path[found] = None
                waiting.append((found, iter(following[found])))
    return frozenset(back)


def _assign_layers(names: Sequence[str], arrows: Sequence[tuple[str, str]]) -> Mapping[str, int]:
    """The layer of each node: one after the last of the nodes before it."""
    before: dict[str, list[str]] = {name: [] for name in names}
    for start, end in arrows:
        before[end].append(start)
    layer: dict[str, int] = {}
    waiting = list(reversed(names))
    while waiting:
        missing = [name for name in before[waiting[-1]] if name not in layer]
        if missing:
            waiting += missing
        else:
            name = waiting.pop()
            layer[name] = max((layer[each] + 1 for each in before[name]), default=0)
    return layer


def _slots_on_the_way(pair: tuple[str, str], layer: Mapping[str, int]) -> tuple[_Slot, ...]:
    start, end = pair
    step = 1 if layer[end] >= layer[start] else -1
    bends: list[_Slot] = [(start, end, each) for each in range(layer[start] + step, layer[end], step)]
    return (start, *bends, end)


def _layer_of(slot: _Slot, layer: Mapping[str, int]) -> int:
    return layer[slot] if isinstance(slot, str) else slot[2]


def _arrange(layers: list[list[_Slot]], ways: Iterable[Sequence[_Slot]]) -> Mapping[_Slot, float]:
    """The place of each slot: each layer is sorted by the mean place of its neighbours, again and again."""
    neighbours: dict[_Slot, list[_Slot]] = {slot: [] for slots in layers for slot in slots}
    for way in ways:
        for one, other in pairwise(way):
            neighbours[one].append(other)
            neighbours[other].append(one)
    places: dict[_Slot, float] = {slot: float(at) for slots in layers for at, slot in enumerate(slots)}
    for sweep in range(SWEEPS):
        for slots in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {slot: _mean([places[each] for each in neighbours[slot]], places[slot]) for slot in slots}
            slots.sort(key=lambda slot: (wanted[slot], places[slot]))
            places |= _spread([wanted[slot] for slot in slots], slots)
    top = min(places.values(), default=0.0)
    return {slot: place - top for slot, place in places.items()}


def _spread(wanted: Sequence[float], slots: Sequence[_Slot]) -> Mapping[_Slot, float]:
    """Places as near to the wanted ones as a distance of 1 allows; the layer keeps its middle."""
    places: list[float] = []
    for want in wanted:
        places.append(want if not places else max(want, places[-1] + 1))
    shift = (sum(wanted) - sum(places)) / len(places) if places else 0.0
    return {slot: place + shift for slot, place in zip(slots, places, strict=True)}


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default
