"""Compiles the Python expressions of a template to functions of a `RenderFrame`.

In: the text of an expression, a statement or a `for` clause, and its offset in the template. Out: `Expression`s, which
give a value in a frame, and `Target`s, which set a variable in it. Invariants: Python's own parser makes a syntax tree
that is only read, never compiled or run by Python; the supported kinds of nodes are a closed list, and every other
kind is a fault when the template is read, whether or not it would be reached; only variables of the template are set.
"""

from __future__ import annotations

import ast
import keyword
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from penstock.errors import did_you_mean
from penstock.model.quick_dataclass import dataclass
from penstock.template.errors import Fault
from penstock.template.functions.call import FunctionCall
from penstock.template.functions.table import FUNCTIONS
from penstock.template.methods import METHODS, call_method
from penstock.template.operators import (
    apply_operator,
    check_number,
    compare_values,
    elements,
    get_item,
    is_true,
    slice_value,
)
from penstock.template.python_syntax import parse_quietly
from penstock.template.render_frame import LITERALS, LOOP, LOOP_ATTRIBUTES, MAX_DIGITS, RenderFrame
from penstock.template.values import Placeholder, Value, describe_value

Expression: TypeAlias = Callable[[RenderFrame], Value]
Target: TypeAlias = Callable[[RenderFrame, Value], None]
Clause: TypeAlias = tuple[Target, Expression, Sequence[Expression]]
"""One `for target in values if test if test` of a comprehension."""

_NAME_ALONE = re.compile(r"(\w+)\s*(?:[,)]|$)")
MAX_CHARACTERS = 20_000
"""The greatest length of one expression, in characters."""
_PARSER_ERRORS = (SyntaxError, ValueError, RecursionError, MemoryError)
MAX_DEPTH = 40
"""The greatest nesting of one expression."""

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


@dataclass(frozen=True, slots=True)
class ExpressionSource:
    """The text of an expression and its place in the template."""

    text: str
    offset: int
    """The offset in the template."""
    before: int = 0
    """The number of characters that were put before the text to make it Python: they are subtracted from columns in the
    first line."""

    def place(self, node: ast.AST) -> int:
        """The offset of a node in the template. Python counts columns in bytes."""
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


class ExpressionCompiler:
    """Compiles one syntax tree, node by node; how deep it is nested is counted."""

    def __init__(self, source: ExpressionSource):
        self.source = source
        self._depth = 0

    def compile(self, node: ast.expr) -> Expression:
        """The function of a node. Raises Fault for a kind of node that templates do not have."""
        reader = _COMPILERS.get(type(node))
        if reader is None:
            what = _REFUSED_NODES.get(type(node), type(node).__name__)
            raise self.fault(node, "template-forbidden", f"a template cannot have {what}")
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
        if name in LITERALS:
            value = LITERALS[name]
            return lambda frame: frame.variables.get(name, value)
        return lambda frame: frame.lookup(name)

    def allowed(self, node: ast.AST, name: str) -> None:
        """Raises Fault for a name that only Python itself uses."""
        if name.startswith("__") and name.endswith("__"):
            raise self.fault(node, "template-forbidden", f"`{name[:60]}` cannot be used in a template")

    def attribute(self, node: ast.Attribute) -> Expression:
        """`loop.first` and the like; nothing else has attributes."""
        name, place = node.attr, self.place(node)
        if not isinstance(node.value, ast.Name) or node.value.id != LOOP:
            hint = "read an object by `x['key']` or `x.get('key')`"
            raise self.fault(node, "template-forbidden", "a template cannot have attributes", hint)
        if name not in LOOP_ATTRIBUTES:
            near = did_you_mean(name, LOOP_ATTRIBUTES)
            raise self.fault(node, "template-forbidden", f"`{LOOP}` has no `{name[:60]}`", near)

        def position(frame: RenderFrame) -> Value:
            if not frame.loops:
                raise Fault("template-syntax", f"`{LOOP}.{name}` outside of a loop", place, "it belongs to a `for`")
            return frame.loops[-1].read(name)

        return position

    def unary(self, node: ast.UnaryOp) -> Expression:
        inner, place = self.compile(node.operand), self.place(node)
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
            hint = "the operators are + - * / // %"
            raise self.fault(node, "template-forbidden", "a template cannot have this operator", hint)
        left, right, place = self.compile(node.left), self.compile(node.right), self.place(node)
        return lambda frame: apply_operator(symbol, left(frame), right(frame), frame, place)

    def boolean(self, node: ast.BoolOp) -> Expression:
        parts, wanted = [self.compile(each) for each in node.values], isinstance(node.op, ast.Or)

        def either(frame: RenderFrame) -> Value:
            found: Value = None
            for part in parts:
                found = part(frame)
                if is_true(found) == wanted:
                    break
            return found

        return either

    def compare(self, node: ast.Compare) -> Expression:
        parts = [self.compile(each) for each in (node.left, *node.comparators)]
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
        test, yes, no = self.compile(node.test), self.compile(node.body), self.compile(node.orelse)
        return lambda frame: yes(frame) if is_true(test(frame)) else no(frame)

    def subscript(self, node: ast.Subscript) -> Expression:
        value, place = self.compile(node.value), self.place(node)
        if not isinstance(node.slice, ast.Slice):
            key = self.compile(node.slice)
            return lambda frame: get_item(value(frame), key(frame), place)
        nothing: Expression = lambda frame: None  # noqa: E731
        bounds = (node.slice.lower, node.slice.upper, node.slice.step)
        low, high, step = (self.compile(each) if each is not None else nothing for each in bounds)

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
        arguments = [self.compile(each) for each in node.args]
        named = {each.arg or "": self.compile(each.value) for each in node.keywords}
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
        value, arguments, place = (
            self.compile(function.value),
            [self.compile(each) for each in node.args],
            self.place(node),
        )
        return lambda frame: call_method(value(frame), name, [each(frame) for each in arguments], frame, place)


