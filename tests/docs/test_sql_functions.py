"""docs/sql-functions.md is what the tables of the compiler say."""

from __future__ import annotations

from scripts.sql_docs import MARK, PAGE, all_names, page


def test_the_page_is_what_the_tables_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(MARK) == 1
    assert page(text) == text, "run `make golden`"


def test_every_name_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in all_names() if f"`{name}" not in text]
    assert not missing
