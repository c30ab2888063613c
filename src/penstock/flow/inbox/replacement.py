"""Store a replacement: rows that take the place of all rows that their stream had before them.

In: lines, as many as there are, and an idempotency key or the position of a source. Out: batches that the log got all
at once. Invariant: before the one transaction that logs them, and moves the source, nothing of them counts, and after
it all of them do; batches of other callers come before the first or after the last of them, never between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone

from penstock.crash_points import crash_point
from penstock.errors import Conflict, Fenced, StorageFull
from penstock.flow.inbox.admission import Admission
from penstock.flow.inbox.segments import Segments
from penstock.flow.inbox.writer import BYTES_PER_BATCH
from penstock.model.cursor import SourceSpan
from penstock.model.manifest import ROWS_PER_BATCH
from penstock.state.batch_keys import BodyKey, ReusedKey
from penstock.state.batches import Batch, BatchesTrimmed, BatchLog, RawFile
from penstock.state.positions.stream_positions import OtherPosition


@dataclass(frozen=True, slots=True)
class ReplacementStore:
    """What stores replacements."""

    segments: Segments
    batches: BatchLog
    admission: Admission

    def store(
        self, stream: str, lines: Iterable[bytes], key: BodyKey, span: SourceSpan | None = None
    ) -> tuple[int, Batch | None]:
        """Store a replacement. Returns the number of its last batch, and that batch unless it was trimmed since: the
        same key is one replacement, however often it is stored. One whose source has come further (`span`) was stored.

        Raises StorageFull, Conflict, ReusedKey, OtherPosition, Fenced, OSError; then nothing is stored. After
        Unavailable it may be."""
        known = self._passed(stream, span) if span is not None else self._known(stream, key)
        if known is not None:
            return known
        files: list[RawFile] = []
        try:
            for part in _parts(lines):
                self.admission.reserve(sum(map(len, part)) + len(part))
                written = self.segments.write(stream, part)
                files.append(RawFile(written.name, len(part), written.bytes, written.digest))
            crash_point("inbox.written")
            spans = [span] if span is not None else []
            made = self.batches.append_replacement(stream, files, datetime.now(timezone.utc), key, spans)
        except (Conflict, StorageFull, Fenced, OSError):
            for file in files:
                self.segments.remove(file.segment)
            raise
        crash_point("inbox.logged")
        return made[-1].number, made[-1]

    def store_removal(self, stream: str, removal: bytes, key: BodyKey) -> tuple[int, Batch | None]:
        """Store a removal, one line that says which rows. Returns its number, and its batch unless that was trimmed.
        Raises what `store` raises."""
        known = self._known(stream, key)
        if known is not None:
            return known
        self.admission.reserve(len(removal) + 1)
        written = self.segments.write(stream, [removal])
        crash_point("inbox.written")
        file = RawFile(written.name, 0, written.bytes, written.digest)
        try:
            made = self.batches.append_removal(stream, file, datetime.now(timezone.utc), key)
        except (Conflict, StorageFull, Fenced):
            self.segments.remove(file.segment)
            raise
        crash_point("inbox.logged")
        return made.number, made

    def _known(self, stream: str, key: BodyKey) -> tuple[int, Batch | None] | None:
        """What was stored under the key before. Raises ReusedKey if that was something else."""
        used = self.batches.keys.find(stream, [key.key]).get(key.key)
        if used is None:
            return None
        if used.digest != key.digest:
            raise ReusedKey(key.key)
        return self._logged(stream, used.number)

    def _passed(self, stream: str, span: SourceSpan) -> tuple[int, Batch | None] | None:
        """What was stored last of a source that is there already. Raises OtherPosition if it is elsewhere than where
        the span begins."""
        stored = self.batches.positions.find(stream, [span.source]).get(span.source)
        if stored is not None and span.upto <= stored.position:
            return self._logged(stream, stored.number)
        at = stored.position if stored is not None else None
        if span.after != at:
            raise OtherPosition(span, at)
        return None

    def _logged(self, stream: str, number: int) -> tuple[int, Batch | None]:
        """A batch by its number, and itself unless it was trimmed."""
        try:
            return number, next(iter(self.batches.read_after(stream, number - 1, 1, 1, number)), None)
        except BatchesTrimmed:
            return number, None


def _parts(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The lines in parts of the size of a batch; one empty part if there is none."""
    part: list[bytes] = []
    size, any_part = 0, False
    for line in lines:
        if part and (len(part) == ROWS_PER_BATCH or size + len(line) + 1 > BYTES_PER_BATCH):
            yield part
            part, size, any_part = [], 0, True
        part.append(line)
        size += len(line) + 1
    if part or not any_part:
        yield part
