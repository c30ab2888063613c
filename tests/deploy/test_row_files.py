"""CSV and Parquet files, and topics, on a real pipeline: exact values, quarantine, once, and replaced as a whole."""

from __future__ import annotations

import decimal
import io
import json
from collections.abc import Mapping

import pyarrow as pa
import pytest
from pyarrow import parquet

from deploy.conftest import Running
from kafka_broker import kafka_or_skip
from penstock.deploy.ingest.row_files.csv_rows import CsvForm
from penstock.deploy.ingest.row_files.file_ingestion import ParquetForm
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.deploy.queries.answers.answer_formats import answer_format
from penstock.errors import NotFound
from waiting import wait_until

SCHEMA = "`id` UInt64, `d` Decimal(20, 3), `at` DateTime64(9), `tags` Array(String), `m` Map(String, Nullable(Int32))"
FILES = {"rf_items.datasource": f"SCHEMA >\n    {SCHEMA}\nENGINE MergeTree\n"}
ALL = "SELECT id, toString(d), toString(at), tags, m['k'] FROM rf_items ORDER BY id"
CSV = (
    b"id,at,d,tags,m\n"
    b"18446744073709551615,2024-01-02 03:04:05.123456789,12345678901234567.891,\"['a','b,c']\",{'k':1}\n"
    b"x,2024-01-02 03:04:05,1,[],{}\n"
)


def rows(running: Running, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in running.pipeline.reader.sql(sql, "live").rows]


def test_files_of_rows(running: Running) -> None:
    assert running.deploy(FILES).state == "live"
    files, ingestion = running.pipeline.files, running.pipeline.ingestion
    for _ in range(2):
        receipt = ingestion.wait(files.append("rf_items", CSV, CsvForm(), "one"), 60)
        assert (receipt.successful_rows, receipt.quarantined_rows) == (1, 1)
    expected = (2**64 - 1, "12345678901234567.891", "2024-01-02 03:04:05.123456789", ["a", "b,c"], 1)
    assert [(*row[:3], list(row[3]), row[4]) for row in rows(running, ALL)] == [expected]  # type: ignore[call-overload]
    # The quarantine is committed after the rows that fit.
    wait_until(lambda: rows(running, "SELECT count() FROM rf_items_quarantine") == [(1,)])
    table = pa.table(
        {
            "id": pa.array([7, 8], pa.uint64()),
            "d": pa.array([decimal.Decimal("0.001"), decimal.Decimal("-1")]),
            "at": pa.array([1_700_000_000_123_456_789, 0], pa.timestamp("ns")),
            "tags": pa.array([["x"], []]),
            "m": pa.array([[("k", None)], [("k", 5)]], pa.map_(pa.string(), pa.int32())),
        }
    )
    file = io.BytesIO()
    parquet.write_table(table, file)
    ingestion.wait(files.replace("rf_items", file.getvalue(), ParquetForm(), "two"), 60)
    found = [(*row[:3], list(row[3]), row[4]) for row in rows(running, ALL)]  # type: ignore[call-overload]
    assert found == [
        (7, "0.001", "2023-11-14 22:13:20.123456789", ["x"], None),
        (8, "-1", "1970-01-01 00:00:00.000000000", [], 5),
    ]


VISITS = (
    "SCHEMA >\n    `id` UInt32 `json:$.id`,\n    `page` String `json:$.page`\n"
    "ENGINE MergeTree\nENGINE_SORTING_KEY id\n"
    "KAFKA_CONNECTION_NAME rf_kafka\nKAFKA_GROUP_ID rf\nKAFKA_AUTO_OFFSET_RESET earliest\n"
    "KAFKA_STORE_RAW_VALUE True\nKAFKA_STORE_HEADERS True\n"
)
PAGES = (
    "NODE n\nSQL >\n    SELECT page{}, count() AS n FROM rf_visits GROUP BY page{}\nTYPE materialized\nDATASOURCE {}\n"
)
COUNTS = "SCHEMA >\n    `page` String{},\n    `n` UInt64\nENGINE SummingMergeTree\nENGINE_SORTING_KEY page\n"


