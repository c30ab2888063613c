"""Lexemes: what stands between them, and what is inside quotes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.parse.lexer import InvalidSyntax, Reader, comma_spans, lex, split_at_commas

QUOTES = ("'", "`", '"', "'a,b'", "\\")
PIECES = (",", "(", ")", "[", "--", "-", "#", "# ", "/*", "*/", "\n", " ", "a", "1e-5", *QUOTES)


@given(st.text())
def test_lexemes_are_the_text_at_their_places(text: str) -> None:
    assert all(text[each.start : each.end] == each.text for each in lex(text))


def test_comments_are_left_out() -> None:
    found = lex("a -- b\n/* c\n */ d # e\n#! f\ng#h")
    assert [each.text for each in found] == ["a", "d", "g", "#", "h", ""]


@pytest.mark.parametrize(
    ("text", "value"),
    [(r"'it\'s'", "it's"), ("'it''s'", "it's"), (r"'a\\n'", r"a\n"), (r"'a\n'", "a\n"), ("`a``b`", "a`b"), ("a", "a")],
)
def test_values(text: str, value: str) -> None:
    assert lex(text)[0].value == value


def test_commas_inside_of_brackets_part_nothing() -> None:
    parts = ["".join(each.text for each in part) for part in split_at_commas(lex("a, f(b, [c, d]), 'e, f',, g,"))]
    assert parts == ["a,", "f(b,[c,d]),", "'e, f',", ",", "g,"]


@given(st.lists(st.sampled_from(PIECES)).map("".join) | st.text())
def test_spans_are_the_parts_at_their_places(text: str) -> None:
    found = []
    for start, end in comma_spans(text):
        for part in split_at_commas(lex(text[start:end])):
            found.append([(each.kind, each.text, start + each.start) for each in part])
    assert found == [[tuple(each) for each in part] for part in split_at_commas(lex(text))]


def test_nothing_has_no_parts() -> None:
    assert list(split_at_commas(lex(" -- nothing"))) == []


def test_the_end_stays() -> None:
    reader = Reader(lex("a"))
    assert [reader.take().text for _ in range(3)] == ["a", "", ""]


def test_what_is_not_closed_is_found() -> None:
    with pytest.raises(InvalidSyntax, match="expected `\\)`, found the end"):
        Reader(lex("a (b)")).until_close()
