"""The rows of a table outside of this server, in a file that Spark reads.

In: the rows of a database's cursor. Out: a Parquet file, and `TableFile`. Invariants: some megabytes of rows are in
memory at a time; the file is there until the block in which it was written ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.model.types import Type

FIRST_ROWS, MOST_ROWS, BYTES_A_FETCH = 100, 50_000, 8 * 2**20
Rows: TypeAlias = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class TableFile:
    """The rows that were read of a table."""

    path: Path
    columns: Mapping[str, Type]
    rows: int


def fetch_rows(fetch: Callable[[int], Rows], check: Callable[[], None]) -> Iterator[Rows]:
    """The rows of a cursor, as many at a time as have some megabytes. `fetch` gives at most so many more, none at the
    end; `check` is called after each fetch, and raises where the reading must stop."""
    count = FIRST_ROWS
    while fetched := fetch(count):
        check()
        yield fetched
        size = sum(len(str(value)) for row in fetched[:FIRST_ROWS] for value in row) // len(fetched[:FIRST_ROWS])
        count = max(1, min(MOST_ROWS, BYTES_A_FETCH // (size or 1)))


def write_rows(
    path: Path,
    schema: pa.Schema,
    fetches: Iterable[Rows],
    arrays: Callable[[Iterable[tuple[object, ...]]], list[pa.Array]],
) -> int:
    """Write rows as Parquet, and return how many. `arrays` makes those of a batch from the values of each column."""
    rows = 0
    with pq.ParquetWriter(path, schema) as file:
        for fetched in fetches:
            file.write_batch(pa.record_batch(arrays(zip(*fetched, strict=True)), schema=schema))
            rows += len(fetched)
    return rows
