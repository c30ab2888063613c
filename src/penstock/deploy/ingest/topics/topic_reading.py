"""Reads the topic of one data source into the inbox, for as long as the data source is there.

In: which topic, and where its stream has got to. Out: batches of its messages. Invariants: the next messages are read
only once the last ones are on disk together with the positions after them; nothing is skipped: where the topic has
lost what comes next, or is another topic than the one that was read, the reading stops and says which offsets are
missing. Everything else that goes wrong is tried again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Literal

from penstock.deploy.connections.client_settings import ClientSettings
from penstock.deploy.ingest.topics.message_lines import MessageReader, TopicMessage
from penstock.deploy.ingest.topics.topic_client import OffsetsLost, PartitionRange, TopicClient, TopicShape
from penstock.deploy.ingest.topics.topic_status import ReadingStatus
from penstock.errors import Conflict, Fenced, Overloaded, PenstockError, StorageFull
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.message_batches import TopicMessages
from penstock.flow.inbox.writer import BYTES_PER_BATCH
from penstock.model.datasource import OffsetReset
from penstock.state.logs.topic_reads import TopicRead, TopicReads
from penstock.state.positions.topic_positions import OffsetRange, TopicPosition, TopicPositions

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds before a reading that failed is tried again; the pauses double."""
LOOK_SECONDS = 30.0
"""Seconds between two looks at the partitions of the topic, which may have got more, or be another one."""
TROUBLE_SECONDS = 2.0
"""The same, while the client has trouble with its connections."""
LOG_SECONDS = 10.0
"""Seconds between two entries of the log for a partition."""
CUT = "#cut"
"""After the origin of a position: the brokers have lost messages from there on that were read."""
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class TopicSource:
    """What a data source reads."""

    datasource: str
    stream: str
    topic: str
    group: str
    reset: OffsetReset
    settings: ClientSettings
    formats: tuple[str, ...]
    """What `messages` reads; two readers of the same formats are one for a comparison."""
    messages: MessageReader = field(compare=False)


@dataclass(slots=True)
class _Tally:
    """What was read of a partition since its last entry in the log."""

    messages: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class TopicParts:
    """The parts of the pipeline that readings use."""

    inbox: Inbox
    positions: TopicPositions
    reads: TopicReads


