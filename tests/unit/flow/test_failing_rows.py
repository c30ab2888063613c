"""Whatever rows fail, alone or together, they are found, and no other; an outage condemns none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.flow import failing_rows
from penstock.flow.failing_rows import FailingRows, Selection, UnstableFailure, find_failing_rows


def run(count: int, bad: frozenset[int], most: int | None = None) -> tuple[FailingRows, int]:
    """What is found, and with how many probes. Besides the bad rows, more than `most` rows at once fail together."""
    probes = 0

    def probe(rows: Selection) -> str | None:
        nonlocal probes
        probes += 1
        chosen = [at for each in rows for at in each]
        assert chosen == sorted(set(chosen))
        assert all(0 <= at < count for at in chosen)
        wrong = [at for at in chosen if at in bad]
        return f"row {wrong[0]}" if wrong else "too many" if most is not None and len(chosen) > most else None

    called: dict[int, str] = {}
    failing = find_failing_rows(count, probe, called.__setitem__)
    assert called == failing.single
    return failing, probes


@given(st.integers(1, 60), st.data())
def test_the_rows_that_fail_alone(count: int, data: st.DataObject) -> None:
    bad = data.draw(st.frozensets(st.integers(0, count - 1)))
    failing, _ = run(count, bad)
    assert failing.reasons == {at: f"row {at}" for at in bad}
    assert not failing.rest


@given(st.integers(1, 60), st.integers(1, 60), st.data())
def test_rows_that_fail_together_only(count: int, most: int, data: st.DataObject) -> None:
    bad = data.draw(st.frozensets(st.integers(0, count - 1)))
    failing, _ = run(count, bad, most)
    assert bad <= failing.reasons.keys()
    assert len(failing.reasons) == len(bad) + max(0, count - len(bad) - most)


def test_one_row_of_a_million_takes_few_probes() -> None:
    failing, probes = run_ranges(1_000_000, frozenset({777_777}))
    assert failing.single == {777_777: "row 777777"}
    assert probes < 70


def run_ranges(count: int, bad: frozenset[int]) -> tuple[FailingRows, int]:
    """Like `run`, without writing out the rows."""
    probes = 0

    def probe(rows: Selection) -> str | None:
        nonlocal probes
        probes += 1
        wrong = next((at for at in sorted(bad) if any(at in each for each in rows)), None)
        return None if wrong is None else f"row {wrong}"

    return find_failing_rows(count, probe, lambda *_: None), probes


def test_a_range_that_fails_everywhere_is_not_examined_row_by_row() -> None:
    bad = frozenset(range(5_000, 9_000))
    failing, probes = run_ranges(20_000, bad)
    assert failing.reasons.keys() == bad
    assert probes < 500


def test_beyond_the_limit_whole_ranges_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failing_rows, "MOST_FAILING", 10)
    monkeypatch.setattr(failing_rows, "LARGEST_UNEXAMINED", 8)
    bad = frozenset(range(0, 400, 5))
    failing, _ = run_ranges(1_000, bad)
    assert len(failing.single) == 10
    assert bad <= failing.reasons.keys() <= set(range(400))


def test_a_step_that_fails_without_rows_condemns_none() -> None:
    assert find_failing_rows(5, lambda _: "the store is away", lambda *_: None).reasons == {}


def test_rows_that_fail_now_and_then_are_no_proof() -> None:
    answers = iter([None, "x", "x", None])
    with pytest.raises(UnstableFailure):
        find_failing_rows(1, lambda _: next(answers), lambda *_: None)


def test_what_a_probe_raises_ends_the_search() -> None:
    def probe(rows: Selection) -> str | None:
        raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space"):
        find_failing_rows(1, probe, lambda *_: None)
