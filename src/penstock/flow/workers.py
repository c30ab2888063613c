"""What runs in Spark's Python workers: segments → rows, as Arrow.

In: the segments of a task. Out: record batches of accepted, or of rejected, rows. Called by
`landing`. Invariant: imports little, since every worker process imports it; the same segments give
the same rows each time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from penstock.flow.rows import Typer
from penstock.flow.segments import read_segment
from penstock.model.manifest import REJECTS, ROWS_PER_BATCH, SEQ, Landing, mark

if TYPE_CHECKING:
    from pyspark import Accumulator

RECEIVED = "_received_at"
CHUNK = 8192


@dataclass(frozen=True, slots=True)
class Piece:
    """A segment: its file and size, its batch's number and when that was received (microseconds
    since 1970)."""

    path: str
    size: int
    number: int
    received: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each line with its `_seq`."""
        first = self.number * ROWS_PER_BATCH
        return enumerate(read_segment(Path(self.path), self.size), first)


Row: TypeAlias = Mapping[str, object]
Tasks: TypeAlias = tuple[tuple[Piece, ...], ...]
MakeRows: TypeAlias = Callable[[Sequence[Piece]], Iterator[Row]]


@dataclass(frozen=True, slots=True)
class AcceptedRows:
    """The rows that at least one version takes, marked with those that do not. `rejected` counts
    the (row, version) pairs that do not fit; Spark may count some twice when it runs a task again."""

    landings: tuple[Landing, ...]
    rejected: Accumulator[int]

    def __call__(self, task: Sequence[Piece]) -> Iterator[Row]:
        typer = Typer(self.landings)
        for piece in task:
            for seq, line in piece.lines():
                typed = typer.type(line)
                if typed.rejects:
                    self.rejected.add(len(typed.rejects))
                if typed.values is not None:
                    rejects = "".join(mark(version) for version, _ in typed.rejects) or None
                    yield {**typed.values, SEQ: seq, REJECTS: rejects, RECEIVED: piece.received}


@dataclass(frozen=True, slots=True)
class RejectedRows:
    """The rows that do not fit, once for each version that rejects them, with its reasons."""

    landings: tuple[Landing, ...]

    def __call__(self, task: Sequence[Piece]) -> Iterator[Row]:
        typer = Typer(self.landings)
        for piece in task:
            for seq, line in piece.lines():
                for version, problems in typer.type(line).rejects:
                    row = {"version": version, "raw": line.decode(errors="replace"), "problems": list(problems)}
                    yield {**row, SEQ: seq, "inserted_at": piece.received}


def record_batches(rows: Iterator[Row], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The rows in batches of at most CHUNK; a column that a row lacks is null."""
    chunk: list[Row] = []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            yield _record_batch(chunk, schema)
            chunk = []
    if chunk:
        yield _record_batch(chunk, schema)


def _record_batch(rows: Sequence[Row], schema: pa.Schema) -> pa.RecordBatch:
    columns = [pa.array([row.get(field.name) for row in rows], type=field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
