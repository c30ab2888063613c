"""docs/commands.md is what the command line says."""

from __future__ import annotations

from scripts.commands_docs import MARK, PAGE, commands, page


def test_the_page_is_what_the_commands_say() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(MARK) == 1
    assert page(text) == text, "`python scripts/commands_docs.py` writes it anew"


def test_every_command_is_explained() -> None:
    assert [words for words, function in commands() if not function.__doc__] == []
