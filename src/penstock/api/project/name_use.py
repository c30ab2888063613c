"""Which names of a module a definition uses, and which of them it changes.

In: the text or the syntax tree of a function or class. Out: names with their lines and columns. Invariant: a name that
is local where it stands is not among those used; Python's own symbol table decides what is local.
"""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterable, Iterator

from penstock.model.quick_dataclass import dataclass
from penstock.template.python_syntax import parse_module, parse_quietly

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
    """The names that a definition, alone in a text, takes from around it, each where it stands first; also those in
    annotations that are texts."""
    free = frozenset(_free_names(symtable.symtable(text, "definition", "exec")))
    found: dict[str, NameUse] = {}
    tree = parse_module(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in free and node.id not in found:
            found[node.id] = NameUse(node.id, node.lineno + lines_before, node.col_offset + 1)
    for written, name in _names_in_texts(tree):
        found.setdefault(name, NameUse(name, written.lineno + lines_before, written.col_offset + 1))
    return tuple(found.values())


def _names_in_texts(tree: ast.AST) -> Iterator[tuple[ast.Constant, str]]:
    """The names in annotations that are texts, such as `"Inner | None"` of a class that is defined further below."""
    for node in ast.walk(tree):
        given = [getattr(node, "returns", None)] if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else []
        given += [node.annotation] if isinstance(node, (ast.AnnAssign, ast.arg)) else []
        for text in (each for annotation in given if annotation is not None for each in _types_in(annotation)):
            try:
                meant = parse_quietly(str(text.value), "eval")
            except SyntaxError:
                continue
            yield from ((text, each.id) for each in ast.walk(meant) if isinstance(each, ast.Name))


def _types_in(annotation: ast.expr) -> Iterator[ast.Constant]:
    """The texts in an annotation that are types: not the values of a Literal, nor what Annotated says of a type."""
    if isinstance(annotation, ast.Constant):
        yield from [annotation] if isinstance(annotation.value, str) else []
        return
    if isinstance(annotation, ast.Subscript):
        kind = getattr(annotation.value, "attr", getattr(annotation.value, "id", ""))
        inner = annotation.slice.elts if isinstance(annotation.slice, ast.Tuple) else [annotation.slice]
        parts = [] if kind == "Literal" else inner[:1] if kind == "Annotated" else inner
    else:
        parts = [each for each in ast.iter_child_nodes(annotation) if isinstance(each, ast.expr)]
    for each in parts:
        yield from _types_in(each)


def names_at_definition(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[NameUse, ...]:
    """The names whose values are taken when a definition runs: those in the defaults of a function and of the methods
    of a class, and in what the body of a class does."""
    if isinstance(node, ast.ClassDef):
        inner = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))]
        taken = [each.value for each in node.body if isinstance(each, (ast.Assign, ast.AnnAssign)) and each.value]
        found = [use for each in inner for use in names_at_definition(each)]
    else:
        taken = [each for each in (*node.args.defaults, *node.args.kw_defaults) if each is not None]
        found = []
    loaded = (each for value in taken for each in ast.walk(value) if isinstance(each, ast.Name))
    return (*found, *(_use(each) for each in loaded if isinstance(each.ctx, ast.Load)))


def rebound_names(module: ast.Module) -> frozenset[str]:
    """The names of a module that may have had more than one value: they are given one twice, or in a loop."""
    seen: set[str] = set()
    again: set[str] = set()
    _collect_bindings(module.body, seen, again)
    return frozenset(again)


_OWN_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def _collect_bindings(statements: Iterable[ast.AST], seen: set[str], again: set[str]) -> None:
    for node in statements:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            again |= {node.name} & seen
            seen.add(node.name)
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            stored = {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and _is_stored(each)}
            seen |= stored
            again |= stored
        elif isinstance(node, ast.Name) and _is_stored(node):
            again |= {node.id} & seen
            seen.add(node.id)
        elif not isinstance(node, _OWN_SCOPES):
            again |= (
                {node.target.id} if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) else set()
            )
            _collect_bindings(ast.iter_child_nodes(node), seen, again)


def _is_stored(node: ast.Name) -> bool:
    return not isinstance(node.ctx, ast.Load)


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


@dataclass(frozen=True, slots=True)
class ImportUse:
    """An import within a definition, and where it stands."""

    module: str
    is_relative: bool
    line: int
    column: int


_IMPORTING = frozenset(("__import__", "import_module"))


def imports_within(tree: ast.AST) -> Iterator[ImportUse]:
    """The modules that a definition imports when it runs, also those that it gives as a text to a function for it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (ImportUse(each.name, False, node.lineno, node.col_offset + 1) for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            written = "." * node.level + (node.module or "")
            yield ImportUse(written, node.level > 0, node.lineno, node.col_offset + 1)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called, given = getattr(node.func, "attr", getattr(node.func, "id", "")), node.args[0].value
            if called in _IMPORTING and isinstance(given, str):
                yield ImportUse(given, given.startswith("."), node.lineno, node.col_offset + 1)
