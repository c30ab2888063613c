"""Expressions that make lists, objects and texts: displays, comprehensions and f-strings.

In: trees of `ast`, and what reads the trees inside of them. Out: functions of a frame. Called by expressions.
Invariant: what is made is charged by its size.

Python's expressions, the part of them that templates have, to functions of a frame.

In: a tree of `ast`. Out: `Expression`: what it gives in a frame. Called by tree. Invariant: the kinds of nodes
are a closed list; every other one is a fault when the template is read, whether or not it would be reached.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from penstock.errors import did_you_mean
from penstock.template.assignment_targets import Target, iterate_clauses, read_target
from penstock.template.errors import Fault
from penstock.template.frame import MAX_DIGITS, RenderFrame
from penstock.template.functions.call import FunctionCall
from penstock.template.functions.table import FUNCTIONS
from penstock.template.methods import METHODS, call_method
from penstock.template.operators import apply_operator, check_number, compare_values, get_item, is_true, slice_value
from penstock.template.python_syntax import ExpressionSource, read_expression
from penstock.template.values import Placeholder, Value, describe_value

Made: TypeAlias = Callable[[RenderFrame], Value]
Clause: TypeAlias = tuple[Target, Made, Sequence[Made]]


class Reads(Protocol):
    """What reads an expression; `Reading` is one."""

    @property
    def source(self) -> ExpressionSource: ...
    def of(self, node: ast.expr) -> Made: ...
    def place(self, node: ast.AST) -> int: ...
    def fault(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> Fault: ...


def read_sequence(reading: Reads, node: ast.List | ast.Tuple | ast.Set) -> Made:
    if isinstance(node, ast.Set):
        hint = "write `{% set x = String(y) %}`, without `{{ }}` inside"
        raise reading.fault(node, "template-forbidden", "a template cannot have sets", hint)
    parts, place = [reading.of(each) for each in node.elts], reading.place(node)
    is_tuple = isinstance(node, ast.Tuple)

    def made(frame: RenderFrame) -> Value:
        frame.charge(len(parts), place)
        found = [part(frame) for part in parts]
        return tuple(found) if is_tuple else found

    return made


def read_mapping(reading: Reads, node: ast.Dict) -> Made:
    keys = [reading.of(each) for each in node.keys if each is not None]
    if len(keys) != len(node.keys):
        raise reading.fault(node, "template-forbidden", "a template cannot have `**`")
    values, place = [reading.of(each) for each in node.values], reading.place(node)

    def made(frame: RenderFrame) -> Value:
        frame.charge(len(keys), place)
        found: dict[Value, Value] = {}
        for key, value in zip(keys, values, strict=True):
            name = key(frame)
            if not isinstance(name, (str, int, float, Placeholder)):
                raise Fault("template-type", f"{describe_value(name)} cannot be a key", place)
            found[name] = value(frame)
        return found

    return made


def read_f_string(reading: Reads, node: ast.JoinedStr) -> Made:
    parts = [_read_f_string_part(reading, each) for each in node.values]
    place = reading.place(node)

    def joined(frame: RenderFrame) -> Value:
        found = [part(frame) for part in parts]
        placeholder = next((each for each in found if isinstance(each, Placeholder)), None)
        if placeholder is not None:
            return placeholder
        text = "".join(_f_string_text(each, place) for each in found)
        frame.charge(len(text), place)
        return text

    return joined


def _read_f_string_part(reading: Reads, node: ast.expr) -> Made:
    if not isinstance(node, ast.FormattedValue):
        return reading.of(node)
    if node.format_spec is not None or node.conversion != -1:
        raise reading.fault(node, "template-forbidden", "a template cannot have formats in f-strings")
    return reading.of(node.value)


def read_comprehension(reading: Reads, node: ast.ListComp | ast.GeneratorExp) -> Made:
    clauses = [_read_clause(reading, each) for each in node.generators]
    value, place = reading.of(node.elt), reading.place(node)

    def made(frame: RenderFrame) -> Value:
        kept, found = dict(frame.variables), []
        for _ in iterate_clauses(clauses, frame, place):
            found.append(value(frame))
        frame.variables.clear()
        frame.variables.update(kept)
        return found

    return made


def _read_clause(reading: Reads, node: ast.comprehension) -> Clause:
    if node.is_async:
        raise reading.fault(node.target, "template-forbidden", "a template cannot have `async`")
    return read_target(node.target, reading.source), reading.of(node.iter), [reading.of(each) for each in node.ifs]


def _f_string_text(value: Value, offset: int) -> str:
    """A value in an f-string."""
    if isinstance(value, (str, bool)):
        return str(value)
    if isinstance(value, (int, float)):
        number = check_number(value, offset)
        return str(int(number) if isinstance(number, int) else float(number))
    raise Fault("template-type", f"an f-string cannot hold {describe_value(value)}", offset)


Expression: TypeAlias = Callable[[RenderFrame], Value]

MAX_DEPTH = 40
"""So deep may an expression be nested."""

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
}


def compile_expression(text: str, offset: int) -> Expression:
    """What a text is in a frame. Raises Fault."""
    tree, source = read_expression(text, offset)
    return ExpressionCompiler(source).of(tree)


class ExpressionCompiler:
    """One expression on its way to a function."""

    def __init__(self, source: ExpressionSource):
        self.source = source
        self._depth = 0

    def of(self, node: ast.expr) -> Expression:
        """Raises Fault for what templates do not have."""
        reader = _READERS.get(type(node))
        if reader is None:
            what = _REFUSED_NODES.get(type(node), type(node).__name__)
            raise self.fault(node, "template-forbidden", f"a template cannot have {what}", _HINTS.get(type(node)))
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.fault(node, "template-syntax", "the expression is nested too deep")
        made = reader(self, node)
        self._depth -= 1
        return made

    def fault(self, node: ast.AST, code: str, message: str, hint: str | None = None) -> Fault:
        return self.source.fault(node, code, message, hint)

    def place(self, node: ast.AST) -> int:
        return self.source.place(node)

    def constant(self, node: ast.Constant) -> Expression:
        value = node.value
        if value is not None and not isinstance(value, (bool, int, float, str)):
            raise self.fault(node, "template-forbidden", f"a template cannot have {type(value).__name__} literals")
        if isinstance(value, int) and len(str(value)) > MAX_DIGITS:
            raise self.fault(node, "template-value", "the number is too large")
        return lambda frame: value

    def name(self, node: ast.Name) -> Expression:
        name = node.id
        self.allowed(node, name)
        return lambda frame: frame.lookup(name)

    def allowed(self, node: ast.AST, name: str) -> None:
        """Raises Fault for a name that only Python itself uses."""
        if name.startswith("__") and name.endswith("__"):
            raise self.fault(node, "template-forbidden", f"`{name[:60]}` cannot be used in a template")

    def unary(self, node: ast.UnaryOp) -> Expression:
        inner, place = self.of(node.operand), self.place(node)
        if isinstance(node.op, ast.Not):
            return lambda frame: not is_true(inner(frame))
        if isinstance(node.op, ast.Invert):
            raise self.fault(node, "template-forbidden", "a template cannot have the operator `~`")
        sign = "-" if isinstance(node.op, ast.USub) else "+"

        def signed(frame: RenderFrame) -> Value:
            value = inner(frame)
            return value if isinstance(value, Placeholder) else apply_operator(sign, 0, value, frame, place)

        return signed

    def binary(self, node: ast.BinOp) -> Expression:
        symbol = _BINARY.get(type(node.op))
        if symbol is None:
            hint = "there are + - * / // %"
            raise self.fault(node, "template-forbidden", "a template cannot have this operator", hint)
        left, right, place = self.of(node.left), self.of(node.right), self.place(node)
        return lambda frame: apply_operator(symbol, left(frame), right(frame), frame, place)

    def boolean(self, node: ast.BoolOp) -> Expression:
        parts, wanted = [self.of(each) for each in node.values], isinstance(node.op, ast.Or)

        def either(frame: RenderFrame) -> Value:
            found: Value = None
            for part in parts:
                found = part(frame)
                if is_true(found) == wanted:
                    break
            return found

        return either

    def compare(self, node: ast.Compare) -> Expression:
        parts = [self.of(each) for each in (node.left, *node.comparators)]
        symbols, place = [_COMPARE[type(each)] for each in node.ops], self.place(node)

        def chain(frame: RenderFrame) -> Value:
            left = parts[0](frame)
            for symbol, part in zip(symbols, parts[1:], strict=True):
                right = part(frame)
                if not compare_values(symbol, left, right, frame, place):
                    return False
                left = right
            return True

        return chain

    def choice(self, node: ast.IfExp) -> Expression:
        test, yes, no = self.of(node.test), self.of(node.body), self.of(node.orelse)
        return lambda frame: yes(frame) if is_true(test(frame)) else no(frame)

    def subscript(self, node: ast.Subscript) -> Expression:
        value, place = self.of(node.value), self.place(node)
        if not isinstance(node.slice, ast.Slice):
            key = self.of(node.slice)
            return lambda frame: get_item(value(frame), key(frame), place)
        nothing: Expression = lambda frame: None  # noqa: E731
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        low, high, step = (self.of(each) if each is not None else nothing for each in bounds)

        def part(frame: RenderFrame) -> Value:
            frame.charge(1, place)
            return slice_value(value(frame), low(frame), high(frame), step(frame), place)

        return part

    def call(self, node: ast.Call) -> Expression:
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            raise self.fault(node, "template-forbidden", "a template cannot have `*` or `**` in a call")
        if isinstance(node.func, ast.Attribute):
            return self._method(node, node.func)
        if not isinstance(node.func, ast.Name):
            raise self.fault(node, "template-forbidden", "a template can only call functions by name")
        function = FUNCTIONS.get(node.func.id)
        if function is None:
            self.allowed(node, node.func.id)
            hint = did_you_mean(node.func.id, FUNCTIONS)
            raise self.fault(node, "unknown-template-function", f"unknown function `{node.func.id[:60]}`", hint)
        arguments = [self.of(each) for each in node.args]
        named = {each.arg or "": self.of(each.value) for each in node.keywords}
        subject = node.args[0].id if node.args and isinstance(node.args[0], ast.Name) else None
        name, place = node.func.id, self.place(node)
        function.check(name, len(arguments), named, place)

        def called(frame: RenderFrame) -> Value:
            frame.charge(1, place)
            given = [each(frame) for each in arguments]
            by_name = {key: each(frame) for key, each in named.items()}
            return function.run(FunctionCall(name, given, by_name, subject, place, frame))

        return called

    def _method(self, node: ast.Call, function: ast.Attribute) -> Expression:
        name = function.attr
        if name not in METHODS:
            self.allowed(node, name)
            hint = did_you_mean(name, METHODS)
            raise self.fault(node, "unknown-template-function", f"unknown method `.{name[:60]}`", hint)
        if node.keywords:
            raise self.fault(node, "template-forbidden", f"`.{name}` has no arguments by name")
        value, arguments, place = self.of(function.value), [self.of(each) for each in node.args], self.place(node)
        return lambda frame: call_method(value(frame), name, [each(frame) for each in arguments], frame, place)


_READERS: dict[type[ast.expr], Callable[..., Expression]] = {
    ast.Constant: ExpressionCompiler.constant,
    ast.Name: ExpressionCompiler.name,
    ast.UnaryOp: ExpressionCompiler.unary,
    ast.BinOp: ExpressionCompiler.binary,
    ast.BoolOp: ExpressionCompiler.boolean,
    ast.Compare: ExpressionCompiler.compare,
    ast.IfExp: ExpressionCompiler.choice,
    ast.Call: ExpressionCompiler.call,
    ast.Subscript: ExpressionCompiler.subscript,
    ast.List: read_sequence,
    ast.Tuple: read_sequence,
    ast.Set: read_sequence,
    ast.Dict: read_mapping,
    ast.JoinedStr: read_f_string,
    ast.ListComp: read_comprehension,
    ast.GeneratorExp: read_comprehension,
}
_REFUSED_NODES: dict[type[ast.expr], str] = {
    ast.Lambda: "a lambda",
    ast.Attribute: "attributes",
    ast.NamedExpr: "`:=`",
    ast.Await: "`await`",
    ast.DictComp: "comprehensions of objects",
    ast.SetComp: "sets",
    ast.Yield: "`yield`",
    ast.Starred: "`*`",
}
_HINTS: dict[type[ast.expr], str] = {ast.Attribute: "read an object by `x['key']` or `x.get('key')`"}