def visits(first: int, count: int) -> list[str]:
    return [json.dumps({"id": each, "page": f"/{each % 3}"}) for each in range(first, first + count)]


def moved(plan: Mapping[str, object]) -> dict[str, str]:
    return {each["name"]: each["strategy"] for each in plan["resources"]}  # type: ignore[attr-defined, index]


def test_a_topic_is_landed_and_a_view_of_it_changes_in_mid_stream(running: Running) -> None:
    broker = kafka_or_skip()
    topic = broker.make_topic(partitions=2)
    files = {
        "rf_kafka.connection": f"TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS {broker.address}\n",
        "rf_visits.datasource": f"{VISITS}KAFKA_TOPIC {topic}\n",
        "rf_counts.datasource": COUNTS.format(""),
        "rf_pages.pipe": PAGES.format("", "", "rf_counts"),
    }
    broker.send(topic, visits(0, 90), partition=0, key="first", headers={"from": "test"})
    broker.send(topic, ["no JSON", '{"id": -1, "page": "x"}'], partition=0, key=b"\xff")
    assert running.deploy(files).state == "live"
    total = "SELECT count(), uniqExact(__partition, __offset) FROM rf_visits"
    wait_until(lambda: rows(running, total) == [(90, 90)], 60, running.pipeline.topics.statuses)
    assert rows(
        running,
        "SELECT id, page, __value, __topic, __partition, __key, __headers['from'], __timestamp > '2020-01-01'"
        " FROM rf_visits WHERE __offset = 4",
    ) == [(4, "/1", visits(4, 1)[0], topic, 0, "first", "test", 1)]
    wait_until(lambda: rows(running, "SELECT count() FROM rf_visits_quarantine") == [(2,)])
    bad = rows(running, "SELECT raw LIKE '%base64:/w==%', problems[1] FROM rf_visits_quarantine ORDER BY raw")
    assert [seen for seen, _ in bad] == [1, 1]
    assert sorted(str(why)[:8] for _, why in bad) == ["id: -1 i", "not JSON"]

    broker.send(topic, visits(90, 30), partition=1)
    changed = {
        "rf_counts.datasource": COUNTS.format(",\n    `w` UInt32"),
        "rf_pages.pipe": PAGES.format(", 1 AS w", ", w", "rf_counts"),
    }
    plan = running.deploy(changed)
    assert plan.state == "live"
    assert moved(plan.plan).get("rf_visits", "none") == "none"
    broker.send(topic, visits(120, 30), partition=1)
    wait_until(lambda: rows(running, total) == [(150, 150)], 60, running.pipeline.topics.statuses)
    running.catch_up()
    sums = "SELECT page, sum(n) FROM rf_counts GROUP BY page ORDER BY page"
    assert rows(running, sums) == [("/0", 50), ("/1", 50), ("/2", 50)]
    read = "SELECT sum(processed_messages) FROM penstock.kafka_ops_log WHERE datasource_id = 'rf_visits' AND topic = "
    wait_until(lambda: rows(running, f"{read}'{topic}'")[0][0] > 0)


SINK = (
    "NODE first\nSQL >\n    SELECT 1 AS one\nNODE rows\nSQL >\n    %\n"
    "    SELECT number AS n, toDecimal64(number / 4, 2) AS d,"
    " toDateTime('2026-01-02 03:04:05') + number AS at, [number] AS tags FROM numbers({{ Int32(most, 3) }})\n"
    "TYPE sink\nEXPORT_CONNECTION_NAME rf_disk\nNODE later\nSQL >\n    SELECT 2 AS two\n"
)


def test_the_rows_of_a_sink_are_those_of_its_node(running: Running) -> None:
    assert running.deploy({"rf_sink.pipe": SINK}).state == "live"
    reader = running.pipeline.reader
    assert reader.check_sink("rf_sink", {}, "live")[1].connection == "rf_disk"
    deployment, answer = reader.sink("rf_sink", {"most": "2"}, "live")
    assert deployment.state == "live"
    assert [name for name, _ in answer.columns] == ["n", "d", "at", "tags"]
    lines = b"".join(answer_format("JSONEachRow").write(answer)).splitlines()
    assert lines[1] == b'{"n":1,"d":0.25,"at":"2026-01-02 03:04:06","tags":[1]}'
    assert len(lines) == 2
    with pytest.raises(NotFound):
        reader.sink("rf_sinks", {}, "live")


