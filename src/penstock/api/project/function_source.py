"""A function of the project as text that needs nothing else: with the imports, functions and constants it uses.

In: a function. Out: `FunctionSource`: text that a fresh Python can run, and the place in the user's files that each
of its lines comes from; or problems. Invariants: whoever runs the text gets a function that does the same as long as
the packages that it imports are the same; what a text cannot hold (a connection, a file, a table of values that the
code changes) is a problem at the line that uses it, never left out.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from importlib.util import find_spec
from types import CodeType, FunctionType, ModuleType

from penstock.api import objects
from penstock.api.objects.declarations import Declared
from penstock.api.project.name_use import changed_names, imports_within, names_at_definition, names_used, rebound_names
from penstock.api.project.source_files import LinePlace, SourceFile, SourceFiles
from penstock.api.project.value_text import is_changeable, written_value
from penstock.errors import Location, Problem
from penstock.model.quick_dataclass import dataclass

_FUTURE = "from __future__ import annotations"


@dataclass(frozen=True, slots=True)
class FunctionSource:
    """A function as text, the name that it has there, and the place of each line."""

    name: str
    text: str
    places: tuple[LinePlace, ...]
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """A definition of the user, with the values of the names that it uses."""

    file: SourceFile
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    values: Mapping[str, object]
    is_deferred: bool
    """Whether annotations are texts in its file."""

    @property
    def lines(self) -> list[str]:
        """Its lines: of a function without decorators, of a class with them. Those of a function within another one
        keep their indent, since texts over several lines have it, too."""
        written = self.file.lines[self._first - 1 : self.node.end_lineno]
        return ["if True:", *written] if self.node.col_offset else written

    @property
    def before(self) -> int:
        """How many lines of the file stand before the first of `lines`."""
        return self._first - (2 if self.node.col_offset else 1)

    @property
    def _first(self) -> int:
        decorators = self.node.decorator_list if isinstance(self.node, ast.ClassDef) else []
        return min([self.node.lineno, *(each.lineno for each in decorators)])


def capture_source(function: Callable[..., object], sources: SourceFiles, more: Sequence[type] = ()) -> FunctionSource:
    """A function as text, with `more` classes that are used beside it. Its own decorators are left out; a decorated
    function that it calls is a problem. A table in it is `TableName("events")`."""
    capture = _Capture(sources)
    capture.add_function(getattr(function, "__name__", ""), function, None)
    for each in more:
        capture.add_value(each.__name__, each, capture.place_of(function))
    lines, places = capture.result()
    return FunctionSource(function.__name__, "\n".join([*lines, ""]), tuple(places), tuple(capture.problems))


@dataclass
class _Capture:
    sources: SourceFiles
    problems: list[Problem] = field(default_factory=list)
    _imports: dict[str, str] = field(default_factory=dict)
    _constants: dict[str, tuple[str, Location]] = field(default_factory=dict)
    _parts: dict[str, _Part] = field(default_factory=dict)
    """Each behind those that it uses, unless two use each other."""
    _begun: set[str] = field(default_factory=set)
    _meant: dict[str, object] = field(default_factory=dict)
    """The value of each name of the text: one name means one thing in it."""

    def result(self) -> tuple[list[str], list[LinePlace]]:
        first = next(iter(self._parts.values()), None)
        start = first.node.lineno if first else 1
        head = LinePlace(Location(first.file.shown if first else "", start))
        lines = [_FUTURE] if any(each.is_deferred for each in self._parts.values()) else []
        lines += sorted(self._imports.values())
        places = [head] * len(lines)
        for text, place in self._constants.values():
            lines.append(text)
            places.append(LinePlace(place))
        for part in self._parts.values():
            lines += ["", "", *part.lines]
            numbers = range(part.before + 1, part.before + 1 + len(part.lines))
            places += [head, head]
            places += [LinePlace(Location(part.file.shown, max(each, 1)), is_same=True) for each in numbers]
        return lines, places

    def add_function(self, name: str, function: object, user: Location | None) -> None:
        """Add a function of the project, and all that it uses."""
        place = user or self.place_of(function)
        if not isinstance(function, FunctionType):
            self._refuse(f"`{name}` is no function of the project", place, "write it as a function with def")
            return
        path = function.__code__.co_filename
        file = self.sources.file(path)
        node = _definition(file, function.__code__) if self.sources.shown(path) is not None else None
        if node is None:
            kind = "a lambda" if function.__name__ == "<lambda>" else "a function whose source is not known"
            self._refuse(f"`{name}` is {kind}, which cannot be written as text", place, "write it with def")
            return
        if user is not None and node.name != name:
            self._refuse(f"`{name}` is `{node.name}` under another name", place, "use its own name")
            return
        if user is not None and node.decorator_list:
            where = Location(file.shown, node.decorator_list[0].lineno, node.decorator_list[0].col_offset + 1)
            self._refuse(f"`{name}` has a decorator, which may change what it does", where, "call a plain function")
            return
        values = {**function.__globals__, **dict(_closed_over(function))}
        deferred = bool(function.__code__.co_flags & _DEFERRED)
        self._add_part(name, function, _Part(file, node, values, deferred))

    def _add_part(self, name: str, value: object, part: _Part) -> None:
        if not self._means(name, value, Location(part.file.shown, part.node.lineno)) or name in self._begun:
            return
        self._begun.add(name)
        own = _locals(part.node)
        for changed in changed_names(part.node):
            if changed.name in part.values and changed.name not in own:
                place = Location(part.file.shown, changed.line, changed.column)
                message = f"`{changed.name}` is changed here, and exists outside: a text cannot share it"
                self._refuse(message, place, "give it as an argument, or return the new value")
        self._refuse_rebound(part)
        self._refuse_imports(part)
        for used in names_used("\n".join(part.lines), part.before):
            if used.name in part.values and used.name != name:
                self.add_value(used.name, part.values[used.name], Location(part.file.shown, used.line, used.column))
        self._import_parts(part)
        self._parts[name] = part

    def _refuse_rebound(self, part: _Part) -> None:
        """Refuse what a definition took from a name that may have had another value then."""
        again = rebound_names(part.file.tree)
        for taken in names_at_definition(part.node):
            if taken.name in again and taken.name in part.values:
                place = Location(part.file.shown, taken.line, taken.column)
                message = f"`{taken.name}` is given more than one value, and this is the one of when it was defined"
                self._refuse(message, place, "give each value a name of its own")

    def _refuse_imports(self, part: _Part) -> None:
        """Refuse what a body imports of the project, which is not there where the text runs."""
        for each in imports_within(part.node):
            if each.is_relative or self._is_of_project(each.module):
                hint = "import it at the top of the module, from where it comes along"
                place = Location(part.file.shown, each.line, each.column)
                self._refuse(f"`{each.module}` of the project is imported within what is used here", place, hint)

    def _is_of_project(self, module: str) -> bool:
        """Whether a module is one of the project's files; nothing is imported to find out."""
        try:
            found = find_spec(module.partition(".")[0])
        except (ImportError, ValueError):  # a module of no spec, such as __main__
            return False
        paths = [found.origin, *(found.submodule_search_locations or ())] if found is not None else []
        return any(each is not None and self.sources.shown(each) is not None for each in paths)

    def _import_parts(self, part: _Part) -> None:
        """Add `import a.b` of the part's file where `a` is imported: the name alone does not load `b`."""
        found = [each for node in ast.walk(part.file.tree) if isinstance(node, ast.Import) for each in node.names]
        for each in found:
            first, dot, _ = each.name.partition(".")
            if dot and each.asname is None and first in self._imports:
                self._imports[each.name] = f"import {each.name}"

    def add_value(self, name: str, value: object, place: Location) -> None:
        """Add what a name stands for."""
        imported = self._import_of(name, value)
        if imported is not None:
            if self._means(name, value, place):
                self._imports[name] = imported
        elif isinstance(value, ModuleType):
            hint = f"import the function itself: from {value.__name__} import …"
            self._refuse(f"`{name}` is a module of the project, which a text cannot hold", place, hint)
        elif isinstance(value, FunctionType):
            self.add_function(name, value, place)
        elif isinstance(value, Declared):
            if self._means(name, value, place):
                self._constants[name] = (f"{name} = TableName({value.ref!r})", place)
        elif isinstance(value, type):
            self._add_class(name, value, place)
        else:
            self._add_constant(name, value, place)

    def _add_class(self, name: str, value: type, place: Location) -> None:
        module = sys.modules.get(value.__module__)
        path = getattr(module, "__file__", None)
        file = self.sources.file(path) if path else None
        nodes = file.classes.get(value.__name__, []) if file else []
        if file is None or len(nodes) != 1:
            self._refuse(f"the source of the class `{name}` is not known", place, "define it once, in a module")
        elif value.__name__ != name:
            self._refuse(f"`{name}` is the class `{value.__name__}` under another name", place, "use its own name")
        else:
            values = vars(module) if module is not None else {}
            deferred = getattr(values.get("annotations"), "compiler_flag", 0) == _DEFERRED
            self._add_part(name, value, _Part(file, nodes[0], values, deferred))

    def _add_constant(self, name: str, value: object, place: Location) -> None:
        written = written_value(value)
        if written is None:
            message = f"`{name}` is a {type(value).__name__}, which cannot be written as text"
            own = "make it within the function, or give it what it needs as numbers and texts"
            self._refuse(message, place, "write a plain function with def" if callable(value) else own)
        elif self._means(name, value, place):
            self._imports.update({each: f"import {each}" for each in written.modules})
            self._constants[name] = (f"{name} = {written.text}", place)

    def _means(self, name: str, value: object, place: Location) -> bool:
        """Whether a name may stand for a value: it stands for nothing else yet."""
        known = self._meant.setdefault(name, value)
        same = known is value or (type(known) is type(value) and not is_changeable(value) and known == value)
        if not same:
            self._refuse(f"`{name}` means two things in what is used here", place, "give one of them another name")
        return same

    def _import_of(self, name: str, value: object) -> str | None:
        """The import that gives a value of an installed package; None if no import does."""
        if isinstance(value, ModuleType):
            own = getattr(value, "__file__", None)
            if own is not None and self.sources.shown(own) is not None:
                return None
            top = value.__name__ == name
            return f"import {name}" if top else f"import {value.__name__} as {name}"
        if getattr(objects, name, None) is value:
            return f"from penstock import {name}"  # such as UInt64, an annotation, which does not say where it is from
        module, own_name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        found = sys.modules.get(str(module))
        path = getattr(found, "__file__", None)
        if found is None or own_name is None or (path is not None and self.sources.shown(path) is not None):
            return None
        if getattr(found, own_name, None) is not value:
            return None
        return f"from {module} import {own_name}" + ("" if own_name == name else f" as {name}")

    def place_of(self, function: object) -> Location:
        code = getattr(function, "__code__", None)
        return Location(self.sources.file(code.co_filename).shown, code.co_firstlineno) if code else Location("")

    def _refuse(self, message: str, place: Location, hint: str) -> None:
        problem = Problem("not-self-contained", message, place, hint)
        if problem not in self.problems:
            self.problems.append(problem)


_DEFERRED = 0x1000000
"""CO_FUTURE_ANNOTATIONS of CPython: `from __future__ import annotations` is in force."""


def _definition(file: SourceFile, code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The definition that a code was compiled from. A code's first line is that of the first decorator."""
    for node in ast.walk(file.tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _closed_over(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The values of the names of the functions around it; those that have none yet are left out."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # the cell is empty
            continue


def _locals(node: ast.AST) -> frozenset[str]:
    """The names that a definition gives a value itself, anywhere in it, as arguments or by assignment."""
    stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    declared = {name for each in ast.walk(node) if isinstance(each, ast.Global) for name in each.names}
    arguments = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    return frozenset((stored | arguments) - declared)
