"""The names by which a module of Python says what its columns need, and the imports that it lacks.

In: a module, and what is needed of which package. Out: its name in this module, and an edit that imports the rest.
Invariant: a name that means something else in the module is never taken.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from penstock.api.source_edits.source_text import Edit, SourceText

_OWN_PREFIX = "Penstock"


class ModuleNames:
    """Names of one module, with those that were asked for and are not there yet."""

    def __init__(self, source: SourceText):
        self._source = source
        self._given: dict[tuple[str, str], str] = {}
        self._modules: dict[str, str] = {}
        self._starred: dict[str, set[str]] = {}
        """Packages of which all names were taken, and the names that were given another meaning since."""
        self._bound: set[str] = set()
        self._missing: dict[str, dict[str, str]] = defaultdict(dict)
        for statement in source.tree.body:
            self._read(statement)

    def name_of(self, package: str, name: str) -> str:
        """How this module writes `name` of a package, such as `Annotated` of typing."""
        if package == "":
            return name
        found = self._given.get((package, name))
        if found is not None:
            return found
        if name not in self._starred.get(package, {name}):
            return name
        if package in self._modules:
            return f"{self._modules[package]}.{name}"
        own = name if name not in self._bound else f"{_OWN_PREFIX}{name}"
        return self._missing[package].setdefault(name, own)

    def imports(self) -> Iterator[Edit]:
        """The imports of what was asked for and is not there, behind those at the head of the module."""
        if not self._missing:
            return
        lines = []
        for package, names in sorted(self._missing.items()):
            shown = (name if name == own else f"{name} as {own}" for name, own in sorted(names.items()))
            lines.append(f"from {package} import {', '.join(shown)}")
        newline = self._source.newline
        last = _last_of_head(self._source.tree)
        if last is not None:
            place = self._source.line_end(self._source.end(last))
            yield Edit(place, place, "".join(f"{newline}{each}" for each in lines))
            return
        place = self._source.start(self._source.tree.body[0])
        yield Edit(place, place, "".join(f"{each}{newline}" for each in lines))

    def _read(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom):
            package = _public(statement.module or "") if not statement.level else ""
            for each in statement.names:
                if each.name == "*":
                    self._starred[package] = set()
                else:
                    self._bind(each.asname or each.name, (package, each.name))
        elif isinstance(statement, ast.Import):
            for each in statement.names:
                self._forget(each.asname or each.name.split(".")[0])
                if each.asname or "." not in each.name:
                    self._modules[_public(each.name)] = each.asname or each.name
        else:
            for name in _stored_names(statement):
                self._forget(name)

    def _bind(self, name: str, meant: tuple[str, str]) -> None:
        self._forget(name)
        self._given[meant] = name

    def _forget(self, name: str) -> None:
        """The name means something else from here on."""
        self._bound.add(name)
        for given in self._starred.values():
            given.add(name)
        self._given = {meant: each for meant, each in self._given.items() if each != name}
        self._modules = {module: each for module, each in self._modules.items() if each != name}


def _public(package: str) -> str:
    return "penstock" if package in ("penstock.api", "penstock.api.objects") else package


def _stored_names(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement of a module gives a value to; what functions and classes keep inside is their own."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            yield node.id
        elif isinstance(node, ast.alias):
            yield node.asname or node.name.split(".")[0]
        waiting += ast.iter_child_nodes(node)


def _last_of_head(tree: ast.Module) -> ast.stmt | None:
    """The last statement of the head: the text that describes the module, and its imports."""
    last = None
    for at, each in enumerate(tree.body):
        is_text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and at == 0
        if not (is_text or isinstance(each, (ast.Import, ast.ImportFrom))):
            break
        last = each
    return last
