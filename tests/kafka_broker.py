"""A real Kafka broker for tests: one process (KRaft), on free ports, in a folder of its own.

In: the broker's jars, if they were fetched. Out: `KafkaBroker`; `kafka_or_skip` gives the one of the test process,
which is started once. It ends with the test process, on Linux also when that is killed; killed by a test, it starts
again with its rows and on its ports.
"""

from __future__ import annotations

import atexit
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import pytest
from scripts.kafka_programs import HOW, Programs, programs

from waiting import wait_until

USER, PASSWORD = "penstock", "s3cret-of-the-broker"
MEMORY = ("-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xss512k")
MAIN, FORMAT = "kafka.Kafka", ("kafka.tools.StorageTool", "format")
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECONDS = 60.0
SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{login},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{login}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={module} user_{user}="{password}";
log.dirs={folder}/data
num.network.threads=2
num.io.threads=2
background.threads=2
num.partitions=1
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=1500
broker.heartbeat.interval.ms=300
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
log.retention.check.interval.ms=500
log.segment.delete.delay.ms=100
log.initial.task.delay.ms=100
"""


@dataclass
class KafkaBroker:
    """A broker. `address` takes anybody, `login_address` only USER with PASSWORD (SASL PLAIN)."""

    found: Programs
    folder: Path
    ports: Mapping[str, int]
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.ports['plain']}"

    @property
    def login_address(self) -> str:
        return f"127.0.0.1:{self.ports['login']}"

    def start(self) -> None:
        """Start the broker with what its folder has, and wait until it answers."""
        ends_with_us = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
        with (self.folder / "log").open("ab") as log:
            command = [*ends_with_us, *_java(self.found, self.folder), MAIN, str(self.folder / "server.properties")]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        process = self.process
        wait_until(lambda: self.answers() or process.poll() is not None, SECONDS, self.log, pause=0.2)
        assert process.poll() is None, self.log()

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-4000:]

    def answers(self) -> bool:
        """Whether it tells a client about itself."""
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", self.ports["plain"])) != 0:
                return False
        admin = pytest.importorskip("confluent_kafka.admin")
        try:
            return bool(admin.AdminClient(self.client()).list_topics(timeout=2).brokers)
        except pytest.importorskip("confluent_kafka").KafkaException:
            return False

    def client(self, **more: str) -> dict[str, str]:
        """The settings of a client that says nothing while the broker is away."""
        quiet = {"log_level": "0", "reconnect.backoff.max.ms": "500"}
        return {"bootstrap.servers": self.address, **quiet, **{name.replace("_", "."): more[name] for name in more}}

    def make_topic(self, partitions: int = 1, config: Mapping[str, str] | None = None, name: str = "") -> str:
        """A new topic, empty; returns its name."""
        admin = pytest.importorskip("confluent_kafka.admin")
        topic = name or f"t{uuid.uuid4().hex[:12]}"
        wanted = admin.NewTopic(topic, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
        client = admin.AdminClient(self.client())
        client.create_topics([wanted])[topic].result(SECONDS)
        return topic

    def delete_topic(self, topic: str) -> None:
        admin = pytest.importorskip("confluent_kafka.admin")
        client = admin.AdminClient(self.client())
        client.delete_topics([topic])[topic].result(SECONDS)

    def try_make(self, topic: str) -> bool:
        """Make the topic, unless an earlier one of the name is still being deleted."""
        try:
            self.make_topic(name=topic)
        except pytest.importorskip("confluent_kafka").KafkaException:
            return False
        return True

    def add_partitions(self, topic: str, total: int) -> None:
        admin = pytest.importorskip("confluent_kafka.admin")
        client = admin.AdminClient(self.client())
        client.create_partitions([admin.NewPartitions(topic, total)])[topic].result(SECONDS)

    def delete_before(self, topic: str, partition: int, offset: int) -> None:
        """Delete the messages before an offset, as retention does."""
        kafka = pytest.importorskip("confluent_kafka")
        client = pytest.importorskip("confluent_kafka.admin").AdminClient(self.client())
        end = kafka.TopicPartition(topic, partition, offset)
        client.delete_records([end])[end].result(SECONDS)

    def send(self, topic: str, values: Iterable[bytes | str], **message: object) -> None:
        """Send messages, and wait until the broker has them; `message` are further arguments of each (key, headers,
        partition)."""
        producer = pytest.importorskip("confluent_kafka").Producer(self.client(linger_ms="5"))
        for value in values:
            producer.produce(topic, value, **message)
            producer.poll(0)
        assert producer.flush(SECONDS) == 0, self.log()

    def read(self, topic: str, count: int, seconds: float = 20.0) -> list[tuple[bytes | None, bytes | None]]:
        """The keys and values of the committed messages of a topic: `count` of them, or more if there are."""
        kafka = pytest.importorskip("confluent_kafka")
        consumer = kafka.Consumer(self.client(group_id=uuid.uuid4().hex, enable_auto_commit="false"))
        parts = consumer.list_topics(topic, timeout=10).topics[topic].partitions
        consumer.assign([kafka.TopicPartition(topic, each, kafka.OFFSET_BEGINNING) for each in parts])
        found: list[tuple[bytes | None, bytes | None]] = []

        def complete() -> bool:
            found.extend((each.key(), each.value()) for each in consumer.consume(1000, 0.3) if each.error() is None)
            return len(found) >= count

        try:
            wait_until(complete, seconds, lambda: f"{len(found)} of {count} messages")
            complete()  # what is too much comes now
        finally:
            consumer.close()
        return found


def kafka_or_skip() -> KafkaBroker:
    """The running broker of this test process; skips the test where there can be none."""
    if programs() is None:
        pytest.skip(f"Kafka's broker is not there ({HOW})")
    pytest.importorskip("confluent_kafka", reason="not installed: pip install 'penstock[kafka]'")
    broker = _broker()
    if broker.process is None or broker.process.poll() is not None:
        broker.start()
    return broker


@lru_cache(maxsize=1)
def _broker() -> KafkaBroker:
    found = programs()
    assert found is not None, "the caller has looked"
    folder = Path(tempfile.mkdtemp(prefix="penstock-kafka-"))
    ports = dict(zip(("plain", "login", "controller"), _free_ports(3), strict=True))
    login = {"module": LOGIN, "user": USER, "password": PASSWORD}
    (folder / "server.properties").write_text(SETTINGS.format(folder=folder, **ports, **login), encoding="utf-8")
    command = [*_java(found, folder), *FORMAT, "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(folder / "server.properties")]
    made = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
    assert made.returncode == 0, made.stderr.decode(errors="replace")
    broker = KafkaBroker(found, folder, ports)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(broker.kill)
    return broker


def _java(found: Programs, folder: Path) -> list[str]:
    return [found.java, *MEMORY, f"-Dkafka.logs.dir={folder}", "-cp", f"{found.jars}/*"]


def _free_ports(count: int) -> list[int]:
    probes = [socket.socket() for _ in range(count)]
    try:
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]
    finally:
        for probe in probes:
            probe.close()
