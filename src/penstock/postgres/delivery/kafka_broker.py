"""Packages over Kafka.

In: packages, or a table's queue. Out: messages of one topic a table, in its only partition. Invariants: a producer that
is thought dead is fenced by the next one (a transactional id for each capture); consumers read what is committed, and
pass over positions that they have.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from penstock.errors import Failed, InvalidRequest, Unavailable
from penstock.model.cursor import Position
from penstock.postgres.delivery.broker import (
    BrokerMessage,
    BrokerPosition,
    MissingDriver,
    PackageQueue,
    message_parts,
    position_of,
    unsent_part,
)
from penstock.postgres.delivery.broker_names import KAFKA_NAMES
from penstock.postgres.delivery.destination import Delivered
from penstock.postgres.packages.package import Package
from penstock.redaction import register_secrets

try:
    import confluent_kafka as kafka
    from confluent_kafka.admin import AdminClient, NewTopic
except ImportError:  # installed without `penstock[kafka]`
    kafka = None

SECONDS = 20.0
ANSWER_SECONDS = 5.0
"""Within which a broker that is there says so."""
MOST_BYTES = 900_000
"""Of a message: brokers take a million bytes unless they are told otherwise."""
LOOK_BACK = 64
"""So many messages are read from the end of a topic to find the last one of a source; then twice as many."""


def kafka_settings(url: str) -> dict[str, str]:
    """The settings of the client for `kafka://host:port,host:port`; `kafkas://user:password@…` is TLS with a login.
    Raises InvalidRequest."""
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise InvalidRequest(f"the address of Kafka cannot be read: {error}") from None
    login, _, hosts = parts.netloc.rpartition("@")
    if not hosts:
        raise InvalidRequest("the address of Kafka has no host", hint="such as kafka://127.0.0.1:9092")
    settings = {"bootstrap.servers": hosts}
    user, _, password = login.partition(":")
    if user:
        register_secrets([unquote(password)])
        settings |= {"sasl.mechanism": "PLAIN", "sasl.username": unquote(user), "sasl.password": unquote(password)}
    kinds = {
        (False, False): "PLAINTEXT",
        (False, True): "SASL_PLAINTEXT",
        (True, False): "SSL",
        (True, True): "SASL_SSL",
    }
    return {**settings, "security.protocol": kinds[(parts.scheme == "kafkas", bool(user))]}


class KafkaBroker:
    """The topics of a capture: a destination of the producer, and the broker of a consumer."""

    name = "kafka"
    is_broker = True

    def __init__(self, url: str, capture: str):
        if kafka is None:
            raise MissingDriver("Kafka", "kafka")
        self._settings = {**kafka_settings(url), "log_level": "0", "client.id": "penstock-cdc"}
        self._prefix = f"penstock.cdc.{capture}."
        self._capture = capture
        self._producer: Any = None
        self._known: dict[tuple[str, str], BrokerPosition] = {}
        self._queues: list[KafkaQueue] = []

    def position(self, source: str, store: str) -> Position | None:
        return self._at(source, store).rows

    def forget_position(self, source: str, store: str) -> None:
        self._known.pop((source, store), None)

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        at = self._at(package.source, package.store)
        pending = unsent_part(package, at)
        if pending is not None:
            for part, content in message_parts(pending, MOST_BYTES):
                self._publish(part, content)
            at = at.after(pending)
        return Delivered(at.rows)

    def queues(self, reader: str) -> Mapping[str, PackageQueue]:
        with _kafka_errors("listed topics"):
            topics = AdminClient(self._settings).list_topics(timeout=SECONDS).topics
        parts = sorted(each.removeprefix(self._prefix) for each in topics if each.startswith(self._prefix))
        stores = [store for part in parts if (store := KAFKA_NAMES.decode(part)) is not None]
        group = f"penstock_cdc_{self._capture}_{reader}"
        found = {store: KafkaQueue(self._settings, self._topic(store), group) for store in stores}
        self._queues += found.values()
        return found

    def close(self) -> None:
        for each in self._queues:
            each.close()

    def _topic(self, store: str) -> str:
        return self._prefix + KAFKA_NAMES.encode(store)

    def _publish(self, part: Package, content: bytes) -> None:
        reached = self._at(part.source, part.store).after(part)
        given = [(name, value.encode()) for name, value in reached.headers(part.source).items()]
        failures: list[object] = []
        try:
            with _kafka_errors("published a message"):
                producer = self._opened_producer()
                producer.begin_transaction()
                producer.produce(self._topic(part.store), content, headers=given, on_delivery=_collect(failures))
                producer.commit_transaction(SECONDS)
            if failures:
                raise Unavailable(f"Kafka did not take a message: {failures[0]}")
        except Unavailable:
            self._producer = None
            self._known.clear()  # it may be there
            raise
        self._known[(part.source, part.store)] = reached

    def _opened_producer(self) -> Any:
        if self._producer is None:
            own = {"transactional.id": f"penstock_cdc_{self._capture}", "acks": "all", "linger.ms": "0"}
            self._producer = kafka.Producer({**self._settings, **own, "message.timeout.ms": "15000"})
            self._producer.init_transactions(SECONDS)
        return self._producer

    def _at(self, source: str, store: str) -> BrokerPosition:
        """Where a source is."""
        key = (source, store)
        if key not in self._known:
            self._known[key] = self._last(source, self._topic(store))
        return self._known[key]

    def _last(self, source: str, topic: str) -> BrokerPosition:
        """The position of the last message of a source; the topic is made if there is none. The former producer is
        fenced first: it writes nothing any more."""
        with _kafka_errors("looked for the last message"):
            admin = AdminClient(self._settings)
            topics = admin.list_topics(timeout=ANSWER_SECONDS).topics
            self._opened_producer()
            if topic not in topics:
                keeps = {"retention.ms": "-1", "retention.bytes": "-1"}
                made = admin.create_topics([NewTopic(topic, num_partitions=1, config=keeps)], request_timeout=SECONDS)
                made[topic].result(SECONDS)
                return BrokerPosition()
            reader = kafka.Consumer({**self._settings, **_READING, "group.id": "penstock_cdc_positions"})
            try:
                return _last_position(reader, topic, source)
            finally:
                reader.close()


_READING = {
    "isolation.level": "read_committed",
    "enable.auto.commit": "false",
    "enable.partition.eof": "true",
    "auto.offset.reset": "earliest",
}


def _last_position(reader: Any, topic: str, source: str) -> BrokerPosition:
    low, high = reader.get_watermark_offsets(kafka.TopicPartition(topic, 0), timeout=SECONDS)
    back = LOOK_BACK
    while True:
        start = max(low, high - back)
        for message in reversed(_read_from(reader, topic, start)):
            headers = {name: value.decode() for name, value in message.headers() or ()}
            found = position_of(headers, source)
            if found is not None:
                return found
        if start <= low:
            return BrokerPosition()
        back *= 2


def _read_from(reader: Any, topic: str, start: int) -> list[Any]:
    """The messages from an offset to the end. Raises Unavailable if the end is not reached."""
    reader.assign([kafka.TopicPartition(topic, 0, start)])
    found: list[Any] = []
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        message = reader.poll(0.5)
        if message is None:
            continue
        if message.error() is None:
            found.append(message)
        elif message.error().code() == kafka.KafkaError._PARTITION_EOF:
            return found
        else:
            raise Unavailable(f"Kafka does not answer: {message.error().str()}")
    raise Unavailable("Kafka does not answer: the end of a topic was not reached")


class KafkaQueue:
    """The messages of one table, by the committed offset of a group."""

    def __init__(self, settings: Mapping[str, str], topic: str, group: str):
        self._reader = kafka.Consumer({**settings, **_READING, "group.id": group})
        self._topic = topic
        self._is_open = False
        self._ahead: deque[BrokerMessage] = deque()
        """Messages that were read with one before them."""
        self._ended_at = -1
        """The offset at which there was nothing more to receive."""

    def receive(self, seconds: float) -> BrokerMessage | None:
        with _kafka_errors("read messages"):
            if not self._is_open:
                [at] = self._reader.committed([kafka.TopicPartition(self._topic, 0)], timeout=SECONDS)
                offset = at.offset if at.offset >= 0 else kafka.OFFSET_BEGINNING
                self._reader.assign([kafka.TopicPartition(self._topic, 0, offset)])
                self._is_open = True
        return self._ahead.popleft() if self._ahead else self._polled(seconds)

    def behind(self, message: BrokerMessage) -> Iterator[BrokerMessage]:
        yield from tuple(self._ahead)
        while (found := self._polled(0.0)) is not None:
            self._ahead.append(found)
            yield found

    def _polled(self, seconds: float) -> BrokerMessage | None:
        with _kafka_errors("read messages"):
            message = self._reader.poll(seconds)
        if message is None:
            return None
        if message.error() is None:
            return BrokerMessage(message.value(), message.offset())
        if message.error().code() != kafka.KafkaError._PARTITION_EOF:
            raise Unavailable(f"Kafka does not answer: {message.error().str()}")
        self._ended_at = message.offset()
        return None

    def confirm(self, message: BrokerMessage) -> None:
        with _kafka_errors("committed an offset"):
            at = kafka.TopicPartition(self._topic, 0, message.place + 1)
            self._reader.commit(offsets=[at], asynchronous=False)

    def is_empty(self) -> bool:
        if self._ahead:
            return False
        with _kafka_errors("asked for the end of a topic"):
            _, end = self._reader.get_watermark_offsets(kafka.TopicPartition(self._topic, 0), timeout=SECONDS)
        return bool(self._ended_at >= end)

    def close(self) -> None:
        self._reader.close()


def _collect(failures: list[object]) -> Any:
    def note(error: Any, message: Any) -> None:
        if error is not None:
            failures.append(error)

    return note


_FINAL = frozenset(
    {
        kafka.KafkaError.TOPIC_AUTHORIZATION_FAILED,
        kafka.KafkaError.MSG_SIZE_TOO_LARGE,
        kafka.KafkaError.TOPIC_EXCEPTION,  # the name of a topic is too long, or taken by one that differs in . and _
    }
    if kafka is not None
    else ()
)


@contextmanager
def _kafka_errors(doing: str) -> Any:
    """A block in which what the client raises is Unavailable, or Failed if trying again does not help."""
    try:
        yield
    except kafka.KafkaException as error:
        fault = error.args[0]
        said = f"penstock {doing}, and Kafka refused it: {fault.str()}"
        if fault.code() in _FINAL:
            raise Failed(said) from None
        raise Unavailable(said) from None
