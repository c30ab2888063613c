"""What counts as a difference between an answer and what a test expects."""

from __future__ import annotations

import pytest

from penstock.cli.commands.project_tests.answer_difference import MOST_LINES, EndpointAnswer, find_difference
from penstock.cli.commands.project_tests.endpoint_cases import ExpectedRow, parse_json

TYPES = {"n": "Int64", "f": "Nullable(Float64)", "d": "Decimal(38, 4)", "t": "String", "a": "Array(Float32)"}


def difference(expected: str, found: str, *, is_ordered: bool = True) -> list[str]:
    rows = [ExpectedRow(parse_json(line), at) for at, line in enumerate(expected.splitlines(), 1)]
    answered = [parse_json(line) for line in found.splitlines()]
    return find_difference(rows, EndpointAnswer(TYPES, answered), is_ordered=is_ordered)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ("", ""),
        ('{"n":1,"t":"x"}', '{"t":"x","n":1}'),
        ('{"n":18446744073709551615}', '{"n":18446744073709551615}'),
        ('{"d":1.50}', '{"d":1.5}'),
        ('{"d":2.0}', '{"d":2}'),
        ('{"f":0.3}', '{"f":0.30000000000000004}'),
        ('{"a":[0.1,1]}', '{"a":[0.10000000001,1.0]}'),
        ('{"f":null}', '{"f":null}'),
    ],
)
def test_what_is_the_same(expected: str, found: str) -> None:
    assert difference(expected, found) == []


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        ('{"n":1}', '{"n":"1"}'),
        ('{"n":1}', '{"n":true}'),
        ('{"n":0}', '{"n":null}'),
        ('{"n":null}', "{}"),
        ('{"n":9007199254740993}', '{"n":9007199254740992}'),
        ('{"d":0.3}', '{"d":0.30000000000000004}'),
        ('{"f":0.3}', '{"f":0.3001}'),
        ('{"a":[1]}', '{"a":[1,2]}'),
        ('{"t":"é"}', '{"t":"e\u0301"}'),
        ('{"n":1}\n{"n":1}', '{"n":1}'),
        ('{"n":1}', '{"n":1}\n{"n":1}'),
    ],
)
def test_what_is_different(expected: str, found: str) -> None:
    assert difference(expected, found) != []
    assert difference(expected, found, is_ordered=False) != []


def test_the_order_counts_where_the_query_has_one() -> None:
    both = '{"n":1}\n{"n":2}', '{"n":2}\n{"n":1}'
    assert difference(*both, is_ordered=False) == []
    assert difference(*both)[0].startswith("the same rows in another order")


def test_rows_of_no_order_are_matched_by_value_and_number() -> None:
    expected, found = '{"f":0.3}\n{"f":1}\n{"f":1}', '{"f":1}\n{"f":0.30000000000000004}\n{"f":1}'
    assert difference(expected, found, is_ordered=False) == []
    assert difference(expected, '{"f":1}\n{"f":0.3}\n{"f":0.3}', is_ordered=False) == [
        '+ {"f":0.3}',
        '- {"f":1}   (line 3)',
    ]


def test_a_difference_names_lines_and_columns() -> None:
    expected = '{"t":"a","n":1}\n{"t":"b","n":2}\n{"t":"c","n":3}'
    found = '{"t":"a","n":1}\n{"t":"b","n":5}\n{"t":"c","n":3}\n{"t":"d","n":4}'
    assert difference(expected, found) == [
        '- {"t":"b","n":2}   (line 2)',
        '+ {"t":"b","n":5}',
        "  `n` is 5, expected 2",
        '+ {"t":"d","n":4}',
    ]


def test_a_long_difference_is_cut() -> None:
    lines = difference("", "\n".join(f'{{"n":{n}}}' for n in range(100)))
    assert (len(lines), lines[-1]) == (MOST_LINES + 1, "… and 76 lines more")