def _compile_sequence(compiler: ExpressionCompiler, node: ast.List | ast.Tuple | ast.Set) -> Expression:
    if isinstance(node, ast.Set) and len(node.elts) == 1:
        return compiler.compile(node.elts[0])  # `{% if defined({{ x }}) %}`: the format ignores braces inside of braces
    if isinstance(node, ast.Set):
        hint = "write `{% set x = String(y) %}`, without `{{ }}` inside"
        raise compiler.fault(node, "template-forbidden", "a template cannot have sets", hint)
    parts, place = [compiler.compile(each) for each in node.elts], compiler.place(node)
    is_tuple = isinstance(node, ast.Tuple)

    def made(frame: RenderFrame) -> Value:
        frame.charge(len(parts), place)
        found = [part(frame) for part in parts]
        return tuple(found) if is_tuple else found

    return made


def _compile_object(compiler: ExpressionCompiler, node: ast.Dict) -> Expression:
    keys = [compiler.compile(each) for each in node.keys if each is not None]
    if len(keys) != len(node.keys):
        raise compiler.fault(node, "template-forbidden", "a template cannot have `**`")
    values, place = [compiler.compile(each) for each in node.values], compiler.place(node)

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


def _compile_f_string(compiler: ExpressionCompiler, node: ast.JoinedStr) -> Expression:
    parts = [_compile_f_string_part(compiler, each) for each in node.values]
    place = compiler.place(node)

    def joined(frame: RenderFrame) -> Value:
        found = [part(frame) for part in parts]
        placeholder = next((each for each in found if isinstance(each, Placeholder)), None)
        if placeholder is not None:
            return placeholder
        text = "".join(_f_string_text(each, place) for each in found)
        frame.charge(len(text), place)
        return text

    return joined


def _compile_f_string_part(compiler: ExpressionCompiler, node: ast.expr) -> Expression:
    if not isinstance(node, ast.FormattedValue):
        return compiler.compile(node)
    if node.format_spec is not None or node.conversion != -1:
        raise compiler.fault(node, "template-forbidden", "a template cannot have formats in f-strings")
    return compiler.compile(node.value)


def _compile_comprehension(compiler: ExpressionCompiler, node: ast.ListComp | ast.GeneratorExp) -> Expression:
    clauses = [_compile_clause(compiler, each) for each in node.generators]
    value, place = compiler.compile(node.elt), compiler.place(node)

    def made(frame: RenderFrame) -> Value:
        kept, found = dict(frame.variables), []
        for _ in _iterate_clauses(clauses, frame, place):
            found.append(value(frame))
        frame.variables.clear()
        frame.variables.update(kept)
        return found

    return made


