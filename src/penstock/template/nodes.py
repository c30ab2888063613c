"""The nodes of a parsed template: verbatim SQL, interpolated values, branches, loops, attempts and assignments.

Made by `parser`, executed by `rendering`. Invariant: a template with faults is never rendered; in one without faults
every expression is compiled and every block is closed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import TypeAlias, Union

from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault
from penstock.template.expressions import Expression, Target
from penstock.template.parameter_types import READERS, element_type
from penstock.template.statements import Statement


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text of the template that goes into the SQL unchanged."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class Interpolation:
    """An interpolated value: `{{ expression }}`."""

    value: Expression
    written: str
    offset: int


@dataclass(frozen=True, slots=True)
class BranchArm:
    """One branch of an `if`."""

    id: int
    test: Expression | None
    """The condition; None for `else`."""
    conditions: tuple[tuple[ast.expr, bool], ...]
    """What leads into the branch: syntax trees, each with whether it has to be true."""
    body: tuple[TemplateNode, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """An `if` with its branches."""

    arms: tuple[BranchArm, ...]


@dataclass(frozen=True, slots=True)
class Loop:
    """A `for` or `while` loop."""

    target: Target | None
    """The variable of a `for`; None for a `while`."""
    values: Expression
    body: tuple[TemplateNode, ...]
    rest: tuple[TemplateNode, ...]
    """The body of its `else`."""
    offset: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """A `try`: where its body fails, what was written before stays, and the `except` goes on."""

    body: tuple[TemplateNode, ...]
    handler: tuple[TemplateNode, ...] | None
    """The body of its `except`; None without one."""
    name: str | None
    """The variable that gets the message of the error."""
    rest: tuple[TemplateNode, ...]
    """The body of its `else`."""
    final: tuple[TemplateNode, ...]
    """The body of its `finally`."""


@dataclass(frozen=True, slots=True)
class Jump:
    """A `break` or `continue`."""

    word: str


TemplateNode: TypeAlias = Union[Verbatim, Interpolation, Branch, Loop, Attempt, Jump, Statement]


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template."""

    text: str
    steps: tuple[TemplateNode, ...]
    faults: tuple[Fault, ...]
    trees: tuple[ast.AST, ...]
    """The syntax trees of all its expressions and assignments, in order."""
    arms: tuple[BranchArm, ...]
    """The branches of all its `if` blocks."""
    arrays: Mapping[str, str]
    """The element types of parameters that are read as `Array(…)`, by parameter."""


def array_parameter_types(text: str, trees: Iterable[ast.AST]) -> dict[str, str]:
    """The element types of parameters that the expressions of a template read as `Array(…)`, by parameter."""
    found: dict[str, str] = {}
    if "Array" not in text:
        return found
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Array" and node.args:
                subject = node.args[0]
                of = _element_type(node)
                if isinstance(subject, ast.Name) and of in READERS:
                    found.setdefault(subject.id, of)
    return found


def _element_type(node: ast.Call) -> str:
    named = next((each.value for each in node.keywords if each.arg == "_type"), None)
    written = node.args[1] if len(node.args) > 1 else named
    return element_type(written.value if isinstance(written, ast.Constant) else None)[0]
