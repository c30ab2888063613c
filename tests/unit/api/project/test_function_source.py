"""A function as self-contained text: the text alone, in a namespace of its own, does what the function does; what it
cannot hold is a problem at its line."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from penstock.api.project.function_source import FunctionSource, capture_source
from penstock.api.project.source_files import SourceFiles


@pytest.fixture
def capture(tmp_path: Path) -> Iterator[Callable[..., tuple[FunctionSource, Any]]]:
    """Captures `wanted` of a module with this text; the function itself is beside the text."""
    sys.path.insert(0, str(tmp_path))
    made: list[str] = []

    def run(text: str, **files: str) -> tuple[FunctionSource, Any]:
        for name, content in {**files, "captured_main": text}.items():
            (tmp_path / f"{name}.py").write_text(dedent(content))
            made.append(name)
        importlib.invalidate_caches()
        function = importlib.import_module("captured_main").wanted
        return capture_source(function, SourceFiles(tmp_path)), function

    yield run
    sys.path.remove(str(tmp_path))
    for name in made:
        sys.modules.pop(name, None)


def run_text(captured: FunctionSource) -> Callable[..., object]:
    space: dict[str, Any] = {"__name__": "__main__"}  # a class asks for its module
    exec(compile(captured.text, "text", "exec"), space)  # the text is that of this test
    made: Callable[..., object] = space[captured.name]
    return made


def test_imports_functions_classes_and_constants_come_along(capture: Callable[..., Any]) -> None:
    captured, function = capture(
        """
        import math as m
        import datetime
        from collections import Counter
        from decimal import Decimal
        from enum import Enum
        from captured_rules import double, LIMIT, Kind

        FROM = datetime.date(2024, 1, 31)
        RATES = {"a": (1.5, float("inf")), "b": (Decimal("2.50"), None)}
        NAMES = frozenset(["x", "y"])
        unused = open(__file__)

        def even(n):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - 1)

        def wanted(value: int, kind=Kind.OLD) -> object:
            local = [double(each) for each in range(LIMIT)]
            local.append(m.floor(2.5))
            return local, FROM, RATES, sorted(NAMES), even(value), Counter("aab")["a"], kind.value
        """,
        captured_rules="""
        from enum import Enum

        LIMIT = 3

        class Base(Enum):
            pass

        class Kind(Base):
            OLD = "old"

        def double(value):
            '''Twice
              as much.'''
            return value * 2
        """,
    )
    assert captured.problems == ()
    assert "unused" not in captured.text
    assert run_text(captured)(4) == function(4)
    line = captured.text.splitlines().index("    return n == 0 or odd(n - 1)")
    assert (captured.places[line].location.file, captured.places[line].location.line) == ("captured_main.py", 15)
    assert len(captured.places) == len(captured.text.splitlines())


def test_a_function_within_a_function_keeps_its_texts(capture: Callable[..., Any]) -> None:
    captured, function = capture(
        '''
        def make(factor, words):
            def wanted(value):
                text = """a
                    b"""
                return value * factor, words, text
            return wanted

        wanted = make(3, ["one", "two"])
        '''
    )
    assert captured.problems == ()
    assert run_text(captured)(2) == function(2)


def test_the_own_decorator_is_left_out(capture: Callable[..., Any]) -> None:
    captured, _ = capture(
        """
        def mark(function):
            return function

        @mark
        def wanted():
            return 1
        """
    )
    assert captured.problems == ()
    assert captured.text == "\n\ndef wanted():\n    return 1\n"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("file = open(__file__)\ndef wanted():\n    return file.name", 3, "`file` is a TextIOWrapper"),
        ("half = lambda x: x / 2\ndef wanted():\n    return half(1)", 3, "`half` is a lambda"),
        ("seen = []\ndef wanted():\n    seen.append(1)", 3, "`seen` is changed here"),
        ("seen = {}\ndef wanted():\n    seen['a'] = 1", 3, "`seen` is changed here"),
        ("calls = 0\ndef wanted():\n    global calls\n    calls += 1", 4, "`calls` is changed here"),
        (
            "import functools\n@functools.cache\ndef slow():\n    return 1\ndef wanted():\n    return slow()",
            6,
            "`slow` is a _lru_cache_wrapper",
        ),
        (
            "def twice(f):\n    def again(): return f()\n    return again\n"
            "@twice\ndef helped():\n    return 1\ndef wanted():\n    return helped()",
            8,
            "`helped` is `again` under another name",
        ),
        ("import captured_rules\ndef wanted():\n    return captured_rules.LIMIT", 3, "is a module of the project"),
        ("loop = []\nloop.append(loop)\ndef wanted():\n    return loop", 4, "`loop` is a list"),
        (
            "def wanted():\n    if 1:\n        from captured_rules import limit\n    return limit()",
            3,
            "`captured_rules` of the project is imported within",
        ),
        ("def wanted():\n    import math, captured_rules\n    return 1", 2, "`captured_rules` of the project"),
        ("def wanted():\n    from .rules import limit\n    return limit()", 2, "`.rules` of the project"),
        ("def part():\n    import captured_rules\ndef wanted():\n    return part()", 2, "`captured_rules` of"),
        (
            "import importlib\ndef wanted():\n    return importlib.import_module('captured_rules')",
            3,
            "`captured_rules` of the project",
        ),
        (
            "from captured_rules import LIMIT, limit\nLIMIT = 4\ndef wanted():\n    return LIMIT + limit()",
            3,
            "`LIMIT` means two things",
        ),
    ],
)
def test_what_a_text_cannot_hold_is_a_problem_at_its_line(
    capture: Callable[..., Any], text: str, line: int, message: str
) -> None:
    captured, _ = capture(text, captured_rules="LIMIT = 3\ndef limit():\n    return LIMIT\n")
    assert [each.code for each in captured.problems] == ["not-self-contained"]
    problem = captured.problems[0]
    assert message in problem.message
    assert problem.location is not None
    if "two things" not in message:
        assert (problem.location.file, problem.location.line) == ("captured_main.py", line)


def test_classes_keep_their_decorators_and_packages_their_parts(capture: Callable[..., Any]) -> None:
    captured, function = capture(
        """
        import xml.etree.ElementTree
        from dataclasses import dataclass

        @dataclass(frozen=True)
        class Point:
            x: int = 1

        def wanted():
            yield len({Point(), Point()})  # see\u2028this
            yield xml.etree.ElementTree.fromstring("<a/>").tag
        """
    )
    assert captured.problems == ()
    assert list(run_text(captured)()) == list(function()) == [1, "a"]  # type: ignore[call-overload]


def test_packages_are_not_of_the_project_wherever_they_are(capture: Callable[..., Any], tmp_path: Path) -> None:
    captured, function = capture("def wanted():\n    import json, pydantic.fields\n    return json.dumps(1)\n")
    assert captured.problems == ()
    assert run_text(captured)() == function() == "1"
    assert SourceFiles(tmp_path).shown(str(tmp_path / ".venv/lib/python3/site-packages/x/y.py")) is None