def test_a_sink_writes_files_and_a_topic_of_live_unless_another_version_is_named(running: Running) -> None:
    broker = kafka_or_skip()
    topic, place = broker.make_topic(), running.exports.as_uri()
    files = {
        "rf_disk.connection": "TYPE file\n",
        "rf_kafka.connection": f"TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS {broker.address}\n",
        "rf_sink.pipe": SINK.replace(
            "NODE later",
            f"EXPORT_BUCKET_URI {place}\nEXPORT_FILE_TEMPLATE \"{{at, '%Y'}}/part_{{2}}\"\n"
            "EXPORT_FORMAT csv\nNODE later",
        ),
        "rf_out.pipe": "NODE n\nSQL >\n    SELECT number AS n FROM numbers(4)\nTYPE sink\n"
        f"EXPORT_CONNECTION_NAME rf_kafka\nEXPORT_KAFKA_TOPIC {topic}\nEXPORT_SCHEDULE 0 0 1 1 *\n",
    }
    assert running.deploy(files).state == "live"
    jobs = running.pipeline.store.jobs
    for pipe, rows_written in (("rf_sink", 3), ("rf_out", 4)):
        job = running.pipeline.sinks.run(pipe, {}, token="nightly")
        wait_until(lambda id=job.id: not jobs.get(id).is_open, 60, lambda id=job.id: jobs.get(id))  # type: ignore[misc]
        assert (jobs.get(job.id).state, jobs.get(job.id).rows) == ("done", rows_written)
    assert sorted(each.name for each in (running.exports / "2026").iterdir()) == ["part_0.csv", "part_1.csv"]
    assert (running.exports / "2026/part_1.csv").read_text().splitlines()[1] == '1,0.25,"2026-01-02 03:04:06","[1]"'
    assert sorted(value or b"" for _, value in broker.read(topic, 4)) == [b'{"n":%d}' % n for n in range(4)]
    changed = running.deploy({"rf_out.pipe": files["rf_out.pipe"].replace("numbers(4)", "numbers(9)")}, promote=False)
    assert changed.state == "ready"
    assert set(running.strategies(changed).values()) == {"none"}
    assert "rf_out" in running.strategies(changed)
    for version, written in ((None, 4), ("staging", 9)):
        job = running.pipeline.sinks.run("rf_out", {}, *([version] if version else []))
        wait_until(lambda id=job.id: not jobs.get(id).is_open, 60, lambda id=job.id: jobs.get(id))  # type: ignore[misc]
        assert (jobs.get(job.id).state, jobs.get(job.id).rows) == ("done", written)
    assert len(broker.read(topic, 17)) == 17
    seen = "SELECT pipe_name, result, written_rows, service FROM penstock.sinks_ops_log ORDER BY timestamp, pipe_name"
    out = [("rf_out", "ok", written, "kafka") for written in (4, 4, 9)]
    assert sorted(rows(running, seen)) == [*out, ("rf_sink", "ok", 3, "file")]
    written = sum(each.stat().st_size for each in (running.exports / "2026").iterdir())
    who = "SELECT pipe_name, token_name, written_bytes FROM penstock.sinks_ops_log WHERE token_name != '' ORDER BY 1"
    assert rows(running, who) == [("rf_out", "nightly", 4 * len('{"n":0}')), ("rf_sink", "nightly", written)]
    running.pipeline.deployer.discard(str(changed.id))
    elsewhere = files["rf_sink.pipe"].replace(place, "file:///elsewhere")
    plan = running.pipeline.deployer.deploy(
        {**running.files, "rf_sink.pipe": elsewhere}, DeployOptions(check=True)
    ).plan
    assert "folder-not-allowed" in [each["code"] for each in plan["problems"]]  # type: ignore[attr-defined]
