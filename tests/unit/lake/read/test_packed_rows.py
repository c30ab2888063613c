"""Packed rows are the same rows, and take the memory that they say."""

from __future__ import annotations

import pickle
import tracemalloc
from collections.abc import Callable
from datetime import date, datetime, timezone
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

from penstock.lake.read import packed_rows
from penstock.lake.read.packed_rows import CHUNK_BYTES, CHUNK_ROWS, PackedRows

_scalars = st.one_of(
    *(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.text(st.characters(codec=None)),
        st.binary(),
    ),
    *(st.decimals(allow_nan=False), st.dates(), st.datetimes(timezones=st.just(timezone.utc))),
)
_values = st.recursive(
    _scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | inner.map(lambda value: Row(a=value, b=1))
    ),
    max_leaves=6,
)


def packed(rows: list[tuple[object, ...]]) -> PackedRows:
    made = PackedRows()
    for row in rows:
        made.append(row)
    return made


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(_values, _values), max_size=5), st.integers(1, 700))
def test_rows_come_back_as_they_were(rows: list[tuple[object, ...]], times: int) -> None:
    found = packed(rows * times)
    assert list(found) == rows * times
    assert len(found) == len(rows) * times
    assert found == rows * times
    assert found[-2:] == (rows * times)[-2:]


PLACES = (0, -1, CHUNK_ROWS - 1, CHUNK_ROWS, 2 * CHUNK_ROWS + 5, -3)


@pytest.mark.parametrize("count", [2 * CHUNK_ROWS, 2 * CHUNK_ROWS + 7])
def test_rows_at_places_are_read_without_the_others(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[tuple[object, ...]] = [(number,) for number in range(count)]
    found, loads, unpacked = packed(rows), pickle.loads, list[int]()
    monkeypatch.setattr(packed_rows.pickle, "loads", lambda data: unpacked.append(1) or loads(data))
    for place in (each for each in PLACES if -count <= each < count):
        unpacked.clear()
        assert found[place] == rows[place]
        assert len(unpacked) <= 1
    for start in PLACES:
        for stop in (*PLACES, None):
            assert found[start:stop] == rows[start:stop]
    assert found[::-7] == rows[::-7]
    unpacked.clear()
    assert found[CHUNK_ROWS : CHUNK_ROWS + 9] == rows[CHUNK_ROWS : CHUNK_ROWS + 9]
    assert len(unpacked) == 1
    with pytest.raises(IndexError):
        found[count]


def test_a_row_of_a_struct_keeps_its_names() -> None:
    rows: list[tuple[object, ...]] = [(Row(a=1, b="x"),)] * (CHUNK_ROWS + 1)
    assert all(row[0].asDict() == {"a": 1, "b": "x"} for row in packed(rows))  # type: ignore[attr-defined]


VALUES: dict[str, Callable[[int], object]] = {
    "a number": lambda at: at * 1_000_003,
    "a short text": lambda at: f"text {at}",
    "another alphabet": lambda at: f"текст {at}" * 20,
    "an array of numbers": lambda at: [at + each for each in range(20)],
    "a map": lambda at: {f"key {each}": at + each for each in range(5)},
    "a time": lambda at: datetime(2026, 1, 1, 0, at % 60, tzinfo=timezone.utc),
    "a day": lambda at: date.fromordinal(700_000 + at % 9_000),
    "a decimal": lambda at: Decimal(at) / 7,
}


@pytest.mark.parametrize("name", VALUES)
def test_rows_take_the_memory_that_they_are_said_to_take(name: str) -> None:
    value = VALUES[name]
    tracemalloc.start()
    rows = PackedRows()
    for at in range(8_000):
        rows.append((value(at), at))
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    most_of_one_chunk = 12 * CHUNK_BYTES
    assert held <= 1.2 * rows.size + most_of_one_chunk
    assert rows.size <= held + most_of_one_chunk


def test_the_last_row_is_read_without_the_others() -> None:
    for count in (1, CHUNK_ROWS - 1, 20 * CHUNK_ROWS, 20 * CHUNK_ROWS + 1):
        rows = packed([(at, [at + each for each in range(20)]) for at in range(count)])
        tracemalloc.start()
        assert rows[-1] == (count - 1, [count - 1 + each for each in range(20)])
        assert tracemalloc.get_traced_memory()[1] < 3 * CHUNK_BYTES
        tracemalloc.stop()
    with pytest.raises(IndexError):
        PackedRows()[-1]


def test_a_large_value_is_a_chunk_of_its_own() -> None:
    rows = packed([("x" * CHUNK_BYTES,)] * 3)
    assert 3 * CHUNK_BYTES < rows.size < 3 * CHUNK_BYTES + 1_000
    assert [len(row[0]) for row in rows] == [CHUNK_BYTES] * 3  # type: ignore[arg-type]
