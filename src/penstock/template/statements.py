"""`{% set … %}`: assignments, and calls such as `list.append(…)`.

In: the text of a statement. Out: `Statement`, a function of the frame. Invariant: only variables of the template are
set; a list or an object is never changed in place but copied.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault
from penstock.template.expressions import ExpressionCompiler, ExpressionSource, Target, read_statement, read_target
from penstock.template.operators import value_size
from penstock.template.render_frame import RenderFrame
from penstock.template.values import Placeholder, Value, describe_value


@dataclass(frozen=True, slots=True)
class Statement:
    """A compiled statement."""

    run: Callable[[RenderFrame], None]
    """Executes it in a frame."""


def read_set_statement(text: str, offset: int) -> tuple[Statement, ast.stmt]:
    """The statement of `{% set … %}`. Raises Fault."""
    tree, source = read_statement(text, offset)
    compiler = ExpressionCompiler(source)
    if isinstance(tree, ast.Assign):
        return Statement(_read_assignment(tree, source, compiler)), tree
    if isinstance(tree, ast.AugAssign) and isinstance(tree.target, ast.Name):
        return Statement(_augmented_assignment(tree, source)), tree
    if isinstance(tree, ast.Expr):
        return Statement(_read_call(tree.value, source, compiler)), tree
    raise Fault("template-forbidden", "only variables can be set", offset, "write `{% set name = value %}`")


def _read_assignment(
    tree: ast.Assign, source: ExpressionSource, compiler: ExpressionCompiler
) -> Callable[[RenderFrame], None]:
    value = compiler.compile(tree.value)
    targets = [_read_target(each, source, compiler) for each in tree.targets]

    def run(frame: RenderFrame) -> None:
        found = value(frame)
        for put in targets:
            put(frame, found)

    return run


def _read_target(node: ast.expr, source: ExpressionSource, compiler: ExpressionCompiler) -> Target:
    if not isinstance(node, ast.Subscript):
        return read_target(node, source)
    if not isinstance(node.value, ast.Name):
        raise source.fault(node, "template-forbidden", "only a variable's elements can be set")
    name, key, place = node.value.id, compiler.compile(node.slice), source.place(node)
    return lambda frame, value: _set_element(frame, name, key(frame), value, place)


def _set_element(frame: RenderFrame, name: str, key: Value, value: Value, offset: int) -> None:
    """`name[key] = value` on a copy."""
    owner = frame.lookup(name)
    frame.charge(value_size(owner), offset)
    if isinstance(owner, Placeholder):
        return
    if isinstance(owner, dict) and isinstance(key, (str, int, float)):
        frame.variables[name] = {**owner, key: value}
        return
    if isinstance(owner, list) and isinstance(key, int) and -len(owner) <= key < len(owner):
        frame.variables[name] = [*owner[:key], value, *owner[key:][1:]]
        return
    raise Fault("template-type", f"{describe_value(owner)} has no element {str(key)[:40]!r} to set", offset)


def _augmented_assignment(tree: ast.AugAssign, source: ExpressionSource) -> Callable[[RenderFrame], None]:
    """`name += value` as `name = name + value`."""
    assert isinstance(tree.target, ast.Name), "asked for those only"
    read = ast.copy_location(ast.Name(id=tree.target.id, ctx=ast.Load()), tree.target)
    both = ast.copy_location(ast.BinOp(left=read, op=tree.op, right=tree.value), tree)
    value, put = ExpressionCompiler(source).compile(both), read_target(tree.target, source)
    return lambda frame: put(frame, value(frame))


def _read_call(node: ast.expr, source: ExpressionSource, compiler: ExpressionCompiler) -> Callable[[RenderFrame], None]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
        return _read_append(node, node.func, source, compiler)
    value = compiler.compile(node)

    def run(frame: RenderFrame) -> None:
        value(frame)

    return run


def _read_append(
    node: ast.Call, function: ast.Attribute, source: ExpressionSource, compiler: ExpressionCompiler
) -> Callable[[RenderFrame], None]:
    """`name.append(value)` on a copy."""
    if not isinstance(function.value, ast.Name) or len(node.args) != 1 or node.keywords:
        raise source.fault(node, "template-forbidden", "`.append` is for a variable and one value")
    name, value, place = function.value.id, compiler.compile(node.args[0]), source.place(node)

    def run(frame: RenderFrame) -> None:
        owner = frame.lookup(name)
        frame.charge(value_size(owner), place)
        if isinstance(owner, Placeholder):
            return
        if not isinstance(owner, list):
            raise Fault("template-type", f"`.append` cannot be called on {describe_value(owner)}", place)
        frame.variables[name] = [*owner, value(frame)]

    return run
