"""A whole number is what `int` takes and ASCII digits write, and nothing else."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from penstock.parse.sql_syntax.integer_parsing import parse_whole_number


@given(st.text(max_size=6))
@example("³")
@example("٣")
@example("1_0")
@example(" 1")
@example("9" * 5000)
def test_never_raises_and_means_its_digits(text: str) -> None:
    number = parse_whole_number(text)
    assert (number is None) == (not (text.isascii() and text.isdecimal() and len(text) < 79))
    assert number is None or text.lstrip("0") == (str(number) if number else "")
