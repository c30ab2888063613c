"""Targets of assignments and loops.

In: trees of `ast`. Out: what puts values into a frame. Called by expressions and statements. Invariant: only
variables of the template are set, and none that Python itself uses.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from penstock.template.errors import Fault
from penstock.template.frame import Frame
from penstock.template.operators import elements, truth
from penstock.template.python_syntax import Source
from penstock.template.values import Placeholder, Value

Target: TypeAlias = Callable[[Frame, Value], None]


def target_of(node: ast.expr, source: Source) -> Target:
    """What sets the target: a name, or names in a tuple. Raises Fault."""
    if isinstance(node, ast.Name):
        return _named(node, source)
    if isinstance(node, (ast.Tuple, ast.List)):
        parts = [target_of(each, source) for each in node.elts]
        place = source.place(node)
        return lambda frame, value: _spread(parts, frame, value, place)
    raise source.fault(node, "template-forbidden", "only variables can be set", "write `{% set name = value %}`")


def _named(node: ast.Name, source: Source) -> Target:
    name = node.id
    if name.startswith("__"):
        raise source.fault(node, "template-forbidden", f"`{name[:60]}` cannot be set in a template")

    def put(frame: Frame, value: Value) -> None:
        frame.variables[name] = value

    return put


def _spread(parts: Sequence[Target], frame: Frame, value: Value, offset: int) -> None:
    placeholder = isinstance(value, Placeholder)
    found = [value] * len(parts) if placeholder else list(elements(value, frame, offset))
    if len(found) != len(parts):
        message = f"{len(parts)} names for {len(found)} values"
        raise Fault("template-value", message, offset)
    for part, each in zip(parts, found, strict=True):
        part(frame, each)


def loop_over(
    clauses: Sequence[tuple[Target, Callable[[Frame], Value], Sequence[Callable[[Frame], Value]]]],
    frame: Frame,
    offset: int,
) -> Iterator[None]:
    """Once for each combination of a comprehension's loops, with its variables set."""
    (put, values, tests), *inner = clauses
    for each in elements(values(frame), frame, offset):
        frame.charge(1, offset)
        put(frame, each)
        if not all(truth(test(frame)) for test in tests):
            continue
        if inner:
            yield from loop_over(inner, frame, offset)
        else:
            yield None
