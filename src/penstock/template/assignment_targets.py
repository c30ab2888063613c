"""Targets of assignments and loops.

In: trees of `ast`. Out: what puts values into a frame. Called by expressions and statements. Invariant: only
variables of the template are set, and none that Python itself uses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from penstock.template.errors import Fault
from penstock.template.frame import RenderFrame
from penstock.template.operators import elements, is_true
from penstock.template.python_syntax import ExpressionSource
from penstock.template.values import Placeholder, Value

Target: TypeAlias = Callable[[RenderFrame, Value], None]


def read_target(node: ast.expr, source: ExpressionSource) -> Target:
    """What sets the target: a name, or names in a tuple. Raises Fault."""
    if isinstance(node, ast.Name):
        return _read_name_target(node, source)
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [read_target(each, source) for each in node.elts]
        place = source.place(node)
        return lambda frame, value: _unpack_value(parts, frame, value, place)
    raise source.fault(node, "template-forbidden", "only variables can be set", "write `{% set name = value %}`")


def _read_name_target(node: ast.Name, source: ExpressionSource) -> Target:
    name = node.id
    if name.startswith("__"):
        raise source.fault(node, "template-forbidden", f"`{name[:60]}` cannot be set in a template")

    def put(frame: RenderFrame, value: Value) -> None:
        frame.variables[name] = value

    return put


def _unpack_value(parts: Sequence[Target], frame: RenderFrame, value: Value, offset: int) -> None:
    placeholder = isinstance(value, Placeholder)
    found = [value] * len(parts) if placeholder else list(elements(value, frame, offset))
    if len(found) != len(parts):
        message = f"{len(parts)} names for {len(found)} values"
        raise Fault("template-value", message, offset)
    for part, each in zip(parts, found, strict=True):
        part(frame, each)


def iterate_clauses(
    clauses: Sequence[tuple[Target, Callable[[RenderFrame], Value], Sequence[Callable[[RenderFrame], Value]]]],
    frame: RenderFrame,
    offset: int,
) -> Iterator[None]:
    """Once for each combination of a comprehension's loops, with its variables set."""
    (put, values, tests), *inner = clauses
    for each in elements(values(frame), frame, offset):
        frame.charge(1, offset)
        put(frame, each)
        if not all(is_true(test(frame)) for test in tests):
            continue
        if inner:
            yield from iterate_clauses(inner, frame, offset)
        else:
            yield None
