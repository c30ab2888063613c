"""Values of expressions that are known when the SQL is compiled: `24 * 3600`, `toInt32('5')`, `-days`, `(SELECT 2)`.

ClickHouse takes any constant expression where it asks for a constant: LIMIT, the step of a range, an interval, a
parameter of an aggregate. In: a node. Out: its value, None if it is not known. Invariant: a value that is given is the
one that ClickHouse computes; what might leave 64 bits is not known. Templates write numbers as `toInt32('5')`.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.typed import Constant, text
from penstock.sql.syntax.tree import call_name, call_parts

_INTEGER_NAME = re.compile(r"(?:to)?(?P<sign>U?)Int(?P<bits>8|16|32|64)(?P<form>OrZero|OrNull|OrDefault)?")
_FLOAT_NAME = re.compile(r"(?:to)?Float64(OrZero|OrNull|OrDefault)?")
_DECIMAL = re.compile(r"-?[0-9]{1,15}(\.[0-9]{0,15})?([eE][+-]?[0-9]{1,2})?")
_LOWEST, _HIGHEST = -(2**63), 2**64 - 1
_BARE_SELECT = frozenset({"expressions", "kind", "operation_modifiers", "hint", "distinct", "limit", "into"})
"""Arguments that sqlglot gives to a SELECT of nothing but expressions."""


def known_integer(tr: Translator, node: exp.Expr) -> int | None:
    """The value of an integer that is known at compile time; None if it is not known, or no integer."""
    value = known_constant(tr, node)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def literal_text(tr: Translator, node: exp.Expr) -> str:
    """The text of a string that is known at compile time. Raises Refused for every other node."""
    value = tr.translate(node).constant or known_constant(tr, node)
    if not isinstance(value, str):
        raise tr.refusal(node, "wrong-argument-type", "expected a string literal here")
    return value


def known_constant(tr: Translator, node: exp.Expr | None) -> Constant | None:
    """The value of a number, text or condition that is known at compile time; None for every other expression."""
    if node is None:
        return None
    if type(node) in _OPERATORS:
        return _calculate(_OPERATORS[type(node)], tr, [node.this, node.expression])
    reader = _READERS.get(type(node))
    return None if reader is None else reader(tr, node)


def known_texts(tr: Translator, node: exp.Expr) -> list[str] | None:
    """The texts of an array that is known at compile time: `['a', 'b']`, also under arrayMap or an alias; None if it is
    not known, or holds anything else."""
    _, arguments = call_parts(node)
    match node:
        case exp.Paren() | exp.Alias():
            return known_texts(tr, node.this)
        case exp.Column() if _aliased(tr, node) is not None:
            return known_texts(tr.inside(node.name), tr.scope.aliases[node.name])
        case exp.Array():
            return _all_texts([known_constant(tr, each) for each in node.expressions])
        case exp.Anonymous() if call_name(node) == "array":
            return _all_texts([known_constant(tr, each) for each in arguments])
        case exp.Anonymous() if call_name(node) == "arrayMap" and len(arguments) == 2:
            return _mapped_texts(tr, arguments[0], arguments[1])
        case exp.Anonymous() if call_name(node) in ("splitByChar", "splitByString") and len(arguments) in (2, 3):
            return _split_texts(tr, arguments)
        case _:
            return None


def _mapped_texts(tr: Translator, function: exp.Expr, array: exp.Expr) -> list[str] | None:
    given = known_texts(tr, array)
    if given is None or not isinstance(function, exp.Lambda) or len(function.expressions) != 1:
        return None
    name = function.expressions[0].name
    return _all_texts([known_constant(tr.with_locals({name: text(each)}), function.this) for each in given])


def _split_texts(tr: Translator, arguments: list[exp.Expr]) -> list[str] | None:
    """The parts of a text, at most as many as a third argument says if that is above zero."""
    by, written = (known_constant(tr, each) for each in arguments[:2])
    most = known_integer(tr, arguments[2]) if len(arguments) > 2 else 0
    if not isinstance(by, str) or not by or not isinstance(written, str) or most is None:
        return None
    return written.split(by)[: most if most > 0 else None]


def _all_texts(values: list[Constant | None]) -> list[str] | None:
    found = [value for value in values if isinstance(value, str)]
    return found if len(found) == len(values) else None


def _constant_inside(tr: Translator, node: exp.Expr) -> Constant | None:
    """The value of what is in parentheses, or before AS."""
    return known_constant(tr, node.this)


def _constant_of_literal(tr: Translator, node: exp.Expr) -> Constant | None:
    return tr.translate(node).constant


def _negated_constant(tr: Translator, node: exp.Expr) -> Constant | None:
    value = known_constant(tr, node.this)
    return _within_64_bits(-value) if isinstance(value, (int, float)) else None


def _constant_of_alias(tr: Translator, node: exp.Expr) -> Constant | None:
    """The value of the expression that a name stands for; None for a column."""
    if node.name in tr.locals and not node.text("table"):
        return tr.locals[node.name].constant
    named = _aliased(tr, node)
    return None if named is None else known_constant(tr.inside(node.name), named)


def _aliased(tr: Translator, node: exp.Expr) -> exp.Expr | None:
    """The expression that a name stands for; None for a column and a parameter of a lambda."""
    bare = not node.text("table") and node.name not in tr.resolving and node.name not in tr.locals
    return tr.scope.aliases.get(node.name) if bare else None


def _number_of(type_name: str, value: Constant) -> int | float | None:
    """The value as a number of a type (`Int32`, or `toInt32` as the function is called); None unless it is one."""
    if _FLOAT_NAME.fullmatch(type_name):
        written = str(value)
        return float(written) if not isinstance(value, str) or _DECIMAL.fullmatch(written) else None
    found = _INTEGER_NAME.fullmatch(type_name)
    number = _whole_number(value) if found is not None else None
    if found is None or number is None:
        return None
    bits = int(found["bits"])
    low, high = (0, 2**bits - 1) if found["sign"] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return number if low <= number <= high else None


def _whole_number(value: Constant) -> int | None:
    """A number without its fraction, or that of a text."""
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else None
    if not isinstance(value, str):
        return int(value)
    number = parse_whole_number(value.removeprefix("-"))
    return -number if number is not None and value.startswith("-") else number


def _constant_of_cast(tr: Translator, node: exp.Expr) -> Constant | None:
    """CAST(x AS T) and x::T, of the types of which constants are asked for."""
    value, to = known_constant(tr, node.this), node.args["to"]
    if value is None:
        return None
    name = to.name if isinstance(to, exp.Literal) else to.sql(dialect="clickhouse")
    if name == "String" and isinstance(value, (int, str)) and not isinstance(value, bool):
        return str(value)
    return _number_of(name, value)


def _chosen_constant(tr: Translator, nodes: list[exp.Expr]) -> Constant | None:
    """if(condition, a, b)."""
    if len(nodes) != 3:
        return None
    test = known_constant(tr, nodes[0])
    return known_constant(tr, nodes[1 if test else 2]) if isinstance(test, (int, float)) else None


def _constant_of_select(tr: Translator, node: exp.Expr) -> Constant | None:
    """(SELECT expression), without FROM or any other clause."""
    if isinstance(node, exp.Subquery):
        return known_constant(tr, node.this) if not any(node.args.get(key) for key in ("limit", "order")) else None
    plain = len(node.expressions) == 1 and all(key in _BARE_SELECT or not value for key, value in node.args.items())
    return known_constant(tr, node.expressions[0]) if plain and not node.args.get("limit") else None


def _constant_of_call(tr: Translator, node: exp.Expr) -> Constant | None:
    name = call_name(node) or ""
    parameters, arguments = call_parts(node)
    if parameters or not arguments:
        return None
    if name.lower() == "if":
        return _chosen_constant(tr, arguments)
    if name in _CALCULATIONS:
        return _calculate(_CALCULATIONS[name], tr, arguments)
    converts = len(arguments) == 1 and (_INTEGER_NAME.fullmatch(name) or _FLOAT_NAME.fullmatch(name))
    value = known_constant(tr, arguments[0]) if converts and name.startswith("to") else None
    return None if value is None else _number_of(name, value)


def _calculate(calculation: Callable[..., Constant | None], tr: Translator, nodes: list[exp.Expr]) -> Constant | None:
    """The result of a calculation with constants, None where an operand is none or does not suit it."""
    values = [known_constant(tr, each) for each in nodes]
    if any(value is None for value in values):
        return None
    try:
        return _within_64_bits(calculation(*values))
    except (TypeError, ValueError, ArithmeticError):
        return None


def _within_64_bits(value: Constant | None) -> Constant | None:
    """The value, None for an integer that would wrap around and for a float that is no finite number."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return None if isinstance(value, int) and not _LOWEST <= value <= _HIGHEST else value


