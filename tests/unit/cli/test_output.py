"""Data, names and errors of others are printed: a terminal must not obey what is in them."""

from __future__ import annotations

import json

import pytest

from penstock.cli.errors import ServerRefusal, report
from penstock.cli.output import console, print_answer, print_json, print_table

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
