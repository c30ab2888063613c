"""Answers that are given again: by the same call only, in time, and within a bound of memory."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest

from penstock.deploy.queries import kept_answers
from penstock.deploy.queries.kept_answers import AnswerKey, KeptAnswers
from penstock.lake.read.packed_rows import PackedRows
from penstock.lake.read.query_execution import QueryResult
from penstock.model.types import Int
from penstock.template.render_frame import ListParameter

KEY = AnswerKey(7, ("top", (("org", "1"), ("paths", ListParameter('["a"]', ("a",))))), (("hits", "org = 1"),))


def answer(text: str) -> QueryResult:
    rows = PackedRows()
    rows.append((text,))
    return QueryResult((), rows, 0.1, 1, 1)


@pytest.mark.parametrize(
    "other",
    [
        replace(KEY, deployment=8),
        replace(KEY, call=("other", KEY.call[1])),
        replace(KEY, call=("top", (("org", "2"), KEY.call[1][1]))),
        replace(KEY, call=("top", (("org", "1"), ("paths", '["a"]')))),
        replace(KEY, call=("top", (("org", "1"),))),
        replace(KEY, filters=(("hits", "org = 2"),)),
        replace(KEY, filters=()),
        replace(KEY, promoted=False),
    ],
)
def test_only_the_same_call_finds_an_answer(other: AnswerKey) -> None:
    kept = KeptAnswers()
    kept.add(KEY, answer("mine"), 100.0, 60)
    assert kept.get(other, 100.0) is None
    found = kept.get(replace(KEY), 159.9)
    assert found is not None
    assert (list(found.answer.rows), found.began) == ([("mine",)], 100.0)


def test_an_answer_is_given_until_its_time_is_up() -> None:
    kept = KeptAnswers()
    kept.add(KEY, answer("old"), 100.0, 5)
    assert kept.get(KEY, 99.0) is None, "the clock is another one"
    kept.add(KEY, answer("old"), 100.0, 5)
    assert kept.get(KEY, 105.0) is None
    assert kept._bytes == 0
    kept.add(KEY, answer("later"), 110.0, 5)
    kept.add(KEY, answer("slow"), 104.0, 60)  # its query began before the other one, and ended after it
    found = kept.get(KEY, 111.0)
    assert found is not None
    assert list(found.answer.rows) == [("later",)]


def test_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = KeptAnswers()
    kept.add(KEY, answer("x" * kept_answers.LARGEST), 100.0, 60)
    assert kept.get(KEY, 100.0) is None
    monkeypatch.setattr(kept_answers, "MOST_BYTES", 50_000)
    keys = [replace(KEY, deployment=number) for number in range(30)]
    for key in keys:
        kept.add(key, answer("x" * 1_000), 100.0, 60)
        assert kept.get(keys[0], 100.0) is not None, "it was used last"
    assert 0 < kept._bytes <= 50_000
    assert [key.deployment for key in keys if kept.get(key, 100.0)][:2][0] == 0
    assert kept.get(keys[1], 100.0) is None
    assert kept._bytes == sum(each.size for each in kept._kept.values())


@pytest.mark.parametrize(("rows", "columns", "totals"), [(1, 1, 0), (1, 200, 0), (900, 4, 0), (1, 1, 5_000)])
def test_answers_take_no_more_memory_than_is_counted(rows: int, columns: int, totals: int) -> None:
    kept = KeptAnswers()
    tracemalloc.start()
    for number in range(1_000, 1_040):
        made = PackedRows()
        for row in range(rows):
            made.append(tuple(range(number * (row + 1), number * (row + 1) + columns)))
        names = tuple((f"column_{number}_{each}", Int(64)) for each in range(columns))
        last = (list(range(number, number + totals)),) if totals else None
        kept.add(replace(KEY, deployment=number), QueryResult(names, made, 0.1, 1, 1, last), 100.0, 60)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert len(kept._kept) == 40
    assert held <= kept._bytes
