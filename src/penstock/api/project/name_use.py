"""Which names of a module a definition uses, and which of them it changes.

In: the text or the syntax tree of a function or class. Out: names with their lines and columns. Invariant: a name that
is local where it stands is not among those used; Python's own symbol table decides what is local.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from dataclasses import dataclass

_CHANGING = frozenset(
    (
        "add",
        "append",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
        "difference_update",
        "intersection_update",
        "symmetric_difference_update",
    )
)
"""Methods of lists, dicts and sets that change them."""


@dataclass(frozen=True, slots=True)
class NameUse:
    """A name and where it stands."""

    name: str
    line: int
    column: int


def names_used(text: str, lines_before: int) -> tuple[NameUse, ...]:
    """The names that a definition, alone in a text, takes from around it, each where it stands first."""
    free = frozenset(_free_names(symtable.symtable(text, "definition", "exec")))
    found: dict[str, NameUse] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Name) and node.id in free and node.id not in found:
            found[node.id] = NameUse(node.id, node.lineno + lines_before, node.col_offset + 1)
    return tuple(found.values())


def _free_names(table: symtable.SymbolTable) -> Iterator[str]:
    for symbol in table.get_symbols():
        if table.get_type() == "module":
            if symbol.is_referenced() and not symbol.is_assigned():
                yield symbol.get_name()
        elif symbol.is_global():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _free_names(child)


def changed_names(tree: ast.AST) -> Iterator[NameUse]:
    """The names that are rebound by `global`, or whose value is changed: by an item, an attribute or a method."""
    declared = {name for each in ast.walk(tree) if isinstance(each, (ast.Global, ast.Nonlocal)) for name in each.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in declared and not isinstance(node.ctx, ast.Load):
            yield _use(node)
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            yield from _owner(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
            yield from _owner(node.func)


def _owner(node: ast.expr) -> Iterator[NameUse]:
    """The name at the beginning of `name[…].attribute`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    if isinstance(node, ast.Name):
        yield _use(node)


def _use(node: ast.Name) -> NameUse:
    return NameUse(node.id, node.lineno, node.col_offset + 1)
