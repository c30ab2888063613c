from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.cli.graph_formats.layout import place_nodes

NAMES = [f"n{number}" for number in range(12)]
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40)


@settings(max_examples=100, deadline=None)
@given(PAIRS)
def test_no_two_nodes_touch_and_arrows_lead_from_node_to_node(pairs: list[tuple[str, str]]) -> None:
    layout = place_nodes(NAMES, pairs)
    for name in NAMES:
        for other in NAMES[: NAMES.index(name)]:
            (layer, place), (layer_of_other, place_of_other) = layout.nodes[name], layout.nodes[other]
            assert layer != layer_of_other or abs(place - place_of_other) > 0.999
    assert set(layout.ways) == {pair for pair in pairs if pair[0] != pair[1]}
    for (start, end), way in layout.ways.items():
        assert (way[0], way[-1]) == (layout.nodes[start], layout.nodes[end])
        assert all(abs(one[0] - other[0]) <= 1 for one, other in pairwise(way))
    assert layout == place_nodes(NAMES, pairs)


@settings(max_examples=50, deadline=None)
@given(PAIRS)
def test_arrows_of_a_graph_without_circles_lead_to_the_right(pairs: list[tuple[str, str]]) -> None:
    forward = [(start, end) for start, end in pairs if NAMES.index(start) < NAMES.index(end)]
    layout = place_nodes(list(reversed(NAMES)), forward)
    assert all(layout.nodes[start][0] < layout.nodes[end][0] for start, end in forward)


def test_two_arrows_that_would_cross_do_not() -> None:
    layout = place_nodes(["a", "b", "x", "y"], [("a", "y"), ("b", "x")])
    places = {name: place for name, (_, place) in layout.nodes.items()}
    assert (places["a"] < places["b"]) == (places["y"] < places["x"])


def test_an_empty_graph_has_a_layout() -> None:
    assert place_nodes([], []).nodes == {}
