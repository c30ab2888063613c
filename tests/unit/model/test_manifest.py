"""Cuts: where a new version of a table begins."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.cursor import Batches, Cursor, History, Tail, decode, encode
from penstock.model.manifest import (
    ROWS_PER_BATCH,
    Accepts,
    Before,
    Binding,
    BoundColumn,
    Manifest,
    Source,
    View,
    activate,
    last_seq,
)  # fmt: skip
from penstock.model.types import Int

NUMBERS = st.integers(-1, 2**63)


@given(st.builds(Batches, NUMBERS) | st.builds(History, NUMBERS, NUMBERS) | st.builds(Tail, NUMBERS))
def test_cursors_round_trip(cursor: Cursor) -> None:
    assert decode(encode(cursor)) == cursor


@pytest.mark.parametrize("text", ["", "tail", "tail:x", "batches:1:2", "other:1"])
def test_other_texts_are_no_cursors(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a cursor|invalid literal"):
        decode(text)


def test_the_last_row_of_a_batch_is_before_the_next() -> None:
    assert last_seq(3) == 4 * ROWS_PER_BATCH - 1


def test_activation_fills_open_cuts_only_once() -> None:
    column = BoundColumn("a", Int(32), "a__2", Before("`a`"))
    binding = Binding("t", "t__d1", (column,), (Accepts("v1"), Accepts("v2")))
    view = View("v", "p", "n", "m__d1", "", Source("__new_t__", binding), ("a",))
    cut = activate(Manifest(bindings=(binding,), flows=(view,)), {"t__d1": 9})
    assert cut.bindings[0].columns[0].before == Before("`a`", 9)
    assert cut.bindings[0].accepts == (Accepts("v1", 9), Accepts("v2"))
    assert cut.views[0].trigger.binding == cut.bindings[0]
    assert activate(cut, {"t__d1": 99}) == cut
    assert activate(cut, {"other": 1}) == cut