class TopicReading:
    """A thread that reads one topic."""

    def __init__(self, wanted: TopicSource, parts: TopicParts):
        self.wanted = wanted
        self.status = ReadingStatus("connecting")
        self.lag: Mapping[int, int] = {}
        """By partition, the offsets that are not in the batch log yet."""
        self._parts = parts
        self._positions: dict[int, int] = {}
        self._tallies: dict[int, _Tally] = {}
        self._logged = time.monotonic()
        self._stop, self._again = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"topic {wanted.topic}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Ask the thread to end."""
        self._stop.set()
        self._again.set()

    def skip_missing(self) -> Mapping[int, tuple[int, int]]:
        """Go on without what the topic has lost: from the first message that it has. Returns what is given up. Raises
        Conflict if the reading has not stopped, and what the brokers raise."""
        wanted, given_up = self.wanted, self.status.missing
        if self.status.state != "stopped":
            raise Conflict(f"`{wanted.datasource}` has not stopped: it is {self.status.state}")
        with closing(TopicClient(wanted.settings, wanted.topic, wanted.group)) as client:
            shape = client.describe()
            known = {each.partition: each for each in self._parts.positions.read(wanted.stream, wanted.topic)}
            starts = [
                TopicPosition(each, shape.origin, _go_on_at(known.get(each), client.range_of(each)))
                for each in sorted(given_up)
                if each in shape.partitions
            ]
            log.warning("`%s` goes on without %s", wanted.datasource, _describe(given_up))
            self._parts.positions.move(wanted.stream, wanted.topic, given_up, starts)
        self._note("warning", f"given up by hand: {_describe(given_up)}")
        self._again.set()
        return given_up

    def join(self) -> None:
        self._thread.join()

    @property
    def has_ended(self) -> bool:
        return not self._thread.is_alive()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            began = time.monotonic()
            try:
                self._read_topic()
                continue
            except Fenced:  # another server has taken over
                return
            except LostRanges as error:
                self._hold_cut(error)
                self._halt(error)
                self._again.wait(LOOK_SECONDS)
                if not self._stop.is_set():
                    self._again.clear()
                continue
            except OffsetsLost:  # which ones is seen when the topic is looked at again
                log.info("the topic `%s` has no more what comes next", self.wanted.topic)
            except PenstockError as error:
                self._wait_for(error.message)
            except Exception as error:
                log.exception("the topic `%s` could not be read", self.wanted.topic)
                self._wait_for(f"an unexpected error: {error!r}"[:300])
            pause = FIRST_PAUSE if time.monotonic() - began > LONGEST_PAUSE else min(2 * pause, LONGEST_PAUSE)
            self._stop.wait(pause)

    def _wait_for(self, reason: str) -> None:
        if self.status.reason != reason:
            log.warning("the topic `%s` of `%s` waits: %s", self.wanted.topic, self.wanted.datasource, reason)
            self._note("warning", reason)
        self.status = ReadingStatus("waiting", reason)

    def _halt(self, error: LostRanges) -> None:
        """Stop loudly; the topic is looked at again now and then, since somebody may decide to go on without."""
        if self.status.state != "stopped":
            log.error("the topic `%s` of `%s` is read no further: %s", self.wanted.topic, self.wanted.datasource, error)
            self._note("error", error.message)
        self.status = ReadingStatus("stopped", error.message, error.missing)

    def _hold_cut(self, error: LostRanges) -> None:
        """Write down where partitions were cut: new messages will have the offsets of those that were read, and would
        otherwise be taken for them once there are enough."""
        try:
            if error.cut:
                self._parts.positions.move(
                    self.wanted.stream, self.wanted.topic, [each.partition for each in error.cut], error.cut
                )
        except PenstockError as fault:
            log.warning("it is not written down where `%s` was cut: %s", self.wanted.topic, fault.message)

    def _note(self, kind: Literal["warning", "error"], text: str) -> None:
        """Write it into the log of topics, if the store is there."""
        try:
            self._parts.reads.add([TopicRead(self.wanted.datasource, self.wanted.topic, -1, kind, text=text)])
        except PenstockError as error:
            log.warning("the log of topics lacks an entry: %s", error.message)

    def _read_topic(self) -> None:
        """Read until the reading is to stop, or the topic has other partitions than before."""
        wanted = self.wanted
        with closing(TopicClient(wanted.settings, wanted.topic, wanted.group)) as client:
            shape = client.describe()
            self._positions = self._find_positions(client, shape)
            client.seek(self._positions)
            self.status = ReadingStatus("reading")
            looked = time.monotonic()
            while not self._stop.is_set():
                messages = client.read()
                if messages and not client.still_reads(shape):
                    return
                for part in _parts_of_batches(wanted.messages, messages):
                    self._store(part)
                if messages:
                    client.commit(self._reached(client))
                self._measure(client)
                if client.trouble is not None and not messages:
                    self._wait_for(f"the brokers do not answer: {client.trouble}")
                elif self.status.state != "reading":
                    self.status = ReadingStatus("reading")
                if time.monotonic() - looked > (LOOK_SECONDS if client.trouble is None else TROUBLE_SECONDS):
                    looked = time.monotonic()
                    if client.describe() != shape:
                        return
                    self._pass_over(client, shape)
            self._pass_over(client, shape)

    def _find_positions(self, client: TopicClient, shape: TopicShape) -> dict[int, int]:
        """Where each partition is read from. Raises OffsetsLost."""
        wanted, positions = self.wanted, self._parts.positions
        known = positions.read(wanted.stream, wanted.topic)
        new = [each for each in shape.partitions if each not in {at.partition for at in known}]
        ranges = {each: client.range_of(each) for each in shape.partitions}
        if new:
            starts = self._first_offsets(client, new, ranges) if not known else {each: ranges[each].low for each in new}
            positions.add(wanted.stream, wanted.topic, [TopicPosition(at, shape.origin, starts[at]) for at in new])
            known = positions.read(wanted.stream, wanted.topic)
        _check_positions(wanted.topic, shape, known, ranges)
        return {each.partition: each.next for each in known}

    def _first_offsets(
        self, client: TopicClient, new: Sequence[int], ranges: Mapping[int, PartitionRange]
    ) -> dict[int, int]:
        """Where a topic begins that was never read: after what its group has committed, also if the topic has lost what
        comes next, which is then a stop. Without that, or if it is of another topic, as the file says."""
        committed = client.committed(new)
        found = {}
        for each in new:
            low, high = ranges[each].low, ranges[each].high
            begins = low if self.wanted.reset == "earliest" else high
            at = committed.get(each, begins)
            found[each] = at if at <= high else begins
        return found

    def _store(self, part: _Part) -> None:
        """Store messages, however long the inbox has no room."""
        ranges = [OffsetRange(each, self._positions[each], after) for each, after in sorted(part.after.items())]
        while True:
            try:
                self._parts.inbox.append_messages(
                    self.wanted.stream, TopicMessages(self.wanted.topic, part.lines, ranges)
                )
                break
            except PenstockError as error:
                if not _is_full(error):
                    raise
                self._wait_for(error.message)
                if self._stop.wait(FIRST_PAUSE):
                    raise
        self._positions.update(part.after)
        for partition, size in part.sizes.items():
            tally = self._tallies.setdefault(partition, _Tally())
            tally.messages += size.messages
            tally.bytes += size.bytes

    def _reached(self, client: TopicClient) -> dict[int, int]:
        """Where each partition is, also behind offsets that have no message."""
        return {each: max(at, client.ends.get(each, at)) for each, at in self._positions.items()}

    def _pass_over(self, client: TopicClient, shape: TopicShape) -> None:
        """Write down that there is nothing to read before the ends: else retention would seem to take it."""
        reached = self._reached(client)
        ranges = [OffsetRange(each, at, reached[each]) for each, at in self._positions.items() if reached[each] > at]
        if ranges and client.still_reads(shape):
            self._parts.positions.pass_over(self.wanted.stream, self.wanted.topic, ranges)
            self._positions.update(reached)

    def _measure(self, client: TopicClient) -> None:
        ends = {partition: client.end_of(partition) for partition in self._positions}
        self.lag = {each: max(ends[each] - at, 0) for each, at in self._reached(client).items() if ends[each] >= 0}
        if time.monotonic() - self._logged < LOG_SECONDS or not any(each.messages for each in self._tallies.values()):
            return
        self._logged = time.monotonic()
        tallies, self._tallies = self._tallies, {}
        wanted = self.wanted
        self._parts.reads.add(
            [
                TopicRead(wanted.datasource, wanted.topic, at, "info", self.lag.get(at, 0), each.messages, each.bytes)
                for at, each in sorted(tallies.items())
                if each.messages
            ]
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """Messages that go into one batch."""

    lines: list[bytes] = field(default_factory=list)
    after: dict[int, int] = field(default_factory=dict)
    """By partition, the offset after its last message."""
    sizes: dict[int, _Tally] = field(default_factory=dict)


def _parts_of_batches(reader: MessageReader, messages: Sequence[TopicMessage]) -> Iterator[_Part]:
    """The messages in parts of the size of a batch."""
    part, size = _Part(), 0
    for message in messages:
        line = reader.line(message)
        if part.lines and size + len(line) > BYTES_PER_BATCH:
            yield part
            part, size = _Part(), 0
        part.lines.append(line)
        size += len(line) + 1
        partition = message.partition()
        part.after[partition] = message.offset() + 1
        tally = part.sizes.setdefault(partition, _Tally())
        tally.messages += 1
        tally.bytes += len(message.value() or b"")
    if part.lines:
        yield part


class LostRanges(OffsetsLost):
    """With the offsets that are lost."""

    def __init__(self, message: str, missing: Mapping[int, tuple[int, int]], cut: Sequence[TopicPosition] = ()):
        super().__init__(message, hint="`penstock topic skip NAME` goes on without them")
        self.missing = missing
        self.cut = cut
        """Where partitions end that had been read further."""


def _check_positions(
    topic: str, shape: TopicShape, known: Sequence[TopicPosition], ranges: Mapping[int, PartitionRange]
) -> None:
    """Raises LostRanges unless every partition has what comes next."""
    others = [each for each in known if not _is_same_origin(each.origin.removesuffix(CUT), shape.origin)]
    if others:
        text = f"`{topic}` is another topic than the one that was read: it was made anew, or its cluster is another one"
        raise LostRanges(text, {each.partition: (each.next, each.next) for each in others})
    missing: dict[int, tuple[int, int]] = {}
    cut = []
    for each in known:
        found = ranges.get(each.partition)
        if found is None or each.origin.endswith(CUT):
            missing[each.partition] = (each.next, each.next)
        elif each.next > found.high:
            missing[each.partition] = (each.next, each.next)
            cut.append(TopicPosition(each.partition, each.origin + CUT, found.high))
        elif each.next < found.low:
            missing[each.partition] = (each.next, found.low)
    if missing:
        raise LostRanges(f"`{topic}` has no more what comes next: {_describe(missing)}", missing, cut)


def _go_on_at(known: TopicPosition | None, found: PartitionRange) -> int:
    """Where a partition goes on without what it has lost: where it was cut, or else with its first message."""
    was_cut = known is not None and known.origin.endswith(CUT)
    return max(known.next, found.low) if known is not None and was_cut else found.low


def _is_same_origin(one: str, other: str) -> bool:
    """Old brokers do not tell the id of a topic: then the cluster has to do."""
    (cluster, _, id), (other_cluster, _, other_id) = one.partition("/"), other.partition("/")
    return cluster == other_cluster and (not id or not other_id or id == other_id)


def _is_full(error: PenstockError) -> bool:
    """Whether there is no room for rows now."""
    return isinstance(error, (Overloaded, StorageFull))


def _describe(missing: Mapping[int, tuple[int, int]]) -> str:
    return "; ".join(
        f"partition {partition} lost the offsets {first} to {end - 1}"
        if first < end
        else f"partition {partition} was cut before the offset {first}, and what it gets now has offsets that were read"
        for partition, (first, end) in sorted(missing.items())
    )
