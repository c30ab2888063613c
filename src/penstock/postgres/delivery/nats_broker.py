"""Packages over NATS JetStream.

In: packages, or a table's queue. Out: messages of a stream of JetStream, on one subject for each table and source.
Invariants: a message is published only behind the one that was the last of its subject (the server compares), so that a
producer that was thought dead writes nothing between; what the server acknowledged is in its file.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from penstock.errors import Unavailable
from penstock.model.cursor import Position, position_text
from penstock.postgres.delivery.broker import (
    BrokerMessage,
    BrokerPosition,
    MissingDriver,
    PackageQueue,
    message_parts,
    position_of,
    unsent_part,
)
from penstock.postgres.delivery.broker_names import NATS_NAMES, durable_name
from penstock.postgres.delivery.destination import Delivered
from penstock.postgres.packages.package import Package
from penstock.redaction import register_secrets

try:
    import nats
    from nats.errors import Error as NatsError
    from nats.errors import TimeoutError as NatsTimeout
    from nats.js import api, errors
except ImportError:  # installed without `penstock[nats]`
    nats = None

SECONDS = 5.0
ROOM = 2_048
"""Bytes of a message that its headers may take."""
ACKNOWLEDGED_WITHIN = 3.0
"""Seconds after which a message that was not confirmed is sent again; one that is stored is passed over."""
T = TypeVar("T")


class NatsConnection:
    """A connection whose calls block; its loop runs in a thread, so that the server's pings are answered."""

    def __init__(self, url: str):
        if nats is None:
            raise MissingDriver("NATS", "nats")
        with suppress(ValueError):  # the driver says what is wrong with it
            register_secrets(filter(None, [urlsplit(url).password]))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nats", daemon=True)
        self._thread.start()
        self._url = url
        self._client: Any = None
        self.generation = 0
        """How often it was connected: what belongs to a former connection is of no use."""

    def call(self, make: Any) -> Any:
        """The result of a coroutine that is made with the JetStream context. Raises Unavailable, NotFoundError of
        JetStream, and TimeoutError of NATS where nothing came in time."""
        try:
            return self._run(self._call(make))
        except (errors.NotFoundError, NatsTimeout):
            raise
        except errors.APIError as error:
            raise Unavailable(f"NATS refused it: {error.description}") from None
        except (NatsError, OSError, TimeoutError, asyncio.TimeoutError, FutureTimeout) as error:
            raise Unavailable(f"NATS does not answer: {error or type(error).__name__}") from None

    @property
    def most_bytes(self) -> int:
        """The largest message that the server takes."""
        self.call(_nothing)
        return int(self._client.max_payload) - ROOM

    def close(self) -> None:
        if self._loop.is_closed():
            return
        with suppress(Exception):
            self._run(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SECONDS)
        if not self._thread.is_alive():
            self._loop.close()  # its selector and its pair of sockets are open until then

    async def _end(self) -> None:
        if self._client is not None:
            await self._client.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for each in others:
            each.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(2 * SECONDS)

    async def _call(self, make: Any) -> Any:
        if self._client is None or not self._client.is_connected:
            tries = {"allow_reconnect": False, "max_reconnect_attempts": 1, "reconnect_time_wait": 0.2}
            self._client = await nats.connect(self._url, error_cb=_pass_over, connect_timeout=5, **tries)
            self.generation += 1
        return await make(self._client.jetstream(timeout=SECONDS))


async def _nothing(context: Any) -> None:
    """Connects."""


async def _pass_over(error: Exception) -> None:
    """Errors of the connection show in the next call."""


