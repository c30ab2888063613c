from __future__ import annotations

import pytest

from penstock.errors import InvalidRequest
from penstock.plan.parity.endpoint_calls import MOST_CALLS, calls_of, parse_calls, recorded_calls


def test_one_call_a_line() -> None:
    given = '{"n": 3, "on": true, "in": ["a", 1], "not": null}'
    text = f'{{"endpoint": "top", "parameters": {given}}}\n\n{{"endpoint": "all"}}\n'
    top, everything = parse_calls(text, ["top", "all"])
    assert (top.endpoint, top.texts) == ("top", {"in": '["a",1]', "n": "3", "on": "true"})
    assert (everything.endpoint, everything.texts) == ("all", {})
    assert calls_of("top", [top, everything]) == (top,)
    assert [(each.endpoint, each.texts) for each in calls_of("other", [top])] == [("other", {})]


def test_each_wrong_line_is_named_with_its_number() -> None:
    lines = ["{", '{"endpoint": 1}', '{"endpoint": "tpo"}', '{"endpoint": "top", "parameters": 1}', "[]"]
    lines += ['{"endpoint": "top", "params": {}}']
    with pytest.raises(InvalidRequest) as refused:
        parse_calls("\n".join(lines), ["top"])
    problems = refused.value.problems
    assert [problem.location.line for problem in problems if problem.location] == [1, 2, 3, 4, 5, 6]
    assert problems[2].hint == "did you mean `top`?"
    assert "`params`" in problems[5].message


def test_there_is_an_end_to_calls() -> None:
    with pytest.raises(InvalidRequest):
        parse_calls('{"endpoint": "top"}\n' * (MOST_CALLS + 1), ["top"])


def test_recorded_calls_differ_in_what_is_read() -> None:
    recorded = [{"a": "1", "t": "9"}, {"t": "8", "a": "1"}, {"in": ["x", "y,z"]}, {"t": "7"}, {"a": "2"}]
    found = recorded_calls("top", recorded, {"a", "in"}, 3)
    assert [each.texts for each in found] == [{"a": "1"}, {"in": '["x","y,z"]'}, {}]
    assert recorded_calls("top", [], {"a"}, 3) == ()
    listed = found[1].parameters["in"]
    assert listed == parse_calls('{"endpoint": "top", "parameters": {"in": ["x", "y,z"]}}', ["top"])[0].parameters["in"]
