"""Rows of a real Postgres over a real Kafka into Penstock's ingestion, with kills of each part."""

from __future__ import annotations

import pytest

from kafka_broker import kafka_or_skip
from penstock.crash_points import arm, disarm
from penstock.errors import InvalidRequest
from penstock.postgres.delivery.kafka_broker import KafkaBroker, kafka_settings
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.packages.package_builder import PackageLimits
from postgres_capture.conftest import Source
from postgres_capture.consuming import RunningConsumer
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import RunningProducer
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]
SMALL = PackageLimits(rows=3, seconds=0.02)


def test_rows_go_through_and_kills_of_each_part_lose_none(source: Source, landing: Landing) -> None:
    kafka = kafka_or_skip()
    url = f"kafka://{kafka.address}"
    source.run("CREATE TABLE {s}.t (id int PRIMARY KEY, name text)")
    source.run("INSERT INTO {s}.t SELECT n, repeat('x', 200000) FROM generate_series(-9, -1) n")
    source.set_up("t")
    landing[0].columns["t"] = frozenset({"id", "name"})

    def start() -> tuple[RunningProducer, RunningConsumer]:
        producer = RunningProducer(source.dsn, source.name, KafkaBroker(url, source.name), SMALL)
        return producer, RunningConsumer(source, KafkaBroker(url, source.name), PenstockLanding(*landing[1:]))

    producer, consumer = start()
    source.wait_until_stored("penstock")
    assert set(landing[0].final("t", ("id",))) == {(id,) for id in range(-9, 0)}
    source.run("TRUNCATE {s}.t; INSERT INTO {s}.t VALUES (0)")
    source.wait_until_stored("penstock")
    made = 1
    for point in ("cdc.delivered", "cdc.consumed", "broker"):
        if point != "broker":
            arm(point, 1 if point == "cdc.consumed" else 2, lambda: None)  # messages may be stored as one
        for _ in range(8):
            source.run(f"INSERT INTO {{s}}.t VALUES ({made})")
            made += 1
        if point == "broker":
            kafka.kill()
            kafka.start()
        else:
            wait_until(lambda one=producer, other=consumer: one.has_ended or other.has_ended, 60)  # type: ignore[misc]
            disarm()
            producer.stop()
            consumer.stop()
            producer, consumer = start()
    source.wait_until_stored("penstock")
    producer.stop()
    consumer.stop()
    streamed = [row["id"] for row in landing[0].landed("t") if row["cdc_version"] != row["cdc_commit_lsn"]]
    assert streamed == list(range(made)), "each once, in order; TRUNCATE made the table be read again, too"
    assert set(landing[0].final("t", ("id",))) == {(id,) for id in range(made)}


def test_addresses() -> None:
    assert kafka_settings("kafka://a:1,b:2") == {"bootstrap.servers": "a:1,b:2", "security.protocol": "PLAINTEXT"}
    assert kafka_settings("kafkas://u:p%40ss@a:1")["sasl.password"] == "p@ss"
    assert kafka_settings("kafkas://u:p%40ss@a:1")["security.protocol"] == "SASL_SSL"
    with pytest.raises(InvalidRequest):
        kafka_settings("kafka://")
