"""Topics are read into the batch log exactly once, from a real broker, whatever ends the broker or the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_broker import PASSWORD, USER, KafkaBroker, kafka_or_skip
from penstock.deploy.connections.client_settings import client_settings
from penstock.deploy.connections.connection_values import ConnectionValues
from penstock.deploy.ingest.topics.message_lines import message_reader
from penstock.deploy.ingest.topics.topic_reading import TopicParts, TopicReading, TopicSource
from penstock.errors import Conflict
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.landing.message import read_message
from penstock.model.datasource import OffsetReset
from penstock.model.external_tables import NamedConnection
from penstock.state.batches import BatchLog
from penstock.state.database import open_database
from penstock.state.logs.topic_reads import TopicRead, TopicReads
from penstock.state.positions.topic_positions import TopicPosition, TopicPositions
from waiting import wait_until

confluent_kafka = pytest.importorskip("confluent_kafka")


@pytest.fixture(scope="module")
def broker() -> KafkaBroker:
    return kafka_or_skip()


class Server:
    """What a server has of topics: an inbox and a state store in a folder, which another run of it finds again."""

    def __init__(self, folder: Path):
        self.database = open_database(f"sqlite:///{folder}/state.db")
        self.batches = BatchLog(self.database)
        self.folder = folder / "inbox"
        self.inbox = Inbox(self.folder, self.batches, lambda batch: None)
        self.reads, self.positions = TopicReads(self.database), TopicPositions(self.database)
        self.parts = TopicParts(self.inbox, self.positions, self.reads)

    def close(self) -> None:
        self.inbox.close()
        self.database.close()

    def values(self) -> list[str]:
        """The values of all messages of the batch log, in its order."""
        return [str(message.columns["__value"]) for message in self.messages()]

    def messages(self) -> list:
        found = []
        for batch in self.batches.read_after("visits", 0, 10**9, 10**12):
            for line in (self.folder / batch.segment).read_bytes().splitlines():
                message = read_message(line)
                assert message is not None
                found.append(message)
        return found


@contextmanager
def server_in(folder: Path) -> Iterator[Server]:
    server = Server(folder)
    try:
        yield server
    finally:
        server.close()


@contextmanager
def reading(server: Server, topic: str, address: str, **more: str) -> Iterator[TopicReading]:
    """A reading of the topic, which ends with the block; `more` are further directives of the connection."""
    reset: OffsetReset = "latest" if more.pop("reset", "earliest") == "latest" else "earliest"
    options = (("KAFKA_BOOTSTRAP_SERVERS", address), *more.items())
    settings = client_settings(ConnectionValues(NamedConnection("k", "kafka", options), {"PW": PASSWORD}))
    plain = ("json_without_schema", "json_without_schema")
    wanted = TopicSource("visits", "visits", topic, f"g-{topic}", reset, settings, plain, message_reader(plain, None))
    found = TopicReading(wanted, server.parts)
    try:
        yield found
    finally:
        found.end()
        found.join()


def numbers(count: int, start: int = 0) -> list[str]:
    return [json.dumps({"n": number}) for number in range(start, start + count)]


def wait_for(holds: Callable[[], object], explain: Callable[[], object]) -> None:
    wait_until(holds, 40, explain)


def test_messages_of_all_partitions_are_in_batches_once_and_in_their_order(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic(partitions=3)
    for partition in range(3):
        broker.send(topic, numbers(500, 1000 * partition), partition=partition, key="k", headers={"from": b"test"})
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 1500, lambda: found.status)
        broker.send(topic, numbers(1, 9000), partition=1)
        wait_for(lambda: len(server.values()) >= 1501, lambda: found.status)
        wait_for(lambda: found.lag == {0: 0, 1: 0, 2: 0}, lambda: found.lag)
        messages = server.messages()
    of_each = [[each.columns["__offset"] for each in messages if each.columns["__partition"] == at] for at in range(3)]
    assert of_each == [list(range(500)), list(range(501)), list(range(500))]
    first = messages[0].columns
    assert (first["__topic"], first["__key"], first["__headers"]) == (topic, "k", {"from": "test"})
    assert str(first["__timestamp"]).endswith("Z")


def test_another_run_goes_on_where_the_last_one_stopped(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(10))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 10, lambda: found.status)
    broker.send(topic, numbers(10, 10))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 20, lambda: found.status)
        assert server.values() == numbers(20)


PROGRAM = """
import sys
from pathlib import Path
from unit.deploy.ingest.topics.test_topic_reading import Server, reading
server = Server(Path(sys.argv[1]))
with reading(server, sys.argv[2], sys.argv[3]) as found:
    wait = sys.stdin.read()
