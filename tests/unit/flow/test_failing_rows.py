"""Whatever rows fail, alone or together, they are found, and no other; an outage condemns none."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow.failing_rows import (
    SearchUnfinished,
    Selection,
    UnstableFailure,
    find_failing_rows,
    samples_that_fail,
)


def run(count: int, bad: frozenset[int], most: int | None = None) -> Mapping[int, str]:
    """What is found. Besides the bad rows, more than `most` rows at once fail together."""

    def probe(rows: Selection) -> str | None:
        chosen = [at for each in rows for at in each]
        assert chosen == sorted(set(chosen))
        assert all(0 <= at < count for at in chosen)
        wrong = [at for at in chosen if at in bad]
        return f"row {wrong[0]}" if wrong else "too many" if most is not None and len(chosen) > most else None

    called: dict[int, str] = {}
    failing = find_failing_rows(count, probe, called.__setitem__)
    assert called == failing
    return failing


@given(st.integers(1, 60), st.data())
def test_the_rows_that_fail_alone(count: int, data: st.DataObject) -> None:
    bad = data.draw(st.frozensets(st.integers(0, count - 1)))
    assert run(count, bad) == {at: f"row {at}" for at in bad}


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_rows_that_fail_together_only(count: int, most: int, data: st.DataObject) -> None:
    bad = data.draw(st.frozensets(st.integers(0, count - 1)))
    failing = run(count, bad, most)
    assert bad <= failing.keys()
    assert len(failing) == len(bad) + max(0, count - len(bad) - most)


def test_one_row_of_a_million_takes_few_probes() -> None:
    failing, probes = run_ranges(1_000_000, frozenset({777_777}))
    assert failing == {777_777: "row 777777"}
    assert probes < 70


def run_ranges(count: int, bad: frozenset[int]) -> tuple[Mapping[int, str], int]:
    """Like `run`, without writing out the rows; with the number of probes."""
    probes = 0

    def probe(rows: Selection) -> str | None:
        nonlocal probes
        probes += 1
        wrong = next((at for at in sorted(bad) if any(at in each for each in rows)), None)
        return None if wrong is None else f"row {wrong}"

    return find_failing_rows(count, probe, lambda *_: None), probes


def test_however_many_rows_fail_no_other_is_named() -> None:
    bad = frozenset(range(0, 600, 3)) | frozenset(range(700, 750))
    failing, _ = run_ranges(800, bad)
    assert failing.keys() == bad


def test_a_long_search_ends_with_what_it_found_and_goes_on_later() -> None:
    bad, known = frozenset(range(3, 30, 4)), set[int]()
    turns = 0

    def probe(rows: Selection) -> str | None:
        return "wrong" if any(at in bad - known for each in rows for at in each) else None

    while probe((range(30),)) is not None:
        before = len(known)
        with pytest.raises(SearchUnfinished):
            find_failing_rows(30, probe, lambda at, _: known.add(at), turn_seconds=-1.0)
        assert len(known) == before + 1
        turns += 1
    assert (known, turns) == (bad, len(bad))


@pytest.mark.parametrize(
    ("count", "bad", "fails"), [(64, 64, True), (64, 63, False), (10_000, 10_000, True), (1, 1, True)]
)
def test_samples_of_a_step(count: int, bad: int, fails: bool) -> None:
    def probe(rows: Selection) -> str | None:
        return "wrong" if any(at < bad for each in rows for at in each) else None

    assert samples_that_fail(count, 16, probe) == ("wrong" if fails else None)
    assert samples_that_fail(count, 16, lambda _: "the store is away") is None


def test_a_step_that_fails_without_rows_condemns_none() -> None:
    assert find_failing_rows(5, lambda _: "the store is away", lambda *_: None) == {}


def test_rows_that_fail_now_and_then_are_no_proof() -> None:
    answers = iter([None, "x", None])
    with pytest.raises(UnstableFailure):
        find_failing_rows(1, lambda _: next(answers), lambda *_: None)


def test_what_a_probe_raises_ends_the_search() -> None:
    def probe(rows: Selection) -> str | None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        find_failing_rows(1, probe, lambda *_: None)
