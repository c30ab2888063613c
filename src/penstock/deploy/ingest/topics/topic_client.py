"""A client that reads one topic by explicit offsets: which partitions it has, and their messages.

In: the settings of a client. Out: partitions, messages, offsets. Invariants: the client belongs to no group that could
take partitions away from it, and never skips: an offset that the topic has no more is `OffsetsLost`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from penstock.deploy.connections.client_settings import ClientSettings, check_installed
from penstock.deploy.ingest.topics.message_lines import TopicMessage
from penstock.errors import Failed, Unavailable

try:
    import confluent_kafka as kafka
    from confluent_kafka.admin import AdminClient
except ImportError:  # the extra `kafka` is not installed
    kafka = None

ASK_SECONDS = 5.0
READ_SECONDS = 0.1
MOST_MESSAGES = 10_000
"""Messages of a call; with them, READ_SECONDS bounds how long the first of them waits."""
FETCH_KILOBYTES = 16_384
"""How much the client keeps ahead; the messages of a call may be as much again."""

MOST_TROUBLES = 20
"""Reports of the client's connections that are looked through for the latest."""


class OffsetsLost(Failed):
    """The topic has no more what comes next."""

    code = "offsets-lost"


class TopicMissing(Unavailable):
    """The brokers have no topic of that name."""


@dataclass(frozen=True, slots=True)
class TopicShape:
    """A topic as the brokers describe it."""

    origin: str
    """Identifies the topic and its cluster: one that is made anew under the same name has another."""
    partitions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartitionRange:
    """The offsets of a partition: from `low` up to and without `high`."""

    low: int
    high: int


