"""Cursors, batches, and what is looked up in a manifest."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.cursor import BatchCursor, Cursor, HistoryCursor, TailCursor, decode_cursor, encode_cursor
from penstock.model.manifest import (
    ROWS_PER_BATCH,
    Binding,
    BoundColumn,
    Landing,
    Manifest,
    Source,
    Table,
    View,
    last_seq,
)
from penstock.model.types import Int

NUMBERS = st.integers(-1, 2**63)


@given(st.builds(BatchCursor, NUMBERS) | st.builds(HistoryCursor, NUMBERS, NUMBERS) | st.builds(TailCursor, NUMBERS))
def test_cursors_round_trip(cursor: Cursor) -> None:
    assert decode_cursor(encode_cursor(cursor)) == cursor


@pytest.mark.parametrize("text", ["", "tail", "tail:x", "batches:1:2", "other:1"])
def test_other_texts_are_no_cursors(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a cursor|invalid literal"):
        decode_cursor(text)


def test_the_last_row_of_a_batch_is_before_the_next() -> None:
    assert last_seq(3) == 4 * ROWS_PER_BATCH - 1


def test_the_first_of_a_name_is_found() -> None:
    column, later = BoundColumn("a", Int(32), "a"), BoundColumn("a", Int(64), "a__2")
    bound, quarantine = Binding("t", "t__d1", (column, later)), Binding("t_quarantine", "q", ())
    tables = (Table("t__d1", ()), Table("q", ()), Table("t__d1", (), lands=True))
    manifest = Manifest(tables, (bound, Binding("t", "other", ())), (quarantine, Binding("t", "third", ())))
    assert (manifest.binding("t"), manifest.binding("t_quarantine")) == (bound, quarantine)
    assert manifest.table("t__d1") == tables[0]
    assert bound.column("a") == column
    assert manifest.binding("u") is manifest.table("u") is manifest.landing("t") is bound.column("b") is None


def test_flows_are_found_by_their_table() -> None:
    bound = Binding("t", "t__d1", ())
    view = View("v", "p", "n", "t__d1", "", Source("__new_s__", bound), ())
    elsewhere, lands = Landing("s", "s__d1", "1", ()), Landing("t", "t__d1", "2", ())
    manifest = Manifest(bindings=(bound,), flows=(view, elsewhere, lands))
    assert manifest.flows_into("t__d1") == (view, lands)
    assert manifest.flows_into("nothing") == ()
    assert manifest.landing("t") == lands


def test_what_was_looked_up_is_no_part_of_a_value() -> None:
    asked, other = Manifest(tables=(Table("t", ()),)), Manifest(tables=(Table("t", ()),))
    assert asked.table("t") is not None
    assert (asked, hash(asked)) == (other, hash(other))
    assert replace(asked, tables=()).table("t") is None
