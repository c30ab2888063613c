"""Write the rows of a run of a sink to a topic, all or none, and once.

In: the settings of a client, a topic, and a file of lines. Out: messages. Invariant: the messages of a run and the mark
that they were written are one transaction of Kafka: the mark is the offset that the sink's own group commits, which is
the number of the run; a run whose number is not beyond it is not written again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from penstock.crash_points import crash_point
from penstock.deploy.connections.client_settings import ClientSettings, check_installed
from penstock.errors import Failed, PenstockError, Unavailable

try:
    import confluent_kafka as kafka
except ImportError:  # the extra `kafka` is not installed
    kafka = None

SECONDS = 30.0
COMMIT_SECONDS = 120.0
TRANSACTION_MILLISECONDS = 600_000
ROWS_BETWEEN_POLLS = 1_000
MOST_BYTES = 1_000_000_000
"""Of a message, the most that the client takes: what the topic takes is for the brokers to say."""


@dataclass(frozen=True, slots=True)
class TopicRun:
    """One run of a sink."""

    server: str
    """What tells the sinks of one server from those of another that writes to the same brokers."""
    sink: str
    topic: str
    number: int = 0
    """One more than that of the run before it, as `next_number` told before anything was written."""

    @property
    def name(self) -> str:
        return f"penstock-{self.server}-{self.sink}"


def next_number(settings: ClientSettings, run: TopicRun) -> int:
    """The number of the run that is written next. Raises Unavailable, Failed."""
    check_installed()
    try:
        return _mark(settings, run) + 1
    except kafka.KafkaException as error:
        raise _explained(error, run.topic) from None


def write_run(settings: ClientSettings, run: TopicRun, lines: Path) -> bool:
    """Write each line of a file as a message. Returns False if an earlier attempt had written them. Raises Unavailable,
    and Failed if the brokers refuse them; then none of them is written."""
    check_installed()
    producer = kafka.Producer(
        {
            **settings,
            "transactional.id": run.name,
            "transaction.timeout.ms": TRANSACTION_MILLISECONDS,
            "enable.idempotence": True,
            "linger.ms": 20,
            "compression.type": "lz4",
            "message.max.bytes": MOST_BYTES,
        }
    )
    try:
        producer.init_transactions(SECONDS)  # an attempt that a crash cut off is over once this returns
        if _mark(settings, run) >= run.number:
            return False
        producer.begin_transaction()
        try:
            _produce(producer, run, lines)
            _send_mark(settings, producer, run)
            crash_point("sink.produced")
            producer.commit_transaction(COMMIT_SECONDS)
        except BaseException:
            _abort(producer)
            raise
    except kafka.KafkaException as error:
        raise _explained(error, run.topic) from None
    crash_point("sink.committed")
    return True


def _produce(producer: kafka.Producer, run: TopicRun, lines: Path) -> None:
    refused: list[object] = []

    def note(error: object, message: object) -> None:
        if error is not None:
            refused.append(error)

    for number, line in enumerate(_lines(lines)):
        while True:
            try:
                producer.produce(run.topic, line, on_delivery=note)
                break
            except BufferError:
                producer.poll(0.5)
        if number % ROWS_BETWEEN_POLLS == 0:
            producer.poll(0)
    left = producer.flush(COMMIT_SECONDS)
    if refused:
        raise kafka.KafkaException(refused[0])
    if left:
        raise Unavailable(f"the brokers did not take {left} messages of `{run.topic}`")


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        for line in file:
            yield line.removesuffix(b"\n")


def _mark(settings: ClientSettings, run: TopicRun) -> int:
    """The number of the last run that was written; 0 if none was."""
    with closing(_member(settings, run)) as member:
        [found] = member.committed([kafka.TopicPartition(run.topic, 0)], timeout=SECONDS)
        if found.error is not None:
            raise kafka.KafkaException(found.error)
        return max(int(found.offset), 0)


def _send_mark(settings: ClientSettings, producer: kafka.Producer, run: TopicRun) -> None:
    with closing(_member(settings, run)) as member:
        at = kafka.TopicPartition(run.topic, 0, run.number)
        producer.send_offsets_to_transaction([at], member.consumer_group_metadata(), SECONDS)


def _member(settings: ClientSettings, run: TopicRun) -> kafka.Consumer:
    """A member of the sink's own group, which reads nothing."""
    return kafka.Consumer({**settings, "group.id": run.name, "enable.auto.commit": False})


def _abort(producer: kafka.Producer) -> None:
    try:
        producer.abort_transaction(SECONDS)
    except kafka.KafkaException:
        return  # the next attempt, or the brokers in time, end it


def _explained(error: kafka.KafkaException, topic: str) -> PenstockError:
    found = error.args[0]
    text = f"`{topic}` cannot be written: {found.str()}"
    waits = found.retriable() or found.code() in _AWAY
    hint = "nothing was written" if not waits else "it is tried again"
    return Unavailable(text, hint=hint) if waits else Failed(text, hint=hint)


_AWAY = (
    (
        kafka.KafkaError._TRANSPORT,
        kafka.KafkaError._ALL_BROKERS_DOWN,
        kafka.KafkaError._TIMED_OUT,
        kafka.KafkaError._MSG_TIMED_OUT,
        kafka.KafkaError._RESOLVE,
        kafka.KafkaError.COORDINATOR_NOT_AVAILABLE,
        kafka.KafkaError.NOT_COORDINATOR,
        kafka.KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        kafka.KafkaError.CONCURRENT_TRANSACTIONS,
    )
    if kafka is not None
    else ()
)
