"""Flows as values, for tests that need no table."""

from __future__ import annotations

from penstock.flow.landing.landing import LandingTable
from penstock.flow.work_items import WorkItem
from penstock.model.manifest import Binding, Landing, Source, View


def landing_item(stream: str, priority: int = 0) -> WorkItem:
    """The landing of a stream into the table of the same name."""
    landing = Landing(stream, stream, "v", ())
    return WorkItem(stream, landing.id, LandingTable((landing,)), priority, (1,))


def view_item(source: str, table: str, priority: int = 0) -> WorkItem:
    """A view of one table into another."""
    view = View(f"view.{table}", "pipe", "node", table, "", Source("source", Binding(source, source, ())), ())
    return WorkItem(table, view.id, view, priority, (1,))