class NatsBroker:
    """A stream of JetStream: a destination of the producer, and the broker of a consumer."""

    name = "nats"
    is_broker = True

    def __init__(self, url: str, capture: str):
        self._connection = NatsConnection(url)
        self._capture, self._stream = capture, f"penstock_cdc_{capture}"
        self._prefix = f"penstock.cdc.{capture}"
        self._made = False
        self._known: dict[str, tuple[BrokerPosition, int]] = {}

    def position(self, source: str, store: str) -> Position | None:
        return self._at(source, store)[0].rows

    def forget_position(self, source: str, store: str) -> None:
        self._known.pop(self._subject(source, store), None)

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        at, _ = self._at(package.source, package.store)
        pending = unsent_part(package, at)
        if pending is not None:
            for part, content in message_parts(pending, self._connection.most_bytes):
                self._publish(part, content)
            at = at.after(pending)
        return Delivered(at.rows)

    def queues(self, reader: str) -> Mapping[str, PackageQueue]:
        self._made = False  # somebody may have deleted it
        self._make_stream()
        info = self._asked(lambda context: context.stream_info(self._stream, subjects_filter=">"))
        parts = {subject.split(".")[3] for subject in info.state.subjects or {}}
        stores = {part: store for part in sorted(parts) if (store := NATS_NAMES.decode(part)) is not None}
        return {
            store: NatsQueue(self._connection, self._stream, f"{self._prefix}.{part}.>", durable_name(reader, store))
            for part, store in stores.items()
        }

    def close(self) -> None:
        self._connection.close()

    def _subject(self, source: str, store: str) -> str:
        kind = "read" if source.endswith("/read") else "changes"
        return f"{self._prefix}.{NATS_NAMES.encode(store)}.{kind}"

    def _make_stream(self) -> None:
        if not self._made:
            config = api.StreamConfig(name=self._stream, subjects=[f"{self._prefix}.>"], storage=api.StorageType.FILE)
            try:
                self._asked(lambda context: context.stream_info(self._stream))
            except errors.NotFoundError:
                self._asked(lambda context: context.add_stream(config))
            self._made = True

    def _asked(self, make: Any) -> Any:
        """As `NatsConnection.call`; what does not come in time is Unavailable."""
        try:
            return self._connection.call(make)
        except NatsTimeout:
            raise Unavailable("NATS does not answer in time") from None

    def _at(self, source: str, store: str) -> tuple[BrokerPosition, int]:
        """Where a source is, and the sequence number of the last message of its subject."""
        subject = self._subject(source, store)
        if subject not in self._known:
            self._known[subject] = self._last(subject, source)
        return self._known[subject]

    def _last(self, subject: str, source: str) -> tuple[BrokerPosition, int]:
        """Position and sequence number of the last message of a subject. A former capture of the same name has another
        source: its positions do not count."""
        self._make_stream()
        try:
            found = self._asked(lambda context: context.get_last_msg(self._stream, subject))
        except errors.NotFoundError:
            return BrokerPosition(), 0
        return position_of(found.headers or {}, source) or BrokerPosition(), int(found.seq)

    def _publish(self, part: Package, content: bytes) -> None:
        subject = self._subject(part.source, part.store)
        at, sequence = self._at(part.source, part.store)
        del self._known[subject]  # after an error nobody knows whether it is there, nor whether the stream is
        self._made = False
        reached = at.after(part)
        headers = {
            **reached.headers(part.source),
            "Nats-Msg-Id": f"{part.source} {part.store} {position_text(part.upto)}",
            "Nats-Expected-Last-Subject-Sequence": str(sequence),
        }
        try:
            done = self._connection.call(lambda context: context.publish(subject, content, headers=headers))
        except (errors.NotFoundError, NatsTimeout) as error:
            raise Unavailable(f"NATS did not take a message: {error}") from None
        self._known[subject], self._made = (reached, int(done.seq)), True


class NatsQueue:
    """The messages of one table: a durable pull consumer with one message under way."""

    def __init__(self, connection: NatsConnection, stream: str, subject: str, durable: str):
        self._connection, self._stream, self._subject, self._durable = connection, stream, subject, durable
        self._pulling: Any = None
        self._generation = 0
        self._held: Any = None

    def receive(self, seconds: float) -> BrokerMessage | None:
        self._open()
        try:
            found = self._connection.call(lambda context: self._pulling.fetch(1, timeout=seconds))
        except NatsTimeout:
            return None
        self._held = found[0]
        of = self._held.metadata
        return BrokerMessage(self._held.data, int(of.sequence.stream), bool(of.num_pending))

    def behind(self, message: BrokerMessage) -> Iterator[BrokerMessage]:
        """Read from the stream itself: the consumer sends one message at a time, so that none overtakes another."""
        at = message.place + 1
        while True:
            try:
                found = self._connection.call(partial(self._next, at))
            except errors.NotFoundError:
                return
            except NatsTimeout as error:
                raise Unavailable(f"NATS does not answer: {error}") from None
            yield BrokerMessage(found.data or b"", int(found.seq))
            at = int(found.seq) + 1

    async def _next(self, at: int, context: Any) -> Any:
        return await context.get_msg(self._stream, seq=at, subject=self._subject, next=True)

    def confirm(self, message: BrokerMessage) -> None:
        try:
            self._connection.call(lambda context: self._held.ack_sync(timeout=SECONDS))
        except NatsTimeout as error:
            raise Unavailable(f"NATS does not answer: {error}") from None

    def is_empty(self) -> bool:
        self._open()
        try:
            info = self._connection.call(lambda context: context.consumer_info(self._stream, self._durable))
        except (errors.NotFoundError, NatsTimeout):
            return False
        return int(info.num_pending or 0) == 0 and int(info.num_ack_pending or 0) == 0

    def _open(self) -> None:
        """Subscribe, if that was not done on this connection."""
        if self._pulling is None or self._generation != self._connection.generation:
            try:
                self._pulling = self._connection.call(self._subscribe)
            except (errors.NotFoundError, NatsTimeout) as error:
                raise Unavailable(f"NATS does not answer: {error}") from None
            self._generation = self._connection.generation

    async def _subscribe(self, context: Any) -> Any:
        config = api.ConsumerConfig(ack_wait=ACKNOWLEDGED_WITHIN, max_ack_pending=1, max_deliver=-1)
        return await context.pull_subscribe(self._subject, durable=self._durable, stream=self._stream, config=config)