class TopicClient:
    """Reads one topic. Every call raises Unavailable if the brokers are away or refuse the login."""

    def __init__(self, settings: ClientSettings, topic: str, group: str):
        check_installed()
        self._topic = topic
        self._trouble: str | None = None
        self.ends: dict[int, int] = {}
        """By partition, the offset up to which `read` has given all messages there are. What is before it and was not
        given is none: marks of transactions, messages that were aborted or compacted away."""
        own: ClientSettings = {
            **settings,
            "group.id": group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "error",
            "enable.partition.eof": True,
            "queued.max.messages.kbytes": FETCH_KILOBYTES,
            "fetch.wait.max.ms": 100,
            "error_cb": self._note_trouble,
        }
        try:
            self._consumer = kafka.Consumer(own)
        except (kafka.KafkaException, ValueError) as error:
            raise Failed(f"the connection cannot be used: {_text_of(error)}") from None
        self._admin = AdminClient(settings)

    def close(self) -> None:
        self._consumer.close()

    def describe(self) -> TopicShape:
        """Raises TopicMissing, Unavailable."""
        try:
            found = self._consumer.list_topics(self._topic, timeout=ASK_SECONDS)
        except kafka.KafkaException as error:
            raise self._away(error) from None
        topic = found.topics.get(self._topic)
        if topic is None or topic.error is not None:
            if topic is not None and topic.error.code() not in _MISSING:
                raise Unavailable(f"the brokers do not show the topic `{self._topic}`: {topic.error.str()}")
            raise TopicMissing(f"the brokers have no topic `{self._topic}`", hint="it is read once it is there")
        shape = TopicShape(f"{found.cluster_id}/{self._topic_id()}", tuple(sorted(topic.partitions)))
        self._trouble = None
        return shape

    def _topic_id(self) -> str:
        """What tells the topic from an earlier one of its name; empty if these brokers do not say."""
        try:
            described = self._admin.describe_topics(kafka.TopicCollection([self._topic]), request_timeout=ASK_SECONDS)
            return str(described[self._topic].result(ASK_SECONDS).topic_id or "")
        except (kafka.KafkaException, ValueError) as error:
            if isinstance(error, kafka.KafkaException) and error.args[0].code() in _UNSUPPORTED:
                return ""
            if isinstance(error, kafka.KafkaException) and error.args[0].code() in _MISSING:
                raise TopicMissing(f"the brokers have no topic `{self._topic}` any more") from None
            raise self._away(error) from None

    def still_reads(self, shape: TopicShape) -> bool:
        """Whether what was read until now is of the topic that was described, and of none that was made in its place:
        its messages have offsets that seem to come next. Raises TopicMissing, Unavailable."""
        now = self._topic_id()
        return not now or shape.origin.endswith(("/", f"/{now}"))  # an id may have a slash itself

    def range_of(self, partition: int) -> PartitionRange:
        try:
            low, high = self._consumer.get_watermark_offsets(self._of(partition), timeout=ASK_SECONDS)
        except kafka.KafkaException as error:
            raise self._away(error) from None
        return PartitionRange(low, high)

    def committed(self, partitions: Iterable[int]) -> Mapping[int, int]:
        """The offsets that the group has committed, of partitions for which it has."""
        try:
            found = self._consumer.committed([self._of(each) for each in partitions], timeout=ASK_SECONDS)
        except kafka.KafkaException as error:
            raise self._away(error) from None
        return {each.partition: each.offset for each in found if each.error is None and each.offset >= 0}

    def seek(self, positions: Mapping[int, int]) -> None:
        """Read these partitions from these offsets on."""
        self._consumer.assign([self._of(partition, offset) for partition, offset in positions.items()])

    def read(self) -> Sequence[TopicMessage]:
        """The next messages, at most MOST_MESSAGES; none after READ_SECONDS. Raises OffsetsLost, Unavailable."""
        found: list[TopicMessage] = []
        for message in self._consumer.consume(MOST_MESSAGES, READ_SECONDS):
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == kafka.KafkaError._PARTITION_EOF:
                self.ends[message.partition()] = message.offset()
            elif error.code() == kafka.KafkaError._AUTO_OFFSET_RESET:
                raise OffsetsLost(f"partition {message.partition()} of `{self._topic}`: {error.str()}")
            elif error.code() in _MISSING:
                raise TopicMissing(f"the brokers have no topic `{self._topic}` any more")
            elif not error.retriable():
                raise Unavailable(f"`{self._topic}` cannot be read: {error.str()}")
        if found:
            self._trouble = None
        return found

    @property
    def trouble(self) -> str | None:
        """What the client says about its connections, if no call had an answer since."""
        return self._trouble

    def end_of(self, partition: int) -> int:
        """The offset after the last message, as the last answer of the brokers had it; -1 if there was none."""
        try:
            return int(self._consumer.get_watermark_offsets(self._of(partition), cached=True)[1])
        except kafka.KafkaException:
            return -1

    def commit(self, positions: Mapping[int, int]) -> None:
        """Tell the group, for others to see. Whether it takes it does not matter here."""
        offsets = [self._of(partition, offset) for partition, offset in positions.items()]
        with suppress(kafka.KafkaException):
            self._consumer.commit(offsets=offsets, asynchronous=True)

    def _of(self, partition: int, offset: int = -1001) -> object:
        return kafka.TopicPartition(self._topic, partition, offset)

    def _note_trouble(self, error: object) -> None:
        self._trouble = str(getattr(error, "str", lambda: error)())

    def _away(self, error: Exception) -> Unavailable:
        """What is wrong, in the words of the connection if it has any: a request only says that it got no answer. The
        caller closes the client, so no message that comes now is missed."""
        for _ in range(MOST_TROUBLES):
            self._consumer.poll(0)
        said = self._trouble or _text_of(error)
        return Unavailable(f"the brokers do not answer: {said}", hint="nothing is lost: they are asked again")


def _text_of(error: Exception) -> str:
    first = error.args[0] if error.args else error
    return str(first.str()) if hasattr(first, "str") else str(first)


_MISSING = (
    (kafka.KafkaError.UNKNOWN_TOPIC_OR_PART, kafka.KafkaError._UNKNOWN_TOPIC, kafka.KafkaError._UNKNOWN_PARTITION)
    if kafka is not None
    else ()
)
_UNSUPPORTED = (
    (kafka.KafkaError._UNSUPPORTED_FEATURE, kafka.KafkaError.UNSUPPORTED_VERSION) if kafka is not None else ()
)
