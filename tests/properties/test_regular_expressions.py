"""No regular expression of the package is slow, whatever text it is given: each is fed 100 KB of its worst text.

Patterns hold Python's interpreter lock while they match, so one that is quadratic stops every thread of the server.
"""

from __future__ import annotations

import ast
import fnmatch
import heapq
import importlib
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import penstock
from penstock.model.json_documents.path_rules import skip_pattern
from penstock.serve.app import create_app
from penstock.serve.http.pipeline_host import PipelineHost
from properties.pattern_texts import slow_texts

SOURCE = Path(penstock.__file__).parent
FUNCTIONS = {"compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer"}
MADE: dict[str, list[tuple[str, str]]] = {
    "sql/expr/bind_once.py": [(r"`__b([0-9]+)`", "search")],
    "parse/classic/conversion.py": [(re.escape("ENGINE_PARTITION_KEY"), "sub")],  # a keyword, letter by letter
    "sql/functions/conditions.py": [(r"array\((?:'a'|'ab')(?:, (?:'a'|'ab'))*\)", "fullmatch")],  # names of an Enum
    "sql/syntax/catalog_statements.py": [(fnmatch.translate("*a*b?c*"), "fullmatch")],
    "model/json_documents/path_rules.py": [(skip_pattern(r"^a.*b[0-9]+\.c|d$").pattern, "search")],
    "sql/analysis/may_raise.py": [],  # one that a user wrote: compiled to see whether it can be, and never matched
}
"""Patterns that are made at run time: examples of them by module, and how they are matched."""
LONG = 100_000
SIZES = (24, 32, 40, 48, 1_000, 5_000, 20_000, LONG)
"""The first four find a pattern that is exponential before it takes for ever."""
CPU_SECONDS = 1.0
"""A linear pattern takes some milliseconds for 100 KB, a quadratic one ten seconds and more."""


@dataclass(frozen=True)
class UsedPattern:
    """A pattern with the ways in which it is matched."""

    place: str
    pattern: re.Pattern[str]
    ways: frozenset[str]


def patterns() -> Iterator[UsedPattern]:
    """Every pattern of the package, and those of the routes. Heads of requests are read without any (httptools)."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield from patterns_of(path)
    for route in create_app(PipelineHost()).routes:
        yield UsedPattern(f"route {route.path}", route.path_regex, frozenset({"match"}))  # type: ignore[attr-defined]


def patterns_of(path: Path) -> Iterator[UsedPattern]:
    name = str(path.relative_to(SOURCE))
    tree = ast.parse(path.read_text(encoding="utf-8"))
    made = 0
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FUNCTIONS):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        found = literal_of(node.args[0], path)
        if found is None:
            made += 1
        else:
            ways = frozenset({node.func.attr}) - {"compile"} or ways_of(assigned_name(tree, node), path)
            yield UsedPattern(f"{name}:{node.lineno}", re.compile(found, flags_of(node)), ways)
    assert not made or name in MADE, f"{name} makes a pattern at run time: give an example of it in MADE"
    for example, way in MADE.get(name, []):
        yield UsedPattern(f"{name}: {example}", re.compile(example), frozenset({way}))


def assigned_name(tree: ast.Module, call: ast.Call) -> str | None:
    """The global name that a pattern is given."""
    named = (each for each in tree.body if isinstance(each, ast.Assign) and each.value is call)
    return next((each.targets[0].id for each in named if isinstance(each.targets[0], ast.Name)), None)


def ways_of(name: str | None, path: Path) -> frozenset[str]:
    """The methods that are called on a global pattern, in its module or, if it is public, in any."""
    used = set()
    for each in [path] if name is None or name.startswith("_") else SOURCE.rglob("*.py"):
        used.update(re.findall(rf"\b{name}\.(\w+)\(", each.read_text(encoding="utf-8")))
    return frozenset(used & FUNCTIONS) or frozenset({"search", "fullmatch"})


def literal_of(node: ast.expr, path: Path) -> str | None:
    """The text of a pattern that is known before the program runs."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, (ast.Name, ast.JoinedStr)):
        names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        module = importlib.import_module(".".join(("penstock", *path.relative_to(SOURCE).with_suffix("").parts)))
        if all(isinstance(getattr(module, each, None), str) for each in names):
            return str(eval(compile(ast.Expression(node), str(path), "eval"), vars(module)))
        return local_literal(node, path)
    return None


def local_literal(node: ast.expr, path: Path) -> str | None:
    """The text of a pattern in a local variable that is assigned once."""
    assigned = [
        each.value
        for each in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(each, ast.Assign) and isinstance(node, ast.Name)
        for target in each.targets
        if isinstance(target, ast.Name) and target.id == node.id
    ]
    return str(assigned[0].value) if len(assigned) == 1 and isinstance(assigned[0], ast.Constant) else None


def flags_of(node: ast.Call) -> int:
    found = 0
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "re":
            found |= getattr(re, each.attr) if each.attr.isupper() else 0
    return int(found)


ALL = list(patterns())


def cpu_seconds(pattern: re.Pattern[str], ways: frozenset[str], text: str) -> float:
    began = time.thread_time()
    for way in sorted(ways & {"match", "fullmatch"}):
        getattr(pattern, way)(text)
    if ways - {"match", "fullmatch"}:
        for _ in pattern.finditer(text):
            pass
    return time.thread_time() - began


def test_patterns_are_found() -> None:
    assert len(ALL) > 90
    assert {"redaction.py", "lake/spark/errors.py", "template/rendering.py"} <= {
        each.place.partition(":")[0] for each in ALL
    }


@pytest.mark.parametrize("used", ALL, ids=[each.place for each in ALL])
def test_a_pattern_is_linear_on_its_worst_text(used: UsedPattern) -> None:
    assert slowest_text(used.pattern, used.ways) is None


@pytest.mark.parametrize(
    "slow",
    [
        r"\s*;\s*$",
        r"(?i)\b((?:[\w.-]*(?:password|passwd)|pwd|token)\s*=\s*)([^\s&;,'\"\)]+)",
        r"\s*(SQLSTATE: \w+|== SQL.*)",
        r"(\w+)+!",
        r"(a|ab|b)*c",
    ],
)
def test_the_check_finds_slow_patterns(slow: str) -> None:
    assert slowest_text(re.compile(slow), frozenset({"search"})) is not None


def slowest_text(pattern: re.Pattern[str], ways: frozenset[str]) -> str | None:
    """A text, cut, for which the pattern takes too long; None if there is none."""
    worst: set[int] = set()
    for size in SIZES:
        most = max(0.1, CPU_SECONDS * size / LONG)
        tried = []
        for at, text in enumerate(slow_texts(pattern, size)):
            if size < LONG or at in worst:
                seconds = cpu_seconds(pattern, ways, text)
                if seconds > most and cpu_seconds(pattern, ways, text) > most:
                    return f"{seconds:.1f} s for {size} characters: {text[:60]!r}…{text[-10:]!r}"
                tried.append((seconds, at))
        worst = {at for _, at in heapq.nlargest(3, tried)}
    return None
