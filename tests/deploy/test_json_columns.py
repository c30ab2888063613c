"""JSON columns on a real pipeline: landed, quarantined, cast by a view, copied, and retyped from and to String."""

from __future__ import annotations

import json

from deploy.conftest import Running
from waiting import wait_until

EVENTS = """SCHEMA >
    `id` UInt32 `json:$.id`,
    `data` JSON `json:$.data`,
    `typed` JSON(a.x String, n Nullable(UInt8), SKIP b) `json:$.data`
ENGINE MergeTree
"""
RAW = "SCHEMA >\n    `id` UInt32 `json:$.id`,\n    `body` {of} `json:$.body`\nENGINE MergeTree\n{query}"
FILES = {
    "datasources/js_events.datasource": EVENTS,
    "datasources/js_raw.datasource": RAW.format(of="String", query=""),
    "datasources/js_bodies.datasource": "SCHEMA >\n    `id` UInt32,\n    `body` JSON,\n    `kind` String\n"
    "ENGINE MergeTree\n",
    "pipes/js_body.pipe": "NODE n\nSQL SELECT id, body::JSON AS body, (body::JSON).kind::String AS kind FROM js_raw\n"
    "TYPE materialized\nDATASOURCE js_bodies\n",
}


def shown(running: Running, sql: str, deployment: str = "live") -> list[tuple[object, ...]]:
    return [tuple(map(str, row)) for row in running.ask(sql, deployment)]


def test_documents_land_as_clickhouse_keeps_them_and_others_are_quarantined(running: Running) -> None:
    assert running.deploy(FILES).state == "live"
    lines = (
        b'{"id":1,"data":{"b":1.0,"a":{"x":"2020-01-02T00:00:00Z"},"n":null}}',
        b'{"id":2,"data":{"a":1,"a":2}}',
        b'{"id":3,"data":[1]}',
        b'{"id":4,"data":{"a.x":"text"}}',
        b'{"id":5,"data":{"n":300}}',
    )
    running.pipeline.ingestion.wait(running.pipeline.ingestion.append("js_events", b"\n".join(lines), None), 60)
    running.catch_up()
    found = shown(
        running, "SELECT id, toString(data), dynamicType(data.a.x), data.b.:Float64 FROM js_events ORDER BY id"
    )
    assert found == [
        ("1", '{"a":{"x":"2020-01-02 00:00:00"},"b":1}', "DateTime", "1.0"),
        ("4", '{"a":{"x":"text"}}', "String", "None"),
    ]
    describe = running.pipeline.quarantines.describe
    wait_until(lambda: describe("js_events", "live", 2).rows == 3, 60)
    typed = shown(running, "SELECT id, typed, typed.a.x, typed.n + 1 FROM js_events ORDER BY id")
    assert typed == [
        ("1", '{"a":{"x":"2020-01-02T00:00:00Z"},"n":null}', "2020-01-02T00:00:00Z", "None"),
        ("4", '{"a":{"x":"text"},"n":null}', "text", "None"),
    ]


def test_a_view_casts_texts_and_reads_paths(running: Running) -> None:
    running.deploy(FILES)
    running.post("js_raw", [{"id": 1, "body": '{"kind":"k","n":[1,2.5]}'}, {"id": 2, "body": "{}"}])
    found = shown(running, "SELECT id, toString(body), kind FROM js_bodies ORDER BY id")
    assert found == [("1", '{"kind":"k","n":[1,2.5]}', "k"), ("2", "{}", "")]
    grouped = shown(running, "SELECT body.kind::String AS k, count() FROM js_bodies GROUP BY k ORDER BY k")
    assert grouped == [("", "1"), ("k", "1")]


def test_texts_become_documents_and_documents_texts(running: Running) -> None:
    files = {"datasources/js_hooks.datasource": RAW.format(of="String", query="").replace("js_raw", "js_hooks")}
    running.deploy(files)
    running.post("js_hooks", [{"id": 1, "body": '{"b":1,"a":1.0}'}])
    query = "FORWARD_QUERY >\n    SELECT id, CAST(body, 'JSON') AS body\n"
    changed = running.deploy({"datasources/js_hooks.datasource": RAW.format(of="JSON", query=query)})
    assert changed.state == "live", changed.error
    running.post("js_hooks", [{"id": 2, "body": {"a": 2}}])
    found = shown(running, "SELECT id, toString(body), body.a.:Float64, body.a.:Int64 FROM js_hooks ORDER BY id")
    assert found == [("1", '{"a":1,"b":1}', "1.0", "None"), ("2", '{"a":2}', "None", "2")]
    query = "FORWARD_QUERY >\n    SELECT id, toString(body) AS body\n"
    back = running.deploy({"datasources/js_hooks.datasource": RAW.format(of="String", query=query)})
    assert back.state == "live", back.error
    assert shown(running, "SELECT id, body FROM js_hooks ORDER BY id") == [("1", '{"a":1,"b":1}'), ("2", '{"a":2}')]


def test_a_text_that_is_no_document_stops_the_deployment(running: Running) -> None:
    running.deploy({"datasources/js_bad.datasource": RAW.format(of="String", query="")})
    running.post("js_bad", [{"id": 1, "body": "no document"}, {"id": 2, "body": json.dumps({"a": 1})}])
    query = "FORWARD_QUERY >\n    SELECT id, CAST(body, 'JSON') AS body\n"
    stopped = running.attempt({"datasources/js_bad.datasource": RAW.format(of="JSON", query=query)})
    assert stopped.state == "failed", stopped
    assert "body" in str(stopped.error)
    assert shown(running, "SELECT id FROM js_bad ORDER BY id") == [("1",), ("2",)]