def _compile_clause(compiler: ExpressionCompiler, node: ast.comprehension) -> Clause:
    if node.is_async:
        raise compiler.fault(node.target, "template-forbidden", "a template cannot have `async`")
    return (
        read_target(node.target, compiler.source),
        compiler.compile(node.iter),
        [compiler.compile(each) for each in node.ifs],
    )


def _f_string_text(value: Value, offset: int) -> str:
    """The text of a value in an f-string."""
    if isinstance(value, (str, bool)):
        return str(value)
    if isinstance(value, (int, float)):
        number = check_number(value, offset)
        return str(int(number) if isinstance(number, int) else float(number))
    raise Fault("template-type", f"an f-string cannot hold {describe_value(value)}", offset)


_COMPILERS: dict[type[ast.expr], Callable[..., Expression]] = {
    ast.Constant: ExpressionCompiler.constant,
    ast.Name: ExpressionCompiler.name,
    ast.Attribute: ExpressionCompiler.attribute,
    ast.UnaryOp: ExpressionCompiler.unary,
    ast.BinOp: ExpressionCompiler.binary,
    ast.BoolOp: ExpressionCompiler.boolean,
    ast.Compare: ExpressionCompiler.compare,
    ast.IfExp: ExpressionCompiler.choice,
    ast.Call: ExpressionCompiler.call,
    ast.Subscript: ExpressionCompiler.subscript,
    ast.List: _compile_sequence,
    ast.Tuple: _compile_sequence,
    ast.Set: _compile_sequence,
    ast.Dict: _compile_object,
    ast.JoinedStr: _compile_f_string,
    ast.ListComp: _compile_comprehension,
    ast.GeneratorExp: _compile_comprehension,
}
_REFUSED_NODES: dict[type[ast.expr], str] = {
    ast.Lambda: "a lambda",
    ast.NamedExpr: "`:=`",
    ast.Await: "`await`",
    ast.DictComp: "comprehensions of objects",
    ast.SetComp: "sets",
    ast.Yield: "`yield`",
    ast.Starred: "`*`",
}


def read_target(node: ast.expr, source: ExpressionSource) -> Target:
    """The setter of a target: a name, or names in a tuple. Raises Fault for any other target."""
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


def _iterate_clauses(
    clauses: Sequence[tuple[Target, Callable[[RenderFrame], Value], Sequence[Callable[[RenderFrame], Value]]]],
    frame: RenderFrame,
    offset: int,
) -> Iterator[None]:
    """One step for each combination of a comprehension's loops, with its variables set."""
    (put, values, tests), *inner = clauses
    for each in elements(values(frame), frame, offset):
        frame.charge(1, offset)
        put(frame, each)
        if not all(is_true(test(frame)) for test in tests):
            continue
        if inner:
            yield from _iterate_clauses(inner, frame, offset)
        else:
            yield None


def _parse(text: str, mode: str, source: ExpressionSource) -> ast.AST:
    if len(text) > MAX_CHARACTERS:
        raise Fault("template-syntax", f"more than {MAX_CHARACTERS:,} characters between two braces", source.offset)
    try:
        return parse_quietly(text, mode)
    except _PARSER_ERRORS as error:
        raise _syntax_fault(error, source) from None


def _syntax_fault(error: Exception, source: ExpressionSource) -> Fault:
    offset, said = source.offset, "it is too deep"
    if isinstance(error, SyntaxError):
        said = error.msg.split(" (")[0]
        at = ast.Pass(lineno=error.lineno or 1, col_offset=max((error.offset or 1) - 1, 0))
        offset = source.place(at)
        said = _word_of_python(source.text[offset - source.offset :]) or said
    elif isinstance(error, ValueError):
        said = "a character that Python does not know, or a number that is too long"
    inside = f" in `{source.text[:60]}`"
    hint = "write `{% set x = String(y) %}`, without `{{ }}` inside" if "{" in source.text else None
    return Fault("template-syntax", f"invalid expression{inside}: {said}", offset, hint)


def _word_of_python(text: str) -> str | None:
    """What is wrong where a text begins with a keyword in the place of a name, such as `from)`."""
    found = _NAME_ALONE.match(text)
    if found is None or not keyword.iskeyword(found[1]):
        return None
    return f"`{found[1]}` is a word of the language of templates, so no parameter can have that name"