server.close()
"""


def run_once(folder: Path, topic: str, address: str, fault: str) -> int:
    """Run a server in a process of its own, which is killed (SIGKILL) at a point; returns how it ended."""
    paths = os.pathsep.join(sys.path)
    environment = {**os.environ, "PENSTOCK_FAULT": fault, "PYTHONPATH": paths}
    command = [sys.executable, "-c", PROGRAM, str(folder), topic, address]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE) as process:
        return process.wait(60)


def test_a_server_that_is_killed_again_and_again_has_every_message_once(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic(partitions=2)
    for round, fault in enumerate(("kafka.written:1", "kafka.logged:1", "state.before:1")):
        broker.send(topic, numbers(30, 30 * round), partition=round % 2)
        assert run_once(tmp_path, topic, broker.address, fault) == -signal.SIGKILL
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 90, lambda: found.status)
        assert sorted(server.values()) == sorted(numbers(90))


def test_a_broker_that_is_killed_is_waited_for(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(5))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 5, lambda: found.status)
        broker.kill()
        wait_for(lambda: found.status.state == "waiting", lambda: found.status)
        assert "do not answer" in str(found.status.reason)
        broker.start()
        broker.send(topic, numbers(5, 5))
        wait_for(lambda: len(server.values()) >= 10 and found.status.state == "reading", lambda: found.status)
        assert server.values() == numbers(10)


def test_latest_begins_when_the_topic_is_first_seen_and_keeps_that_place(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(5))
    with server_in(tmp_path) as server, reading(server, topic, broker.address, reset="latest") as found:
        wait_for(lambda: found.status.state == "reading", lambda: found.status)
    broker.send(topic, numbers(5, 5))  # while no server runs
    with server_in(tmp_path) as server, reading(server, topic, broker.address, reset="latest") as found:
        wait_for(lambda: len(server.values()) >= 5, lambda: found.status)
        assert server.values() == numbers(5, 5)


def test_what_retention_took_is_a_stop_that_says_which_offsets(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(10))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 10, lambda: found.status)
    broker.send(topic, numbers(10, 10))
    broker.delete_before(topic, 0, 15)
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: found.status.state == "stopped", lambda: found.status)
        assert found.status.missing == {0: (10, 15)}
        assert "partition 0 lost the offsets 10 to 14" in str(found.status.reason)
        assert "lost the offsets" in server.reads.recent(1)[0].text
        assert server.values() == numbers(10)
        found.skip_missing()
        wait_for(lambda: len(server.values()) >= 15, lambda: found.status)
        assert server.values() == [*numbers(10), *numbers(5, 15)]
        with pytest.raises(Conflict):
            found.skip_missing()


def test_a_partition_that_was_cut_stays_stopped_until_somebody_decides(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(5))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 5, lambda: found.status)
    with server_in(tmp_path) as server:  # as if it had read three more, which the brokers have lost since
        [at] = server.positions.read("visits", topic)
        server.positions.move("visits", topic, [0], [TopicPosition(0, at.origin, 8)])
        with reading(server, topic, broker.address) as found:
            wait_for(lambda: found.status.state == "stopped", lambda: found.status)
            assert "was cut" in str(found.status.reason)
    broker.send(topic, numbers(6, 100))  # with the offsets 5 to 10
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: found.status.state == "stopped", lambda: found.status)
        assert server.values() == numbers(5)
        found.skip_missing()
        wait_for(lambda: len(server.values()) >= 11, lambda: found.status)
        assert server.values() == [*numbers(5), *numbers(6, 100)]


def test_a_topic_that_is_made_anew_is_another_topic(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(3))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 3, lambda: found.status)
    broker.delete_topic(topic)
    wait_for(lambda: broker.try_make(topic), lambda: topic)
    broker.send(topic, numbers(9, 100))  # more than the former one had: the offsets alone would not tell
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: found.status.state == "stopped", lambda: found.status)
        assert "made anew" in str(found.status.reason)
        found.skip_missing()
        wait_for(lambda: len(server.values()) >= 12, lambda: found.status)
        assert server.values() == [*numbers(3), *numbers(9, 100)]


def test_nothing_is_taken_of_a_topic_that_is_made_anew_while_it_is_read(broker: KafkaBroker, tmp_path: Path) -> None:
    """Its messages after the offset that was reached would be taken for the next ones, and again after a skip."""
    topic = broker.make_topic()
    broker.send(topic, numbers(5))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 5, lambda: found.status)
        broker.delete_topic(topic)
        wait_for(lambda: broker.try_make(topic), lambda: topic)
        broker.send(topic, numbers(100, 1000))
        wait_for(lambda: found.status.state == "stopped", lambda: found.status)
        assert server.values() == numbers(5)
        found.skip_missing()
        wait_for(lambda: len(server.values()) >= 105, lambda: found.status)
        assert server.values() == [*numbers(5), *numbers(100, 1000)]


def test_a_topic_that_is_not_there_yet_is_read_once_it_is(broker: KafkaBroker, tmp_path: Path) -> None:
    with server_in(tmp_path) as server, reading(server, "comes-later", broker.address) as found:
        wait_for(lambda: found.status.state == "waiting", lambda: found.status)
        assert "no topic `comes-later`" in str(found.status.reason)
        broker.make_topic(name="comes-later")
        broker.send("comes-later", numbers(2))
        wait_for(lambda: server.values() == numbers(2), lambda: found.status)


def test_a_refused_login_is_a_reason_without_the_password(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.deploy.ingest.topics.topic_client.ASK_SECONDS", 2.0)
    topic = broker.make_topic()
    broker.send(topic, numbers(2))
    login = {"KAFKA_SECURITY_PROTOCOL": "SASL_PLAINTEXT", "KAFKA_SASL_MECHANISM": "PLAIN", "KAFKA_KEY": USER}
    with server_in(tmp_path) as server:
        with reading(server, topic, broker.login_address, **login, KAFKA_SECRET="not-the-password") as found:
            wait_for(lambda: found.status.state == "waiting", lambda: found.status)
            assert "uthentication" in str(found.status.reason)
            assert "not-the-password" not in str(found.status.reason)
        with reading(server, topic, broker.login_address, **login, KAFKA_SECRET='{{ tb_secret("PW") }}') as found:
            wait_for(lambda: server.values() == numbers(2), lambda: found.status)


def test_partitions_that_come_later_are_read_from_their_beginning(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.deploy.ingest.topics.topic_reading.LOOK_SECONDS", 0.5)
    topic = broker.make_topic()
    with server_in(tmp_path) as server, reading(server, topic, broker.address, reset="latest") as found:
        wait_for(lambda: found.status.state == "reading", lambda: found.status)
        broker.add_partitions(topic, 2)
        broker.send(topic, numbers(4), partition=1)
        wait_for(lambda: server.values() == numbers(4), lambda: found.status)


def test_messages_that_were_aborted_are_none(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    producer = confluent_kafka.Producer(broker.client(transactional_id="t1"))
    producer.init_transactions(30)
    for values, end in ((numbers(3), producer.abort_transaction), (numbers(3, 3), producer.commit_transaction)):
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value)
        end(30)
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: len(server.values()) >= 3, lambda: found.status)
        assert server.values() == numbers(3, 3)


def test_the_log_of_topics_says_what_was_read(
    broker: KafkaBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.deploy.ingest.topics.topic_reading.LOG_SECONDS", 0.0)
    topic = broker.make_topic()
    broker.send(topic, numbers(6))

    def logged() -> Sequence[TopicRead]:
        return [each for each in server.reads.recent(100) if each.kind == "info"]

    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: sum(each.messages for each in logged()) == 6, lambda: found.status)
        assert {(each.datasource, each.topic, each.partition) for each in logged()} == {("visits", topic, 0)}
        assert sum(each.bytes for each in logged()) == sum(map(len, numbers(6)))


def transactions(broker: KafkaBroker, topic: str, id: str, *values: tuple[list[str], bool]) -> None:
    """Send messages in transactions, each of which is committed or aborted."""
    producer = confluent_kafka.Producer(broker.client(transactional_id=id))
    producer.init_transactions(30)
    for messages, is_committed in values:
        producer.begin_transaction()
        for value in messages:
            producer.produce(topic, value)
        producer.flush(30)
        (producer.commit_transaction if is_committed else producer.abort_transaction)(30)


def test_offsets_without_a_message_are_no_lag_and_no_loss(broker: KafkaBroker, tmp_path: Path) -> None:
    """The marks of transactions, and messages that were aborted at the end of a topic, which retention then takes."""
    topic = broker.make_topic()
    transactions(broker, topic, f"t-{topic}", (numbers(3), True), (numbers(5, 100), False))
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: server.values() == numbers(3) and found.lag == {0: 0}, lambda: (found.status, found.lag))
    with server_in(tmp_path) as server:
        assert [each.next for each in server.positions.read("visits", topic)] == [10]
    broker.send(topic, numbers(2, 3))
    broker.delete_before(topic, 0, 10)
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: server.values() == numbers(5), lambda: found.status)


def commit(broker: KafkaBroker, topic: str, offset: int) -> None:
    """Commit an offset to the group that `reading` names, as an earlier consumer would."""
    consumer = confluent_kafka.Consumer(broker.client(group_id=f"g-{topic}", enable_auto_commit="false"))
    try:
        consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, offset)], asynchronous=False)
    finally:
        consumer.close()


def test_a_group_whose_next_messages_are_lost_is_a_stop(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(10))
    commit(broker, topic, 3)
    broker.delete_before(topic, 0, 6)
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: found.status.state == "stopped", lambda: found.status)
        assert found.status.missing == {0: (3, 6)}
        found.skip_missing()
        wait_for(lambda: server.values() == numbers(4, 6), lambda: found.status)


def test_a_group_with_offsets_beyond_the_topic_begins_as_the_file_says(broker: KafkaBroker, tmp_path: Path) -> None:
    topic = broker.make_topic()
    broker.send(topic, numbers(4))
    commit(broker, topic, 900)
    with server_in(tmp_path) as server, reading(server, topic, broker.address) as found:
        wait_for(lambda: server.values() == numbers(4), lambda: found.status)
