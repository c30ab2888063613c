"""Versions of a table are found by their names, with what feeds and reads each."""

from __future__ import annotations

from penstock.model.datasource import versioned_name
from penstock.parse.project_loader import LoadedProject, load_files
from penstock.plan.project_graph import draw_project
from penstock.plan.table_versions import TableVersion, find_versions

FILES = {
    "events.datasource": "SCHEMA >\n    id String\n",
    "events_0_10.datasource": "SCHEMA >\n    id String, at DateTime, doc JSON, n Nullable(UInt8)\n",
    "events_0_9.datasource": "SCHEMA >\n    id String, at Date, doc JSON, n Nullable(UInt8)\n"
    "ENGINE ReplacingMergeTree\nENGINE_SORTING_KEY id\n",
    "events_0_9_raw.datasource": "SCHEMA >\n    id String\n",
    "events_of_1.datasource": "SCHEMA >\n    id String\n",
    "move.pipe": "NODE n\nSQL >\n    SELECT id, now() AS at, '{}' AS doc, n FROM events_0_9\n"
    "TYPE materialized\nDATASOURCE events_0_10\n",
    "bad.pipe": "NODE n\nSQL >\n    SELECT count() AS n FROM events_0_9_quarantine\nTYPE endpoint\n",
    "top.pipe": "NODE n\nSQL >\n    SELECT id FROM events_0_10\nTYPE endpoint\n",
}


def loaded() -> LoadedProject:
    found = load_files(FILES)
    assert not found.errors
    return found


def versions(table: str) -> tuple[TableVersion, ...]:
    return find_versions(loaded().project, draw_project(loaded()), table)


def test_versions_are_in_their_order_with_their_pipes() -> None:
    found = versions("events")
    assert [(each.version, each.name) for each in found] == [
        ("", "events"),
        ("0.9", "events_0_9"),
        ("0.10", "events_0_10"),
    ]
    assert [each.fed_by for each in found] == [(), (), ("move",)]
    assert [each.read_by for each in found] == [(), ("bad", "move"), ("top",)]
    assert versions("event") == ()


def test_the_name_of_a_version() -> None:
    assert (versioned_name("events", "0.10"), versioned_name("events", "")) == ("events_0_10", "events")
