from __future__ import annotations

from penstock.flow.lag import blocked_tables
from penstock.model.manifest import Binding, Landing, Manifest, Source, View


def view(id: str, source: str, table: str) -> View:
    return View(id, "pipe", "node", table, "", Source("p", Binding(source, source, ())), ())


CHAIN = Manifest(
    flows=(
        Landing("s", "events", "v", ()),
        view("one", "events", "by_user"),
        view("two", "by_user", "total"),
        view("three", "events", "by_day"),
    )
)


def test_a_failing_view_stops_its_table_and_those_below() -> None:
    assert blocked_tables(CHAIN, {("by_user", "one")}) == {"by_user", "total"}


def test_a_failing_landing_stops_all_that_it_feeds() -> None:
    assert blocked_tables(CHAIN, {("events", "landing.s")}) == {"events", "by_user", "total", "by_day"}


def test_what_fails_elsewhere_stops_nothing() -> None:
    assert blocked_tables(CHAIN, {("by_user", "other"), ("gone", "one")}) == frozenset()