def _of_numbers(calculation: Callable[..., Constant]) -> Callable[..., Constant | None]:
    """The calculation, without a result for texts: Python would repeat, join or compare them."""

    def calculate(*values: Constant) -> Constant | None:
        return None if any(isinstance(value, str) for value in values) else calculation(*values)

    return calculate


def _quotient(a: int, b: int) -> int:
    """intDiv of integers: the fraction is cut off, also below zero."""
    whole = abs(a) // abs(b)
    return whole if (a < 0) == (b < 0) else -whole


def _integer_quotient(a: Constant, b: Constant) -> Constant | None:
    return _quotient(a, b) if isinstance(a, int) and isinstance(b, int) else None


def _remainder(a: Constant, b: Constant) -> Constant | None:
    return a - b * _quotient(a, b) if isinstance(a, int) and isinstance(b, int) else None


def _joined(*values: Constant) -> Constant | None:
    return "".join(map(str, values)) if all(isinstance(value, str) for value in values) else None


_ADD, _SUBTRACT, _MULTIPLY = _of_numbers(operator.add), _of_numbers(operator.sub), _of_numbers(operator.mul)
_DIVIDE = _of_numbers(operator.truediv)
_OPERATORS: Mapping[type[exp.Expr], Callable[..., Constant | None]] = {
    exp.Add: _ADD,
    exp.Sub: _SUBTRACT,
    exp.Mul: _MULTIPLY,
    exp.Div: _DIVIDE,
    exp.IntDiv: _integer_quotient,
    exp.Mod: _remainder,
    exp.DPipe: _joined,
    exp.EQ: operator.eq,
    exp.NEQ: operator.ne,
    exp.LT: operator.lt,
    exp.LTE: operator.le,
    exp.GT: operator.gt,
    exp.GTE: operator.ge,
    exp.And: _of_numbers(lambda a, b: bool(a) and bool(b)),
    exp.Or: _of_numbers(lambda a, b: bool(a) or bool(b)),
}
_READERS: Mapping[type[exp.Expr], Callable[[Translator, exp.Expr], Constant | None]] = {
    **dict.fromkeys((exp.Paren, exp.Alias), _constant_inside),
    **dict.fromkeys((exp.Literal, exp.Boolean, exp.HexString), _constant_of_literal),
    **dict.fromkeys((exp.Cast, exp.CastToStrType), _constant_of_cast),
    **dict.fromkeys((exp.Subquery, exp.Select), _constant_of_select),
    exp.Neg: _negated_constant,
    **dict.fromkeys((exp.Column, exp.Identifier), _constant_of_alias),
    exp.Anonymous: _constant_of_call,
    exp.If: lambda tr, node: _chosen_constant(tr, [node.this, node.args["true"], node.args["false"]]),
}
_CALCULATIONS: Mapping[str, Callable[..., Constant | None]] = {
    "concat": _joined,
    "plus": _ADD,
    "minus": _SUBTRACT,
    "multiply": _MULTIPLY,
    "divide": _DIVIDE,
    "intDiv": _integer_quotient,
    "modulo": _remainder,
    "negate": _of_numbers(operator.neg),
    "abs": _of_numbers(abs),
    "least": _of_numbers(min),
    "greatest": _of_numbers(max),
}
"""Functions of which the value is the one that Python computes."""
