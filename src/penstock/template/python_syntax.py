"""The text of an expression to Python's syntax tree, with places in the template.

In: a piece of a template. Out: a tree and where its nodes stand. Called by expressions and statements.
Invariant: the tree is only looked at; nothing of it is ever compiled or run by Python.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from penstock.template.errors import Fault

MAX_CHARACTERS = 20_000
"""Characters of one expression."""
_PARSER_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)


@dataclass(frozen=True, slots=True)
class ExpressionSource:
    """An expression in its template. `before` characters were put in front of it to be read."""

    text: str
    offset: int
    before: int = 0

    def place(self, node: ast.AST) -> int:
        """The offset in the template of a node. Python counts columns in bytes."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        lines = self.text.split("\n")
        if not 1 <= line <= len(lines):
            return self.offset
        start = sum(len(each) + 1 for each in lines[: line - 1])
        if line == 1:
            column -= self.before
        within = lines[line - 1].encode("utf-8", "surrogatepass")[: max(column, 0)]
        return self.offset + start + len(within.decode("utf-8", "ignore"))

    def fault(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> Fault:
        return Fault(code, message, self.place(node), hint)


def read_expression(text: str, offset: int) -> tuple[ast.expr, ExpressionSource]:
    """The tree of one expression, in brackets so that it may have several lines. Raises Fault."""
    source = ExpressionSource(text, offset, before=1)
    tree = _parse(f"({text}\n)", "eval", source)
    assert isinstance(tree, ast.Expression), "it was read as one"
    return tree.body, source


def read_statement(text: str, offset: int) -> tuple[ast.stmt, ExpressionSource]:
    """The tree of one assignment or call. Raises Fault."""
    source = ExpressionSource(text, offset)
    tree = _parse(text, "exec", source)
    assert isinstance(tree, ast.Module), "it was read as one"
    if len(tree.body) != 1:
        raise Fault("template-syntax", "expected one assignment", offset, "write `{% set name = value %}`")
    return tree.body[0], source


def read_loop(text: str, offset: int) -> tuple[ast.For, ExpressionSource]:
    """The tree of `for target in values`. Raises Fault."""
    source = ExpressionSource(text, offset)
    tree = _parse(f"{text}: pass", "exec", source)
    found = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
    if not isinstance(found, ast.For):
        raise Fault("template-syntax", "expected `for name in values`", offset)
    return found, source


def _parse(text: str, mode: str, source: ExpressionSource) -> ast.AST:
    if len(text) > MAX_CHARACTERS:
        raise Fault("template-syntax", f"more than {MAX_CHARACTERS:,} characters between two braces", source.offset)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, mode=mode)
    except _PARSER_ERRORS as error:
        raise _syntax_fault(error, source) from None


def _syntax_fault(error: Exception, source: ExpressionSource) -> Fault:
    offset, said = source.offset, "it is too deep"
    if isinstance(error, SyntaxError):
        said = error.msg.split(" (")[0]
        at = ast.Pass(lineno=error.lineno or 1, col_offset=max((error.offset or 1) - 1, 0))
        offset = source.place(at)
    elif isinstance(error, ValueError):
        said = "a character that Python does not know, or a number that is too long"
    inside = f" in `{source.text[:60]}`"
    hint = "write `{% set x = String(y) %}`, without `{{ }}` inside" if "{" in source.text else None
    return Fault("template-syntax", f"invalid expression{inside}: {said}", offset, hint)
