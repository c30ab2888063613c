"""Many rows in little memory: pickled in chunks, except for the last few.

In: rows, one by one. Out: the same rows in the same order. Invariant: `size` is what they take in memory, give or take
one chunk: a number alone takes 32 bytes as an object of Python and 2 to 11 pickled, an array or a map of numbers up to
ten times what its values say.
"""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TypeAlias, overload

CHUNK_ROWS = 1_024
CHUNK_BYTES = 2**20
"""A chunk is pickled when it has so many rows, or about so many bytes."""
Row: TypeAlias = tuple[object, ...]


class PackedRows(Sequence[Row]):
    """Rows of any values that Spark returns. Compares equal to a list of the same rows."""

    def __init__(self) -> None:
        self._chunks: list[bytes] = []
        self._starts: list[int] = []
        """The position of the first row of each chunk."""
        self._last: list[Row] = []
        self._last_bytes = self._packed_bytes = self._packed_rows = 0

    @property
    def size(self) -> int:
        """The bytes that the rows take."""
        return self._packed_bytes + self._last_bytes

    def append(self, row: Row) -> None:
        self._last.append(row)
        self._last_bytes += estimate_bytes(row)
        if len(self._last) >= CHUNK_ROWS or self._last_bytes >= CHUNK_BYTES:
            self._pack()

    def pack(self) -> None:
        """Pickle the last rows, too: those that stay for long. `size` is exact after it."""
        if self._last:
            self._pack()

    def _pack(self) -> None:
        packed = pickle.dumps(self._last, pickle.HIGHEST_PROTOCOL)
        self._chunks.append(packed)
        self._starts.append(self._packed_rows)
        self._packed_rows += len(self._last)
        self._packed_bytes += len(packed)
        self._last, self._last_bytes = [], 0

    def __len__(self) -> int:
        return self._packed_rows + len(self._last)

    def __iter__(self) -> Iterator[Row]:
        return self._rows_of(0)

    def _rows_of(self, first: int) -> Iterator[Row]:
        """The rows of a chunk and of all that follow; behind the last chunk are those that are not packed."""
        for chunk in islice(self._chunks, first, None):
            yield from pickle.loads(chunk)  # was pickled here
        yield from self._last

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> list[Row]: ...
    def __getitem__(self, place: int | slice) -> Row | list[Row]:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            return list(self._between(start, stop)) if step == 1 else list(self)[place]
        at = range(len(self))[place]
        return next(self._between(at, at + 1))

    def _between(self, start: int, stop: int) -> Iterator[Row]:
        """The rows from a position to before another; only the chunks of these are unpickled."""
        if start >= self._packed_rows:
            return islice(self._last, start - self._packed_rows, max(stop - self._packed_rows, 0))
        first = bisect_right(self._starts, start) - 1
        skipped = self._starts[first]
        return islice(self._rows_of(first), start - skipped, max(stop - skipped, start - skipped))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return id(self)


def estimate_bytes(value: object) -> int:
    """Approximate bytes of a value when it is pickled."""
    match value:
        case str():
            return 4 + (len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass")))
        case bytes() | bytearray():
            return 4 + len(value)
        case Mapping():
            return 4 + sum(estimate_bytes(key) + estimate_bytes(each) for key, each in value.items())
        case list() | tuple():
            return 4 + sum(map(estimate_bytes, value))
        case _:
            return 8
