"""What runs in Spark's Python workers: segments become rows, as Arrow record batches.

In: the segments of a task. Out: record batches of accepted, or of rejected, rows. Invariant: imports little, since
every worker process imports it; the same segments give the same rows each time.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

import pyarrow as pa

from penstock.flow.inbox.segments import read_segment, salvage_lines
from penstock.flow.landing.row_parser import NOT_CONDEMNED, RowParser
from penstock.model.manifest import REJECTS, ROWS_PER_BATCH, SEQ, Landing, version_mark

RECEIVED = "_received_at"
CHUNK_ROWS = 8192


@dataclass(frozen=True, slots=True)
class SegmentSplit:
    """A segment that a task reads."""

    path: str
    size: int
    """The size of the file in bytes."""
    digest: str | None
    """SHA-256 of the file in hexadecimal, None if it was not recorded."""
    number: int
    """The number of its batch."""
    received: int
    """When the batch was received, in microseconds since 1970."""
    damage: str | None = None
    """Why none of its rows is used; None if it is intact."""
    kept: int = ROWS_PER_BATCH
    """The most lines of a damaged segment that are quarantined."""
    condemned: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """By `_seq`, the versions that must reject a row, with the reasons."""
    only: tuple[range, ...] | None = None
    """The positions of the lines that are read, ascending; None: all."""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its `_seq`; none of a damaged segment."""
        if self.damage is not None:
            return iter(())
        lines = enumerate(read_segment(Path(self.path), self.size, self.digest), self._first)
        return lines if self.only is None else _lines_at(lines, self.only)

    def remains(self) -> Iterator[tuple[int, bytes]]:
        """The readable lines of a damaged segment, each with its `_seq`; one empty line if none is readable."""
        lines = enumerate(itertools.islice(salvage_lines(Path(self.path), self.size), self.kept), self._first)
        readable = (each for each in lines if each[1].strip())
        first = next(readable, (self._first, b""))
        return itertools.chain((first,), readable)

    @property
    def _first(self) -> int:
        return self.number * ROWS_PER_BATCH


def _lines_at(lines: Iterator[tuple[int, bytes]], positions: Iterable[range]) -> Iterator[tuple[int, bytes]]:
    at = 0
    for rows in positions:
        yield from itertools.islice(lines, rows.start - at, rows.stop - at)
        at = rows.stop


RowValues: TypeAlias = Mapping[str, object]
Tasks: TypeAlias = tuple[tuple[SegmentSplit, ...], ...]
MakeRows: TypeAlias = Callable[[Sequence[SegmentSplit]], Iterator[RowValues]]


class CountsRows(Protocol):
    """What counts rows: an accumulator of Spark, or one of this process."""

    def add(self, rows: int, /) -> None: ...


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """Makes the rows that at least one version accepts, marked with the versions that do not. `rejected` counts the
    pairs of row and rejecting version; Spark may count some twice when it runs a task again."""

    landings: tuple[Landing, ...]
    rejected: CountsRows

    def __call__(self, task: Sequence[SegmentSplit]) -> Iterator[RowValues]:
        parser = RowParser(self.landings)
        for split in task:
            for seq, line in split.lines():
                parsed = parser.parse(line, split.condemned.get(seq, NOT_CONDEMNED))
                if parsed.rejects:
                    self.rejected.add(len(parsed.rejects))
                if parsed.values is not None:
                    rejects = "".join(version_mark(version) for version, _ in parsed.rejects) or None
                    yield {**parsed.values, SEQ: seq, REJECTS: rejects, RECEIVED: split.received}


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """Makes the quarantine rows: each rejected row once for each version that rejects it, with the reasons, and the
    readable lines of damaged segments, which every version rejects."""

    landings: tuple[Landing, ...]

    def __call__(self, task: Sequence[SegmentSplit]) -> Iterator[RowValues]:
        parser = RowParser(self.landings)
        for split in task:
            for seq, line in split.lines():
                for version, problems in parser.parse(line, split.condemned.get(seq, NOT_CONDEMNED)).rejects:
                    yield _quarantine_row(split, seq, version, line, problems)
            if split.damage is not None:
                yield from self._damaged(split, split.damage)

    def _damaged(self, split: SegmentSplit, damage: str) -> Iterator[RowValues]:
        for seq, line in split.remains():
            for landing in self.landings:
                yield _quarantine_row(split, seq, landing.version, line, (damage,))


def _quarantine_row(split: SegmentSplit, seq: int, version: str, line: bytes, problems: Sequence[str]) -> RowValues:
    row = {"version": version, "raw": line.decode(errors="replace"), "problems": list(problems)}
    return {**row, SEQ: seq, "inserted_at": split.received}


def record_batches(rows: Iterator[RowValues], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in record batches of at most CHUNK_ROWS rows; a column that a row lacks is null."""
    chunk: list[RowValues] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK_ROWS:
            yield _record_batch(chunk, schema)
            chunk = []
    if chunk:
        yield _record_batch(chunk, schema)


def _record_batch(rows: Sequence[RowValues], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
