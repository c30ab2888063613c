"""Data, names and errors of others are printed: a terminal must not obey what is in them."""

from __future__ import annotations

import json

import pytest

from penstock.cli.answer_output import AnswerView, print_answer, show_value
from penstock.cli.errors import ServerRefusal, print_problems, report
from penstock.cli.output import answers_console, build_table, console, print_json, print_plain_table, print_table

EVIL = "\x1b]0;owned\x07\x1b[2Jx\x9b31m\r\u202eabc\u2028[red]"
SAFE = "\\x1b]0;owned\\x07\\x1b[2Jx\\x9b31m\\r\\u202eabc\\u2028[red]"


@pytest.fixture(autouse=True)
def _width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")


def test_tables_and_lines_show_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_table((EVIL,), [(EVIL,)])
    console().print(EVIL, markup=False)
    answer = {"meta": [{"name": EVIL}], "data": [{EVIL: EVIL}], "statistics": {"elapsed": 0.1}}
    print_answer(answer)
    out = capsys.readouterr().out
    assert out.count(SAFE) == 5
    assert not set(out) & set("\x1b\x07\x9b\r\u202e\u2028")


def test_a_table_without_a_terminal_is_the_table_of_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    titles = ["n", "日本", "a\x1b[31m", "mixed"]
    rows = [[1, "é", True, "x"], [None, "👍🏽 wide 日本", False, 2.5], [123456, "", True, [1, "ü"]]]
    console = answers_console()
    for shown in (rows, rows[:1], []):
        console.print(build_table(titles, shown))
        of_terminal = capsys.readouterr().out
        print_plain_table(titles, shown)
        assert capsys.readouterr().out == of_terminal


def test_errors_show_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    problem = {"code": EVIL, "message": f"{EVIL} wrong", "file": EVIL, "line": 1, "column": 1, "hint": EVIL}
    report(ServerRefusal(400, {"error": EVIL, "code": "x", "problems": [problem]}))
    err = capsys.readouterr().err
    assert err.count(SAFE) == 4
    assert not set(err) & set("\x1b\x07\x9b\r\u202e\u2028")


def test_a_json_document_means_the_same_and_has_no_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": EVIL, "lone": "\ud800"})
    out = capsys.readouterr().out
    assert json.loads(out) == {"name": EVIL, "lone": "\ud800"}
    assert not set(out) & set("\x1b\x07\x9b\r\u202e\u2028")


@pytest.mark.parametrize(
    ("value", "of", "shown"),
    [
        (None, "Nullable(Float64)", "NULL"),
        ("inf", "Float64", float("inf")),
        ("-inf", "Nullable(Float32)", float("-inf")),
        ("inf", "String", "inf"),
        ("AQMD", "AggregateFunction(uniq, String)", "<state of uniq, 3 bytes>"),
        ("AQMD", "SimpleAggregateFunction(any, String)", "AQMD"),
        (5, "UInt8", 5),
    ],
)
def test_values_are_shown_as_what_they_are(value: object, of: str, shown: object) -> None:
    assert show_value(value, of) == shown


def test_one_value_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    types = {"a": "Float64", "long": "Array(UInt8)", EVIL: "String"}
    meta = [{"name": name, "type": of} for name, of in types.items()]
    answer = {"meta": meta, "data": [{"a": "nan", "long": [1, 2], EVIL: EVIL}], "statistics": {"elapsed": 0.1}}
    print_answer(answer, AnswerView(vertical=True))
    out = capsys.readouterr().out
    assert "row 1\na:" in out
    assert "nan\nlong:" in out
    assert "[1, 2]\n" in out
    assert out.count(SAFE) == 2
    assert not set(out) & set("\x1b\x07\x9b\r\u202e\u2028")


def test_an_answer_that_was_cut_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {"meta": [{"name": "a", "type": "UInt8"}], "data": [{"a": 1}], "rows_before_limit_at_least": 2}
    print_answer({**answer, "statistics": {"elapsed": 0.1, "rows_read": 1000}})
    assert "1 row in 0.10 s, 1,000 rows read; there are more: --limit N shows N of them" in capsys.readouterr().out


@pytest.mark.parametrize("vertical", [False, True])
def test_a_value_with_line_breaks_is_one_line(capsys: pytest.CaptureFixture[str], vertical: bool) -> None:
    """Else it could look like the value of another column."""
    meta = [{"name": "a", "type": "String"}, {"name": "b", "type": "Nullable(String)"}]
    answer = {"meta": meta, "data": [{"a": "x\nb: forged\t", "b": None}], "statistics": {"elapsed": 0.1}}
    print_answer(answer, AnswerView(vertical=vertical))
    out = capsys.readouterr().out
    assert r"x\nb: forged\t" in out
    assert not any(line.startswith("b: forged") for line in out.splitlines())


def test_square_brackets_of_errors_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """They are not styles, also behind a backslash."""
    text = r"bad \[b] regex [a-z]+ [/red] \\[x]\ end"
    problem = {"code": "x", "message": f"m {text}", "file": "f[1].pipe", "line": 1, "column": 1, "hint": f"h {text}"}
    report(ServerRefusal(400, {"error": text, "code": "x", "problems": [problem]}))
    print_problems([problem | {"level": "warning"}])
    err = capsys.readouterr().err
    assert err.count(text) == 5
    assert err.count("f[1].pipe") == 2
