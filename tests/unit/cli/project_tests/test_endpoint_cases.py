from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.cli.commands.project_tests.endpoint_cases import CaseFile, parse_cases, read_case_files, select_cases

TEXT = """\
# of the page
- name: first
  description: The first page
  parameters: page=1&tag=a&tag=b%20c&empty=
  expected_result: |
    {"a":1,"b":0.10}

    {"a":2,"b":null}
- name: refused
  expected_http_status: 400
  expected_result: the page is no number
- name: plain
  expected_result: '{"a":1}'
"""


def test_what_a_test_says_is_read_with_its_places() -> None:
    problems: list = []
    first, refused, plain = parse_cases(TEXT, "tests/top.yaml", problems)
    assert problems == []
    assert (first.pipe, first.name, first.status, str(first.location)) == ("top", "first", 200, "tests/top.yaml:2:3")
    assert first.parameters == {"page": ("1",), "tag": ("a", "b c"), "empty": ("",)}
    assert [(row.value, row.line) for row in first.rows] == [({"a": 1, "b": "0.10"}, 6), ({"a": 2, "b": None}, 8)]
    assert (refused.status, refused.rows, refused.text) == (400, (), "the page is no number")
    assert [row.line for row in plain.rows] == [13]


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("name: x\n", "a file of tests is a list", "1:1"),
        ("- x\n", "an object with keys", "1:3"),
        ("- description: x\n", "a test has a `name`", "1:3"),
        ("- name: x\n  expect_result: ''\n", "a test has no `expect_result`", "2:3"),
        ("- name: x\n  name: y\n", "a second `name`", "2:3"),
        ("- name: x\n- name: x\n", "a second test `x`", "2:3"),
        ("- name: x\n  expected_http_status: teapot\n", "no HTTP status", "2:25"),
        ("- name: x\n  parameters: a&b\n", "no list of parameters", "2:15"),
        ("- name: x\n  parameters:\n    a: 1\n", "a text was expected", "3:5"),
        ("- name: x\n  expected_result: |\n    {}\n    {a}\n", "this is no JSON", "4:1"),
        ('- name: x\n  expected_result: |\n    {"a": {"b": 1, "b": 2}}\n', 'the key "b" stands twice', "3:1"),
        ('- name: x\n  expected_result: |\n    {"a": NaN}\n', "NaN is no number of JSON", "3:1"),
        ("- name: x\n  expected_result: '[1]'\n", "a row is a JSON object", "2:1"),
        ("- name: [\n", "this is no YAML", "2:1"),
        ("- name: \x00\n", "this is no YAML", "1:1"),
        ("[" * 5000, "this is no YAML", "1:1"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, message: str, place: str) -> None:
    problems: list = []
    parse_cases(text, "t.yaml", problems)
    assert message in problems[0].message
    assert str(problems[0].location) == f"t.yaml:{place}"


@given(st.text(st.sampled_from("-:{}[]|>&*!#'\"? \n\tnametxd\x85\ufeff"), max_size=60))
def test_no_text_raises(text: str) -> None:
    parse_cases(text, "t.yaml", [])


def test_names_choose_files_endpoints_and_tests() -> None:
    cases = parse_cases(TEXT, "tests/top.yaml", [])
    other = parse_cases("- name: first\n", "tests/more/low.yaml", [])
    files = (CaseFile("tests/top.yaml", TEXT, cases), CaseFile("tests/more/low.yaml", "", other))
    for name, expected in (
        ("top", cases),
        ("top.yaml", cases),
        ("./tests/more/low.yaml", other),
        ("first", (cases[0], *other)),
        ("low::first", other),
    ):
        assert select_cases(files, [name]) == (tuple(expected), ())
    assert select_cases(files, []) == ((*cases, *other), ())
    assert select_cases(files, ["top", "tip"]) == (cases, ("tip",))


def test_every_file_of_the_folder_is_read(tmp_path: Path) -> None:
    (tmp_path / "tests/more").mkdir(parents=True)
    (tmp_path / "tests/top.yaml").write_text(TEXT)
    (tmp_path / "tests/more/low.yml").write_text("")
    (tmp_path / "tests/latin.yaml").write_bytes(b"- name: \xe9\n")
    (tmp_path / "tests/notes.md").write_text("no tests")
    problems: list = []
    assert [file.path for file in read_case_files(tmp_path, problems)] == ["tests/more/low.yml", "tests/top.yaml"]
    assert [problem.code for problem in problems] == ["not-utf-8"]
