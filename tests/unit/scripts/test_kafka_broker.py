"""The broker that tests start: it takes messages, and has them after a kill."""

from __future__ import annotations

from kafka_broker import kafka_or_skip


def test_the_broker_has_its_messages_after_a_kill() -> None:
    broker = kafka_or_skip()
    topic = broker.make_topic(partitions=2)
    broker.send(topic, [f"message {number}" for number in range(100)], key="one")
    broker.kill()
    broker.start()
    found = broker.read(topic, 100)
    assert sorted(found) == sorted((b"one", f"message {number}".encode()) for number in range(100))
