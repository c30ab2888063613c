"""The rules of CONTRIBUTING.md that a script can check: folders, files, heads and names in src/penstock.

An exception stands in one of the lists below, with its reason.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src/penstock"
MOST_ENTRIES = 20
"""Modules, sub-packages and other files in one folder."""
MARKERS = ("__pycache__", "py.typed")
"""What Python and type checkers want in a folder, for nobody to read."""
MOST_LINES = 600
IRREGULAR = (
    "bound built cast chosen cut done drawn found given gone held kept known left lost made met put said sent shown "
    "split taken told torn written"
)
"""Participles that do not end in -ed."""
PARTICIPLE = re.compile(rf"[a-z]*[aeiouy][a-z]*(?<!e)ed|[a-z]*[aeiouy][a-z]*(?<!th)ing|{'|'.join(IRREGULAR.split())}")
"""One word. Words such as `seed`, `string` and `anything` are none."""
DOUBLE_CLASSES: dict[str, str] = dict.fromkeys(
    ("AggregateFunction", "FixedString", "Node", "SimpleAggregateFunction", "Token", "View"),
    "the field's name for what users write in Python",
)
"""Classes that two modules define."""
NAMES_ALLOWED = {
    "typed": "the module of `TypedSql`, a piece of SQL with its type",
    "allowed": "the lists of what SQL of DIALECT spark may contain",
    "landing": "a noun: rows land in a landing table",
    "rendering": "a noun: templates are rendered",
    "rounding": "a noun: the functions that round",
    "split": "a verb: the functions splitByChar, splitByString and the like",
    "unsupported": "the clauses that are not supported",
}
"""Modules and public functions whose name looks like a bare participle."""


def test_no_folder_has_too_many_entries() -> None:
    folders = [PACKAGE, *(path for path in PACKAGE.rglob("*") if path.is_dir() and path.name != "__pycache__")]
    entries = {str(path): sum(each.name not in MARKERS for each in path.iterdir()) for path in folders}
    assert {path: count for path, count in entries.items() if count > MOST_ENTRIES} == {}


def test_no_file_is_too_long() -> None:
    lines = {name: len((PACKAGE / name).read_text(encoding="utf-8").splitlines()) for name in modules()}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}


def test_every_module_has_a_docstring() -> None:
    assert [name for name, tree in modules().items() if not ast.get_docstring(tree)] == []


def test_no_class_name_is_used_twice() -> None:
    places = defaultdict(list)
    for name, tree in modules().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(name)
    doubles = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in doubles.items() if name not in DOUBLE_CLASSES} == {}


def test_no_module_or_function_is_named_by_a_bare_participle() -> None:
    """A function is named by a verb and its object, or by what it returns."""
    found = [(place, name) for place, name in names() if is_participle(name)]
    assert [(place, name) for place, name in found if name not in NAMES_ALLOWED] == []


def test_what_a_participle_is() -> None:
    words = ("taken", "unchanged", "merging", "seed", "string", "anything", "load_project", "quoted_name", "bind")
    assert list(filter(is_participle, words)) == ["taken", "unchanged", "merging"]


def names() -> Iterator[tuple[str, str]]:
    """Each module, and each public function of a module, with the module's path."""
    for place, tree in modules().items():
        yield place, Path(place).stem
        functions = (node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
        yield from ((place, node.name) for node in functions if not node.name.startswith("_"))


def is_participle(name: str) -> bool:
    return PARTICIPLE.fullmatch(name) is not None


@cache
def modules() -> dict[str, ast.Module]:
    """By path below the package, every module."""
    paths = sorted(PACKAGE.rglob("*.py"))
    return {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in paths}
