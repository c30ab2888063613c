"""Where in the user's files a call, an argument or a field is written.

In: files of Python, by the paths that Python knows. Out: places relative to the project. Invariant: a place that is
not found becomes the nearest known one, at worst the line of the call; looking never fails.
"""

from __future__ import annotations

import ast
import inspect
import sys
import tokenize
from collections import defaultdict
from dataclasses import field
from functools import cached_property
from pathlib import Path

from pydantic import BaseModel

from penstock.api.objects.declarations import CallLocation, Declared
from penstock.errors import Location
from penstock.model.quick_dataclass import dataclass
from penstock.template.python_syntax import parse_module

_OPEN_TEXT = ("'''", '"""')
"""The end of a line behind which a text begins in the next line."""


@dataclass(frozen=True, slots=True)
class LinePlace:
    """The place in Python of a line of a datafile."""

    location: Location
    is_same: bool = False
    """Whether the same text stands there, so that a column of the one is a column of the other."""


@dataclass
class SourceFile:
    """A file of Python with its syntax tree; an empty one if it cannot be read."""

    shown: str
    """Its path in problems: relative to the project's folder, if it is in it."""
    lines: list[str]
    tree: ast.Module

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """The calls by the last name of what is called: `Table` of `x.Table[Model](…)`."""
        found: dict[str, list[ast.Call]] = defaultdict(list)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                found[_called_name(node.func)].append(node)
        return found

    @cached_property
    def classes(self) -> dict[str, list[ast.ClassDef]]:
        """The classes by name, wherever they are defined."""
        found: dict[str, list[ast.ClassDef]] = defaultdict(list)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(node)
        return found

    @cached_property
    def texts(self) -> dict[str, ast.expr]:
        """The values of names of the module that are given once."""
        given: dict[str, list[ast.expr]] = defaultdict(list)
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                given[node.targets[0].id].append(node.value)
        return {name: values[0] for name, values in given.items() if len(values) == 1}


