"""docs/concepts.md is the glossary: the words in names of modules and public classes are words of that page."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/penstock"
GLOSSARY = (ROOT / "docs/concepts.md").read_text(encoding="utf-8")
WORDS = frozenset(re.findall(r"[a-z][a-z0-9]*", GLOSSARY.lower()))
RETIRED = frozenset(("tenure", "taken", "torn", "needed", "unfit", "apart", "rebirth", "told", "settler", "dealing"))
"""Former names whose meaning nobody could guess; the glossary has the standard term for each."""
MODULES = sorted(path for path in SOURCE.rglob("*.py") if not {"examples", "migrations"} & set(path.parts))


def words_of(name: str) -> list[str]:
    """The words of a name in lower case: `TableLayout` and `table_layout` have the same. Digits are left out."""
    return [word.lower() for word in re.findall(r"IPv[46]|[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def names_of(path: Path) -> Iterator[str]:
    """The module's own name and those of its public classes."""
    if not path.stem.startswith("__"):
        yield path.stem
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name


def is_known(word: str) -> bool:
    """Whether the glossary has the word, in the singular or in the plural."""
    return word in WORDS or f"{word}s" in WORDS or word.removesuffix("s") in WORDS or word.removesuffix("es") in WORDS


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_names_are_made_of_words_of_the_glossary(path: Path) -> None:
    unknown = {name: word for name in names_of(path) for word in words_of(name) if not is_known(word)}
    assert not unknown, "use a word of docs/concepts.md, or explain the new one there"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_name_has_a_retired_word(path: Path) -> None:
    assert not [name for name in names_of(path) if RETIRED & set(words_of(name))]
