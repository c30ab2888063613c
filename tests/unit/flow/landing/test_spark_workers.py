"""What Spark's workers make of segments: rows of whole ones, remains of damaged ones, and never both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.flow.inbox.segments import DamagedSegment, Segments
from penstock.flow.landing.spark_workers import RejectedRows, SegmentSplit
from penstock.model.manifest import ROWS_PER_BATCH, SEQ, Landing, LandingColumn
from penstock.model.types import Int

COLUMN = LandingColumn("id", "id", Int(32), "$.id", None)
LANDINGS = tuple(Landing("s", "s__d1", version, (COLUMN,)) for version in ("v", "w"))
FIRST = 7 * ROWS_PER_BATCH


def piece(folder: Path, lines: list[bytes], damage: str | None = None, kept: int = ROWS_PER_BATCH) -> SegmentSplit:
    made = Segments(folder).write("s", lines)
    return SegmentSplit(str(folder / made.name), made.bytes, made.digest, 7, 0, damage, kept)


def rejected(of: SegmentSplit) -> list[tuple[object, object, object]]:
    return [(row[SEQ], row["version"], row["raw"]) for row in RejectedRows(LANDINGS)([of])]


def test_of_a_whole_segment_what_does_not_fit(tmp_path: Path) -> None:
    found = rejected(piece(tmp_path, [b'{"id": 1}', b"nonsense"]))
    assert found == [(FIRST + 1, "v", "nonsense"), (FIRST + 1, "w", "nonsense")]


def test_of_a_damaged_segment_every_line_for_every_version(tmp_path: Path) -> None:
    of = piece(tmp_path, [b'{"id": 1}', b"", b"\xff"], "damaged segment x")
    assert list(of.lines()) == []
    assert rejected(of) == [
        (FIRST, "v", '{"id": 1}'),
        (FIRST, "w", '{"id": 1}'),
        (FIRST + 2, "v", "\ufffd"),
        (FIRST + 2, "w", "\ufffd"),
    ]
    assert [row["problems"] for row in RejectedRows(LANDINGS[:1])([of])] == [["damaged segment x"]] * 2


@pytest.mark.parametrize("lines", [[b""], [b" ", b"", b"\t"]])
def test_of_one_without_a_readable_line_one_empty_one(tmp_path: Path, lines: list[bytes]) -> None:
    assert rejected(piece(tmp_path, lines, "damaged")) == [(FIRST, "v", ""), (FIRST, "w", "")]


def test_of_one_that_was_taken_before_one_empty_line(tmp_path: Path) -> None:
    assert rejected(piece(tmp_path, [b'{"id": 1}', b'{"id": 2}'], "damaged", 0)) == [(FIRST, "v", ""), (FIRST, "w", "")]


def test_lines_never_get_a_number_of_the_next_batch(tmp_path: Path) -> None:
    """A disk that gives back other bytes: as many lines as bytes."""
    of = piece(tmp_path, [b"x" * (2 * ROWS_PER_BATCH + 100)])
    Path(of.path).write_bytes(b"1\n" * (ROWS_PER_BATCH + 50) + b"2")
    damaged = SegmentSplit(of.path, of.size, of.digest, 7, 0, "damaged")
    numbers = [seq for seq, _ in damaged.remains()]
    assert (len(numbers), max(numbers)) == (ROWS_PER_BATCH, FIRST + ROWS_PER_BATCH - 1)


def test_damage_that_nobody_decided_on_gives_nothing(tmp_path: Path) -> None:
    of = piece(tmp_path, [b"nonsense", b"nonsense"])
    os.truncate(of.path, 9)
    with pytest.raises(DamagedSegment):
        rejected(of)