@dataclass
class SourceFiles:
    """The files of a project, each read once."""

    folder: Path
    known: dict[str, SourceFile] = field(default_factory=dict)

    def file(self, path: str) -> SourceFile:
        if path not in self.known:
            self.known[path] = self._read(path)
        return self.known[path]

    def call_location(self, call: CallLocation) -> Location:
        return Location(self.file(call.file).shown, call.line)

    def call_of(self, declared: Declared) -> ast.Call | None:
        """The call that made an object."""
        line = declared.location.line
        calls = self.file(declared.location.file).calls.get(type(declared).__name__, ())
        around = [each for each in calls if each.lineno <= line <= (each.end_lineno or each.lineno)]
        return max(around, key=lambda each: (each.lineno, each.col_offset), default=None)

    def argument(self, declared: Declared, *names: str) -> ast.expr | None:
        """What the call gives as the first of these arguments, also within a config or options."""
        call = self.call_of(declared)
        if call is None:
            return None
        given: dict[str, ast.expr] = {}
        for node in ast.walk(call):
            if isinstance(node, ast.keyword) and node.arg is not None:
                given.setdefault(node.arg, node.value)
        return next((given[name] for name in names if name in given), None)

    def argument_location(self, declared: Declared, *names: str) -> Location:
        found = self.argument(declared, *names)
        shown = self.file(declared.location.file).shown
        return Location(shown, found.lineno, found.col_offset + 1) if found else self.call_location(declared.location)

    def text_places(self, declared: Declared, name: str, lines: list[str], key: str | None = None) -> list[LinePlace]:
        """The place of each line of a text, found by its content from where the text begins: an argument, or the value
        of a key in it. A line that is not found, because an f-string made it, is taken to be beside its neighbours."""
        written = _value_of(self.argument(declared, name), key)
        file = self.file(declared.location.file)
        if isinstance(written, ast.Name):
            written = file.texts.get(written.id, written)
        if isinstance(written, ast.Call) and _called_name(written.func) == "sql" and written.args:
            written = written.args[0]
        if written is None:
            return [LinePlace(self.call_location(declared.location))] * len(lines)
        first, last = written.lineno, written.end_lineno or written.lineno
        if not any(lines):
            return [LinePlace(Location(file.shown, first, written.col_offset + 1))] * len(lines)
        return self.lines_between(declared.location.file, lines, (first, last))

    def lines_between(self, path: str, lines: list[str], between: tuple[int, int]) -> list[LinePlace]:
        """The places of the lines of a text that is written between two lines of a file."""
        file, (first, last) = self.file(path), between
        found = _find_lines(file.lines, [each.strip() for each in lines], first, last)
        if last > first and file.lines[first - 1].rstrip().endswith(_OPEN_TEXT):
            first += 1
        numbers = _complete_numbers([each and each[0] for each in found], first, last)
        places = []
        for number, same in zip(numbers, found, strict=True):
            column = same[1] if same else _first_column(file.lines, number)
            places.append(LinePlace(Location(file.shown, number, column), is_same=same is not None))
        return places

    def class_of(self, model: type[BaseModel]) -> tuple[SourceFile, list[ast.ClassDef]] | None:
        """The file that defines a model, and its classes of that name."""
        path = getattr(sys.modules.get(model.__module__), "__file__", None)
        if path is None:
            return None
        file = self.file(path)
        return file, file.classes.get(model.__name__, [])

    def field_location(self, model: type[BaseModel], name: str) -> Location | None:
        """The line of a field, in the model or in the class that it inherits the field from."""
        for each in model.__mro__:
            if not (issubclass(each, BaseModel) and name in inspect.get_annotations(each)):
                continue
            found = self.class_of(each)
            for node in found[1] if found else ():
                for line in node.body:
                    if isinstance(line, ast.AnnAssign) and getattr(line.target, "id", None) == name:
                        return Location(found[0].shown if found else "", line.lineno, line.col_offset + 1)
        return None

    def shown(self, path: str) -> str | None:
        """The path relative to the project's folder; None for a file that is not of the project, such as one of a
        package that is installed within its folder, and for code of none, such as `<string>`."""
        if path.startswith("<"):
            return None
        try:
            found = Path(path).resolve().relative_to(self.folder)
            return None if "site-packages" in found.parts else found.as_posix()
        except (ValueError, OSError):
            return None

    def _read(self, path: str) -> SourceFile:
        shown = self.shown(path) or path
        try:
            with tokenize.open(path) as file:  # in the encoding that it names
                text = file.read()
            return SourceFile(shown, text.split("\n"), parse_module(text))  # as ast counts lines
        except (OSError, ValueError, SyntaxError, RecursionError, MemoryError):
            return SourceFile(shown, [], ast.Module([], []))


def _value_of(given: ast.expr | None, key: str | None) -> ast.expr | None:
    if isinstance(given, ast.Dict) and key is not None:
        pairs = zip(given.keys, given.values, strict=True)
        return next((value for at, value in pairs if isinstance(at, ast.Constant) and at.value == key), given)
    return given


def _called_name(called: ast.expr) -> str:
    if isinstance(called, ast.Subscript):
        called = called.value
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _find_lines(lines: list[str], wanted: list[str], first: int, last: int) -> list[tuple[int, int] | None]:
    """The lines and columns of texts that follow each other between two lines; None for a text that is not there."""
    found: list[tuple[int, int] | None] = []
    for text in wanted:
        here = _find_line(lines, text, first, last)
        found.append(here)
        first = here[0] + 1 if here else first
    return found


def _complete_numbers(found: list[int | None], first: int, last: int) -> list[int]:
    """The numbers of all lines: those that are unknown follow the line before, or else precede the next known one."""
    known = next(((at, number) for at, number in enumerate(found) if number is not None), (0, first))
    before = known[1] - known[0] - 1
    numbers: list[int] = []
    for number in found:
        before = min(max(number or before + 1, first), last)
        numbers.append(before)
    return numbers


def _find_line(lines: list[str], wanted: str, first: int, last: int) -> tuple[int, int] | None:
    """The line and column of a text between two lines."""
    for number in range(first, last + 1) if wanted else ():
        column = lines[number - 1].find(wanted) if number <= len(lines) else -1
        if column >= 0:
            return number, column + 1
    return None


def _first_column(lines: list[str], number: int) -> int:
    line = lines[number - 1] if number <= len(lines) else ""
    return len(line) - len(line.lstrip()) + 1
