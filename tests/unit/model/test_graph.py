"""Order, upstream and downstream of small graphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.graph import Graph, walk

CHAIN = Graph.of({"daily": {"sessions"}, "sessions": {"events"}, "pages": {"events"}, "orders": set()})


def test_order_is_by_what_is_read_then_by_name() -> None:
    assert CHAIN.order() == ("events", "orders", "pages", "sessions", "daily")


def test_upstream_and_downstream_are_transitive() -> None:
    assert CHAIN.upstream("daily") == ("events", "sessions")
    assert CHAIN.downstream("events") == ("daily", "pages", "sessions")
    assert CHAIN.readers("events") == ("pages", "sessions")


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.sampled_from("abcdef"))))
def test_downstream_is_the_inverse_of_upstream(reads: dict[str, set[str]]) -> None:
    graph = Graph.of(reads)
    for name in graph.reads:
        assert graph.readers(name) == tuple(sorted(each for each in reads if name in reads[each]))
        assert graph.downstream(name) == tuple(each for each in graph.reads if name in graph.upstream(each))


def test_an_unknown_name_has_no_neighbours() -> None:
    assert CHAIN.upstream("nobody") == CHAIN.downstream("nobody") == ()


def test_a_cycle_is_shown_from_its_start_to_its_start() -> None:
    graph = Graph.of({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert graph.cycle() in (("a", "c", "b", "a"), ("b", "a", "c", "b"), ("c", "b", "a", "c"))
    with pytest.raises(ValueError, match="cycle"):
        graph.order()


def test_there_is_no_cycle_in_a_chain() -> None:
    assert CHAIN.cycle() == ()


def test_upstream_of_several_names_has_one_of_them_only_if_another_derives_from_it() -> None:
    assert CHAIN.upstream("daily", "pages") == ("events", "sessions")
    assert CHAIN.upstream("daily", "sessions") == ("events", "sessions")
    assert CHAIN.downstream("events", "orders") == ("daily", "pages", "sessions")


def test_a_walk_meets_each_name_once_and_the_nearest_first() -> None:
    neighbours = {"a": "bc", "b": "d", "c": "da", "d": "a"}
    assert "".join(walk("a", lambda name: neighbours.get(name, ""))) == "abcd"
    assert "".join(walk("ca", lambda name: neighbours.get(name, ""))) == "cadb"
