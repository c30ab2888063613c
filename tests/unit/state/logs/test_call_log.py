"""The call log: bounded, without secrets, and patient with a store that is away."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from penstock.errors import Unavailable
from penstock.redaction import forget_secrets, register_secrets
from penstock.state.database import Database
from penstock.state.logs import call_log as module
from penstock.state.logs.call_log import CallLog, CallRecord
from penstock.state.logs.call_parameters import LONGEST_VALUE, MOST_PARAMETERS, keep_parameters

NOW = datetime(2026, 1, 2, 3, 4, 5, 600_000, tzinfo=timezone.utc)
ASKED = {"country": "DE"}
ONE = CallRecord(NOW, "top", "live", 0.25, 10, 100, 2, 200, None, None, "r1", "reader", "GET", "curl", ASKED)


def test_the_newest_come_back_first(database: Database) -> None:
    calls = CallLog(database, 100)
    calls.add(ONE)
    calls.add(replace(ONE, pipe="other", status=400, error_code="invalid-request", error="no\0 such \ud800"))
    assert calls.recent(["pipe", "status", "error", "started_at", "parameters"], 10) == [
        ("other", 400, "no\N{REPLACEMENT CHARACTER} such ?", NOW, {"country": "DE"}),
        ("top", 200, None, NOW, {"country": "DE"}),
    ]
    assert calls.recent(["duration", "read_rows", "read_bytes", "result_rows"], 1) == [(0.25, 10, 100, 2)]


def test_no_more_than_the_latest_are_kept(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOT", 10)
    calls = CallLog(database, 100)
    for number in range(1_000):
        calls.add(replace(ONE, request_id=str(number)))
        if number % 25 == 0:
            calls.flush()
    kept = [each for (each,) in calls.recent(["request_id"], 10_000)]
    assert 100 <= len(kept) <= 120
    assert kept == [str(number) for number in range(999, 999 - len(kept), -1)]


def test_old_ones_are_removed(database: Database) -> None:
    calls = CallLog(database, 100)
    calls.add(replace(ONE, started_at=NOW - timedelta(days=8), request_id="old"))
    calls.add(ONE)
    calls.flush()
    assert (calls.trim(NOW - timedelta(days=7)), calls.trim(NOW - timedelta(days=7))) == (1, 0)
    assert calls.recent(["request_id"], 10) == [("r1",)]


def test_a_store_that_is_away_fails_nobody_and_takes_bounded_memory(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = CallLog(database, 100)
    with monkeypatch.context() as away:
        away.setattr(module, "MOST_WAITING", 3)

        def refuse() -> None:
            raise Unavailable("the store is away")

        away.setattr(database, "write", refuse)
        for number in range(5):
            calls.add(replace(ONE, request_id=str(number)))
            calls.flush()
        away.setattr(module, "MOST_WAITING_CHARACTERS", 1_800)
        calls.add(replace(ONE, request_id="5", parameters={"q": "x" * 1_500}))
    assert calls.recent(["request_id"], 10) == [("5",)]


def test_distinct_calls_that_were_answered(database: Database) -> None:
    calls = CallLog(database, 100)
    for given in ({"a": "1"}, {"a": "2"}, {"b": ("x", "y,z"), "a": "1"}, {"a": "1"}):
        calls.add(replace(ONE, parameters=given))
    calls.add(replace(ONE, parameters={"a": "3"}, status=400))
    calls.add(replace(ONE, parameters={"a": "4"}, pipe="other"))
    calls.add(replace(ONE, parameters={"a": "5", "api_key": "me"}))
    assert calls.recent_parameters("top", 2) == [{"a": "1"}, {"a": "1", "b": ["x", "y,z"]}]
    assert calls.recent_parameters("top", 9)[2:] == [{"a": "2"}]
    assert calls.recent_parameters("nothing", 9) == []


def test_secrets_are_not_kept() -> None:
    register_secrets(["tr0ub4dor"])
    try:
        kept = keep_parameters(
            {
                "token": "p.1",
                "user_password": "x",
                "q": "SELECT 'tr0ub4dor'",
                "long": "a" * (LONGEST_VALUE - 4) + "tr0ub4dor" + "b" * 10_000,
                "list": ("tr0ub4dor", "b"),
                "tokens": "3",
            }
        )
    finally:
        forget_secrets()
    assert "tr0ub" not in str(kept.values)
    assert "tr0" not in str(kept.values["long"])
    assert (kept.values["token"], kept.values["user_password"], kept.values["tokens"]) == ("***", "***", "3")
    assert kept.values["list"] == ["***", "b"]
    assert not kept.is_whole


@pytest.mark.parametrize(
    "sent",
    [
        {"q": "x" * (LONGEST_VALUE + 1)},
        {str(number): "" for number in range(MOST_PARAMETERS + 1)},
        {str(number): "x" * LONGEST_VALUE for number in range(10)},
        {"list": tuple("x" * LONGEST_VALUE)},
        {"x" * 300: "y"},
    ],
)
def test_what_is_too_long_is_cut_and_said_to_be(sent: dict[str, str | tuple[str, ...]]) -> None:
    kept = keep_parameters(sent)
    assert not kept.is_whole
    assert sum(map(len, map(str, kept.values.values()))) < 25_000


def test_usual_parameters_are_whole() -> None:
    kept = keep_parameters({"a": "x" * LONGEST_VALUE, "b": ("1", "2"), "c": ""})
    assert kept.is_whole
    assert kept.values == {"a": "x" * LONGEST_VALUE, "b": ["1", "2"], "c": ""}
