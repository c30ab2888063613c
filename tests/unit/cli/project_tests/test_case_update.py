"""New results are written into a file of tests, and nothing else changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.commands.project_tests.answer_difference import to_json
from penstock.cli.commands.project_tests.case_update import NewResult, update_cases
from penstock.cli.commands.project_tests.endpoint_cases import CaseFile, parse_cases
from penstock.errors import InvalidRequest

ROWS = NewResult(('{"a":1}', '{"a":2}'), 200)


def update(text: str, **results: NewResult) -> str:
    problems: list = []
    cases = parse_cases(text, "tests/top.yaml", problems)
    assert problems == []
    return update_cases(CaseFile("tests/top.yaml", text, cases), results)


def test_comments_and_other_tests_stay() -> None:
    text = """\
# head
- name: one   # first
  expected_result: |
    {"a":9}

# between
- name: two
  expected_result: ''
  expected_http_status: 200   # fine
-   description: indented otherwise
    name: three
"""
    assert (
        update(text, one=ROWS, two=NewResult(("no such page",), 400), three=ROWS)
        == """\
# head
- name: one   # first
  expected_result: |
    {"a":1}
    {"a":2}

# between
- name: two
  expected_result: |
    no such page
  expected_http_status: 400   # fine
-   description: indented otherwise
    name: three
    expected_result: |
      {"a":1}
      {"a":2}
"""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('- name: x\n  expected_result: "{}"', '- name: x\n  expected_result: |\n    {"a":1}\n    {"a":2}'),
        ("- name: x\n  expected_result:\n", '- name: x\n  expected_result: |\n    {"a":1}\n    {"a":2}\n'),
        ("- {name: x}\n", '- {name: x, expected_result: "{\\"a\\":1}\\n{\\"a\\":2}"}\n'),
        (
            "- name: x\n  expected_result: |-\n    {}\n\n\n- name: y\n",
            '- name: x\n  expected_result: |\n    {"a":1}\n    {"a":2}\n\n\n- name: y\n',
        ),
    ],
)
def test_every_form_of_a_result_is_replaced(text: str, expected: str) -> None:
    assert update(text, x=ROWS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- name: x   # why\n", '- name: x   # why\n  expected_result: |\n    {"a":1}\n    {"a":2}\n'),
        ("- name: x # why", '- name: x # why\n  expected_result: |\n    {"a":1}\n    {"a":2}'),
        (
            "- name: x\n  expected_result: ''  # none\n- name: y\n",
            '- name: x\n  expected_result: |  # none\n    {"a":1}\n    {"a":2}\n- name: y\n',
        ),
        (
            "- name: x\n  expected_result: |-  # rows\n    {}\n",
            '- name: x\n  expected_result: |  # rows\n    {"a":1}\n    {"a":2}\n',
        ),
        (
            "- name: x\r\n  expected_result: |\r\n    {}\r\n- name: y\r\n",
            '- name: x\r\n  expected_result: |\n    {"a":1}\n    {"a":2}\r\n- name: y\r\n',
        ),
    ],
)
def test_comments_in_the_lines_of_keys_stay(text: str, expected: str) -> None:
    assert update(text, x=ROWS) == expected


def test_no_rows_are_an_empty_text() -> None:
    text = "- name: x\n  expected_result: |\n    {}\n- name: y\n"
    assert update(text, x=NewResult((), 200)) == "- name: x\n  expected_result: ''\n- name: y\n"


def test_a_shared_result_is_kept_as_it_is() -> None:
    with pytest.raises(InvalidRequest, match="is kept as it is"):
        update("- name: x\n  expected_result: &same |\n    {}\n- name: y\n  expected_result: *same\n", y=ROWS)


@given(st.lists(st.dictionaries(st.text(min_size=1), st.text() | st.integers() | st.none()), min_size=1, max_size=3))
def test_any_rows_can_be_written_and_read_again(rows: list[dict]) -> None:
    found = NewResult(tuple(to_json(row) for row in rows), 200)
    text = update("- name: x\n- name: y\n", x=found)
    case = parse_cases(text, "tests/top.yaml", [])[0]
    assert [row.value for row in case.rows] == rows
