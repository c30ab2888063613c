"""Store messages of a topic: a batch, and how far its topic was read, in one transaction.

In: lines, and the offsets that they have. Out: a batch on disk and in the log. Invariant: before the transaction
nothing of the messages counts, and after it all of them do, so each is in exactly one batch, whatever ends the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from penstock.crash_points import crash_point
from penstock.errors import Conflict, Fenced, StorageFull
from penstock.flow.inbox.segments import Segments
from penstock.state.batches import Batch, BatchLog, RawFile
from penstock.state.positions.topic_positions import OffsetRange


@dataclass(frozen=True, slots=True)
class TopicMessages:
    """Messages of one topic."""

    topic: str
    lines: Sequence[bytes]
    ranges: Sequence[OffsetRange]
    """The offsets of `lines`, by partition."""

    @property
    def size(self) -> int:
        return sum(map(len, self.lines)) + len(self.lines)


def store_messages(segments: Segments, batches: BatchLog, stream: str, messages: TopicMessages) -> Batch:
    """Raises Conflict, StorageFull, Fenced, OSError; then nothing is stored. After Unavailable it may be: the positions
    tell."""
    written = segments.write(stream, messages.lines)
    crash_point("kafka.written")
    file = RawFile(written.name, len(messages.lines), written.bytes, written.digest)
    try:
        made = batches.append_messages(stream, file, datetime.now(timezone.utc), (messages.topic, messages.ranges))
    except (Conflict, StorageFull, Fenced):
        segments.remove(written.name)
        raise
    crash_point("kafka.logged")
    return made
