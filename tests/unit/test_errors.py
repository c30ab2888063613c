"""Hints that name the nearest name, among a few names and among thousands."""

from __future__ import annotations

import difflib

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import did_you_mean, near_names_hint, nearest_name

WORDS = st.text("abcdeAB_1", min_size=1, max_size=8)
MANY = [f"events_{place:05}_{kind}" for place in range(2_500) for kind in ("raw", "daily", "monthly", "top_pages")]


@given(WORDS, st.lists(WORDS, max_size=30, unique_by=str.casefold))
def test_among_a_few_it_is_the_nearest(name: str, known: list[str]) -> None:
    by_folded = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    assert nearest_name(name, known) == (by_folded[found[0]] if found else None)


def _ratio(name: str, known: str) -> float:
    return difflib.SequenceMatcher(None, known, name).ratio()


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(MANY), st.integers(0, 20), st.sampled_from(["", "x", "_"]))
def test_one_wrong_letter_among_thousands(name: str, place: int, letter: str) -> None:
    at = place % len(name)
    wrong = name[:at] + letter + name[at + 1 :]
    found = nearest_name(wrong, MANY)
    assert found is not None
    assert _ratio(wrong, found) >= _ratio(wrong, name)


def test_nothing_is_near() -> None:
    assert nearest_name("zzz", MANY) is None
    assert did_you_mean("zzz", MANY) == f"available: {', '.join(sorted(MANY)[:10])}, …"
    assert did_you_mean("zzz", ()) is None


def test_the_name_itself_is_no_hint() -> None:
    assert did_you_mean("amount", ["amount", "amounts"]) == "did you mean `amounts`?"
    assert "amount" not in (did_you_mean("amount", ["amount", "day"]) or "")


def test_a_hint_for_hundreds_of_names_never_lists_them() -> None:
    known = ["arrayMap", "arraySum", "formatReadableSize", "formatReadableQuantity", "DATE_FORMAT", "toStartOfDay"]
    assert near_names_hint("arraySums", known) == "did you mean `arraySum`?"
    assert near_names_hint("sizeReadableFormat", known) == "did you mean `formatReadableSize`?"
    assert near_names_hint("quantitiesReadableFormat", known) == (
        "similar ones: formatReadableQuantity, formatReadableSize"
    )
    assert near_names_hint("arrayFold", known) is None
    assert near_names_hint("?", ()) is None
