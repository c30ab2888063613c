"""A consumer in a thread, which crashes where a test says."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager

from nats_server import NatsServer
from penstock.crash_points import Crashed
from penstock.errors import PenstockError
from penstock.postgres.application.delivery_records import PublishedTable
from penstock.postgres.capture.acknowledgements import SourceAcknowledgements
from penstock.postgres.delivery.broker import PackageBroker
from penstock.postgres.delivery.consumer import Consumer, ConsumerPace
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.delivery.nats_broker import NatsBroker
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from postgres_capture.conftest import Source
from postgres_capture.landing_server import InboxPipeline
from waiting import wait_until


class CountedAcknowledgements(SourceAcknowledgements):
    """Those of a consumer, with how often it asked what it may acknowledge."""

    rounds = 0

    def published(self, broker: str) -> Mapping[str, PublishedTable]:
        self.rounds += 1
        return super().published(broker)


class UnknownConsumer:
    """A consumer in a thread, without the source's DSN."""

    def __init__(self, broker: PackageBroker, destination: Destination, notes: CountedAcknowledgements | None = None):
        self._stop = threading.Event()
        self._consumer = Consumer(broker, destination, self._stop.is_set)
        self._consumer.pace = ConsumerPace(0.05, 0.1, 0.1, 0.1)
        self._consumer.acknowledgements = notes
        self._broker = broker
        self.failure: PenstockError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._consumer.run()
        except Crashed:
            return
        except PenstockError as error:
            self.failure = error

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(30)
        self._broker.close()


class RunningConsumer(UnknownConsumer):
    """A consumer that the source knows."""

    def __init__(self, source: Source, broker: PackageBroker, destination: Destination, stores: Collection[str] = ()):
        self._acknowledgements = CountedAcknowledgements(source.dsn, source.name, stores)
        super().__init__(broker, destination, self._acknowledgements)

    def wait_for_rounds(self) -> None:
        """Until it has asked several more times what it may acknowledge."""
        wanted = self._acknowledgements.rounds + 5
        wait_until(lambda: self._acknowledgements.rounds >= wanted, 30)

    def stop(self) -> None:
        super().stop()
        self._acknowledgements.close()


@contextmanager
def consuming_over_nats(
    source: Source, server: NatsServer, landing: tuple[InboxPipeline, str, str]
) -> Iterator[RunningConsumer]:
    """A consumer of a capture, which posts what NATS has to a server of Penstock."""
    running = RunningConsumer(source, NatsBroker(server.url, source.name), PenstockLanding(*landing[1:]))
    try:
        yield running
    finally:
        running.stop()
