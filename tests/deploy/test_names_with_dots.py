"""Columns with a dot in their name on a real pipeline: landed, fed by a view, retyped, added and dropped."""

from __future__ import annotations

from deploy.conftest import Running

SPANS = """SCHEMA >
    `id` String `json:$.id`,
    `Events.Name` Array(String) `json:$.events[:].name`,
    `Meta.size` UInt8 `json:$.size` DEFAULT 3{more}
ENGINE MergeTree
{query}"""
GREW = ",\n    `Meta.kind` String DEFAULT 'plain',\n    `Links.Id` Array(String) `json:$.links[:]`"
WIDER = (
    "FORWARD_QUERY SELECT id, Events.Name, toUInt16(Meta.size) AS `Meta.size`, 'old' AS `Meta.kind`, [] AS `Links.Id`\n"
)
FILES = {
    "datasources/dot_spans.datasource": SPANS.format(more="", query=""),
    "datasources/dot_sizes.datasource": "SCHEMA >\n    `Meta.size` UInt64,\n    `n.spans` UInt64\nENGINE MergeTree\n",
    "pipes/dot_view.pipe": "NODE n\nSQL SELECT Meta.size, count() AS `n.spans` FROM dot_spans GROUP BY Meta.size\n"
    "TYPE materialized\nDATASOURCE dot_sizes\n",
}


def test_rows_and_changes_of_the_schema(running: Running) -> None:
    assert running.deploy(FILES).state == "live"
    events = [{"name": "start"}, {"name": "stop"}]
    running.post("dot_spans", [{"id": "a", "events": events, "size": 1}, {"id": "b", "events": []}])
    assert running.ask("SELECT id, Events.Name, Meta.size FROM dot_spans ORDER BY id") == [
        ("a", ["start", "stop"], 1),
        ("b", [], 3),
    ]
    assert running.ask("SELECT `Meta.size`, n.spans FROM dot_sizes ORDER BY Meta.size") == [(1, 1), (3, 1)]

    wider = SPANS.format(more=GREW, query=WIDER).replace("UInt8", "UInt16")
    assert running.deploy({**FILES, "datasources/dot_spans.datasource": wider}).state == "live"
    running.post("dot_spans", [{"id": "c", "events": [], "size": 300, "links": ["x"]}])
    assert running.ask("SELECT id, Meta.size, Meta.kind, Links.Id FROM dot_spans ORDER BY id") == [
        ("a", 1, "old", []),
        ("b", 3, "old", []),
        ("c", 300, "plain", ["x"]),
    ]
    unfolded = "SELECT id, name FROM dot_spans ARRAY JOIN Events.Name AS name ORDER BY name"
    assert running.ask(unfolded) == [("a", "start"), ("a", "stop")]
