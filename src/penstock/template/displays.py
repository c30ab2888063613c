"""Expressions that make lists, objects and texts: displays, comprehensions and f-strings.

In: trees of `ast`, and what reads the trees inside of them. Out: functions of a frame. Called by expressions.
Invariant: what is made is charged by its size.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from penstock.template.faults import Fault
from penstock.template.frame import Frame
from penstock.template.loops import Target, loop_over, target_of
from penstock.template.operators import checked_number
from penstock.template.source import Source
from penstock.template.values import Placeholder, Value, described

Made: TypeAlias = Callable[[Frame], Value]
Clause: TypeAlias = tuple[Target, Made, Sequence[Made]]


class Reads(Protocol):
    """What reads an expression; `Reading` is one."""

    @property
    def source(self) -> Source: ...
    def of(self, node: ast.expr) -> Made: ...
    def place(self, node: ast.AST) -> int: ...
    def fault(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> Fault: ...


def sequence(reading: Reads, node: ast.List | ast.Tuple | ast.Set) -> Made:
    if isinstance(node, ast.Set):
        hint = "write `{% set x = String(y) %}`, without `{{ }}` inside"
        raise reading.fault(node, "template-forbidden", "a template cannot have sets", hint)
    parts, place = [reading.of(each) for each in node.elts], reading.place(node)
    is_tuple = isinstance(node, ast.Tuple)

    def made(frame: Frame) -> Value:
        frame.charge(len(parts), place)
        found = [part(frame) for part in parts]
        return tuple(found) if is_tuple else found

    return made


def mapping(reading: Reads, node: ast.Dict) -> Made:
    keys = [reading.of(each) for each in node.keys if each is not None]
    if len(keys) != len(node.keys):
        raise reading.fault(node, "template-forbidden", "a template cannot have `**`")
    values, place = [reading.of(each) for each in node.values], reading.place(node)

    def made(frame: Frame) -> Value:
        frame.charge(len(keys), place)
        found: dict[Value, Value] = {}
        for key, value in zip(keys, values, strict=True):
            name = key(frame)
            if not isinstance(name, (str, int, float, Placeholder)):
                raise Fault("template-type", f"{described(name)} cannot be a key", place)
            found[name] = value(frame)
        return found

    return made


def formatted(reading: Reads, node: ast.JoinedStr) -> Made:
    parts = [_formatted(reading, each) for each in node.values]
    place = reading.place(node)

    def joined(frame: Frame) -> Value:
        found = [part(frame) for part in parts]
        placeholder = next((each for each in found if isinstance(each, Placeholder)), None)
        if placeholder is not None:
            return placeholder
        text = "".join(_shown(each, place) for each in found)
        frame.charge(len(text), place)
        return text

    return joined


def _formatted(reading: Reads, node: ast.expr) -> Made:
    if not isinstance(node, ast.FormattedValue):
        return reading.of(node)
    if node.format_spec is not None or node.conversion != -1:
        raise reading.fault(node, "template-forbidden", "a template cannot have formats in f-strings")
    return reading.of(node.value)


def comprehension(reading: Reads, node: ast.ListComp | ast.GeneratorExp) -> Made:
    clauses = [_clause(reading, each) for each in node.generators]
    value, place = reading.of(node.elt), reading.place(node)

    def made(frame: Frame) -> Value:
        kept, found = dict(frame.variables), []
        for _ in loop_over(clauses, frame, place):
            found.append(value(frame))
        frame.variables.clear()
        frame.variables.update(kept)
        return found

    return made


def _clause(reading: Reads, node: ast.comprehension) -> Clause:
    if node.is_async:
        raise reading.fault(node.target, "template-forbidden", "a template cannot have `async`")
    return target_of(node.target, reading.source), reading.of(node.iter), [reading.of(each) for each in node.ifs]


def _shown(value: Value, offset: int) -> str:
    """A value in an f-string."""
    if isinstance(value, (str, bool)):
        return str(value)
    if isinstance(value, (int, float)):
        number = checked_number(value, offset)
        return str(int(number) if isinstance(number, int) else float(number))
    raise Fault("template-type", f"an f-string cannot hold {described(value)}", offset)
