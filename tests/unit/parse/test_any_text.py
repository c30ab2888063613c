"""Whatever stands in the files: problems with places that exist, and never an exception."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.parse.project_loader import load_files

RIGHT = Path(__file__).parents[2] / "golden" / "datafiles" / "right"
SOURCES = {path.name: path.read_text() for path in RIGHT.rglob("*") if path.suffix in (".datasource", ".pipe", ".toml")}
MARKS = ("'", "`", '"', "(", ")", ",", "\n", "    ", "\t", "%", "{{", "--", "/*", "[", "=", ">", "#", "\r")
NAMES = ("x.datasource", "x.pipe", "x.connection", "a/b.pipe", "penstock.toml", "x.txt", "\0.pipe", ".pipe")
WORDS = ("a", "Int8", " ", "NODE x", "SQL >", "TYPE", "\nSCHEMA >\n  a Int8", "ENGINE", "ENGINE_SORTING_KEY")


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, str]:
    """A right file, some characters cut out of it and others put in."""
    name = draw(st.sampled_from(sorted(SOURCES)))
    text = SOURCES[name]
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        text = text[:start] + draw(st.one_of(st.sampled_from(MARKS), st.text(max_size=3))) + text[end:]
    return {name: text}


def check(files: dict[str, str]) -> None:
    for problem in load_files(files).problems:
        place = problem.location
        assert problem.code
        assert problem.message
        assert place is not None
        if place.file not in files:
            continue
        # A lone carriage return ends a line of a datafile and none of TOML.
        ends = r"\n" if place.file.endswith(".toml") else r"\r\n|\n|\r"
        lines = re.split(ends, files[place.file])
        assert 1 <= place.line <= len(lines)
        assert 1 <= place.column <= len(lines[place.line - 1]) + 1


@settings(max_examples=300, deadline=None)
@given(mutated())
def test_mutated_files(files: dict[str, str]) -> None:
    check(files)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(NAMES), st.text())
def test_random_text(name: str, text: str) -> None:
    check({name: text})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(MARKS + WORDS)))
def test_pieces(pieces: list[str]) -> None:
    text = "".join(pieces)
    check({"x.datasource": text, "y.pipe": text, "z.connection": text, "penstock.toml": text})


def test_deep_texts() -> None:
    deep = "(" * 100_000
    check({"x.datasource": f"SCHEMA >\n    a {deep}\nENGINE_SORTING_KEY a, {deep}\nENGINE_TTL {'-' * 50_000}1"})
    check({"x.datasource": "SCHEMA >\n    a Int8\nENGINE_SORTING_KEY not " + "not " * 20_000 + "a"})
    check({"penstock.toml": "a = " + "[" * 100_000})
