"""docs/sql-functions.md is what the tables of the compiler say."""

from __future__ import annotations

import re

from scripts.sql_docs import MARK, PAGE, ROOT, all_names, page

_TEST = re.compile(r"\[\w+\]\(\.\./(tests/[^)]*)\)")
"""The file of tests that calls a function: another one does as well, if a new file comes before it."""


def test_the_page_is_what_the_tables_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(MARK) == 1
    assert _TEST.sub("", page(text)) == _TEST.sub("", text), "run `make golden`"


def test_the_tests_that_it_names_call_the_functions() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if _TEST.search(line)]
    assert rows
    for row in rows:
        names = re.findall(r"`(\w+)", row.split(" | ")[0])
        (file,) = _TEST.findall(row)
        text = (ROOT / file).read_text(encoding="utf-8").lower()
        assert any(f"{name.lower()}(" in text for name in names), row


def test_every_name_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    missing = [name for name in all_names() if f"`{name}" not in text]
    assert not missing
