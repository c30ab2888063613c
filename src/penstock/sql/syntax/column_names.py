"""The name that ClickHouse gives to a result column without an alias: `count()`, `plus(a, 1)`, `sum(x) OVER (…)`.

In: a node of the syntax tree. Out: the name as ClickHouse's IAST::getColumnName writes it: operators as functions,
casts as CAST(x, 'Type'), in windows the direction of each key and both bounds of the frame. Invariant: a plain column
keeps its own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.syntax.tokens import BRACKETS, CALL_MARK
from penstock.sql.syntax.tree import call_name, call_parts, filter_as_if
from penstock.sql.syntax.written_types import WRITTEN

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "plus",
    exp.Sub: "minus",
    exp.Mul: "multiply",
    exp.Div: "divide",
    exp.Mod: "modulo",
    exp.IntDiv: "intDiv",
    exp.EQ: "equals",
    exp.NEQ: "notEquals",
    exp.LT: "less",
    exp.LTE: "lessOrEquals",
    exp.GT: "greater",
    exp.GTE: "greaterOrEquals",
    exp.And: "and",
    exp.Or: "or",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.DPipe: "concat",
    exp.NullSafeEQ: "isNotDistinctFrom",
    exp.NullSafeNEQ: "isDistinctFrom",
}


EXTRACT_FUNCTIONS = {
    "YEAR": "toYear",
    "QUARTER": "toQuarter",
    "MONTH": "toMonth",
    "DAY": "toDayOfMonth",
    "HOUR": "toHour",
    "MINUTE": "toMinute",
    "SECOND": "toSecond",
    "WEEK": "toISOWeek",
    "EPOCH": "toUnixTimestamp",
    "DOW": "toDayOfWeek",
    "ISODOW": "toDayOfWeek",
    "DOY": "toDayOfYear",
    "ISOYEAR": "toISOYear",
    "MILLISECOND": "toMillisecond",
    "MICROSECOND": "toMicrosecond",
}
"""The functions that EXTRACT(part FROM time) means."""
EXTRACT_MODES = {"DOW": 2}
"""The second argument of those that have one: a week that begins with Sunday as 0."""
_SHIFTS = {
    **dict.fromkeys(("date_add", "dateadd", "timestamp_add", "timestampadd"), "plus"),
    **dict.fromkeys(("date_sub", "datesub", "timestamp_sub", "timestampsub"), "minus"),
}
_DIFFERENCES = ("datediff", "date_diff", "timestampdiff", "timestamp_diff")
_CONSTRUCTORS: Mapping[str, tuple[str, str]] = {"tuple": ("(", ")"), "array": ("[", "]")}
"""Calls that are written as the brackets that mean the same."""
_SEPARATING = ("groupconcat", "group_concat", "string_agg")
"""Aggregates whose second argument ClickHouse's parser makes a parameter."""
_PARSED = {"substring": "substring", "position": "position", "ltrim": "trimLeft", "rtrim": "trimRight"}
"""Names in lower and upper case that ClickHouse's parser reads as one function, and its name."""


def column_name(node: exp.Expr) -> str:
    """The name of a column of the result."""
    match node:
        case exp.Column():
            return _qualified_name(node) if _is_tuple_place(node) or is_float_word(node) else node.name
        case exp.Alias():
            return node.alias
        case exp.Paren():
            return column_name(node.this)
        case _:
            return _expression_name(node)


def _expression_name(node: exp.Expr | None) -> str:
    """An expression inside another, as ClickHouse writes it; '' where the tree has none."""
    if not isinstance(node, exp.Expr):
        return ""
    if isinstance(node, (exp.And, exp.Or, exp.DPipe)):
        return f"{_OPERATORS[type(node)]}({', '.join(_chain_operands(node))})"
    if type(node) in _OPERATORS:
        name = f"not{_OPERATORS[type(node)].capitalize()}" if node.args.get("negate") else _OPERATORS[type(node)]
        return f"{name.replace('Ilike', 'ILike')}({_expression_name(node.this)}, {_expression_name(node.expression)})"
    writer = _WRITERS.get(type(node))
    return writer(node) if writer is not None else node.sql(dialect="clickhouse").replace(CALL_MARK, "")


def _literal_name(node: exp.Expr) -> str:
    return f"'{node.name.translate(_ESCAPED)}'" if node.args.get("is_string") else _number_name(node.name)


_ESCAPED = str.maketrans(
    {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\b": "\\b", "\f": "\\f"}
)


_FLOAT = re.compile(r"(?=[0-9.]*[.eE])([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?")


def _number_name(written: str) -> str:
    """A float with as few digits as identify it, and a dot after a whole one; an integer in decimal."""
    if not _FLOAT.fullmatch(written):
        number = parse_whole_number(written)
        return written if number is None else str(number)
    value = float(written)
    if value == 0 or 1e-6 <= value < 1e21:
        return f"{Decimal(repr(value)):f}".removesuffix(".0") + ("." if value.is_integer() else "")
    mantissa, _, power = repr(value).partition("e")
    return f"{mantissa}e{int(power)}" if power else written


def _extract_name(node: exp.Expr) -> str:
    part = node.name.upper()
    mode = f", {EXTRACT_MODES[part]}" if part in EXTRACT_MODES else ""
    return f"{EXTRACT_FUNCTIONS.get(part, '')}({_expression_name(node.expression)}{mode})"


def _negative_name(node: exp.Expr) -> str:
    name = _expression_name(node.this)
    if isinstance(node.this, (exp.Literal, exp.HexString)) or is_float_word(node.this):
        return name if name in ("0", "nan") else f"-{name}"
    return f"negate({name})"


def is_float_word(node: exp.Expr) -> bool:
    """Whether a bare name is one of the words for NaN and infinity."""
    bare = isinstance(node, exp.Column) and not node.text("table") and not node.this.args.get("quoted")
    return bare and node.name.lower() in ("nan", "inf", "infinity")


def _list_name(node: exp.Expr) -> str:
    """An array or tuple. One of literals is a literal itself, in which a truth is 1 and all numbers of an array are
    floats if one is."""
    if _is_literal(node):
        return _constant_name(node, floats=False)
    names = ", ".join(map(_expression_name, node.expressions))
    return f"[{names}]" if isinstance(node, exp.Array) else f"({names})"


def _is_literal(node: exp.Expr) -> bool:
    inner = node.this if isinstance(node, (exp.Neg, exp.Paren)) else node
    if isinstance(inner, (exp.Array, exp.Tuple)):
        return all(map(_is_literal, inner.expressions))
    return isinstance(inner, (exp.Literal, exp.HexString, exp.Boolean, exp.Null)) or is_float_word(inner)


def _constant_name(node: exp.Expr, *, floats: bool) -> str:
    match node:
        case exp.Paren():
            return _constant_name(node.this, floats=floats)
        case exp.Boolean():
            return "1" if node.this else "0"
        case exp.Array():
            floats = floats or _holds_float(node)
            return f"[{', '.join(_constant_name(each, floats=floats) for each in node.expressions)}]"
        case exp.Tuple():
            return f"({', '.join(_constant_name(each, floats=False) for each in node.expressions)})"
        case _:
            name = _expression_name(node)
            return f"{name}." if floats and name.removeprefix("-").isdigit() else name


def _holds_float(node: exp.Expr) -> bool:
    """Whether an array of literals, or an array in it, holds a float."""
    if isinstance(node, exp.Array):
        return any(map(_holds_float, node.expressions))
    if isinstance(node, (exp.Neg, exp.Paren)):
        return _holds_float(node.this)
    number = isinstance(node, exp.Literal) and not node.args.get("is_string")
    return is_float_word(node) or (number and bool(_FLOAT.fullmatch(node.name)))


def _not_name(node: exp.Expr) -> str:
    inner = node.this
    match inner:
        case exp.In():
            return _in_name(inner, "notIn")
        case exp.Is():
            return f"isNotNull({_expression_name(inner.this)})"
        case exp.Between():
            return _between_name(inner, "or(less({0}, {1}), greater({0}, {2}))")
        case _:
            return f"not({_expression_name(inner)})"


def _between_name(node: exp.Expr, form: str = "and(greaterOrEquals({0}, {1}), lessOrEquals({0}, {2}))") -> str:
    return form.format(
        _expression_name(node.this), _expression_name(node.args["low"]), _expression_name(node.args["high"])
    )


def _chain_operands(node: exp.Expr) -> list[str]:
    """The operands of a chain of AND, OR or `||`."""
    left = _chain_operands(node.this) if type(node.this) is type(node) else [_expression_name(node.this)]
    return [*left, _expression_name(node.expression)]


def _case_name(node: exp.Expr) -> str:
    name, first = ("multiIf", []) if node.this is None else ("caseWithExpression", [node.this])
    pairs = [each for branch in node.args["ifs"] for each in (branch.this, branch.args["true"])]
    last = node.args.get("default")
    parts = [*map(_expression_name, [*first, *pairs]), "NULL" if last is None else _expression_name(last)]
    return f"{name}({', '.join(parts)})"


def _ternary_name(node: exp.Expr) -> str:
    parts = (node.this, node.args["true"], node.args["false"])
    return f"if({', '.join(map(_expression_name, parts))})"


def _lambda_name(node: exp.Expr) -> str:
    return f"lambda(tuple({', '.join(each.name for each in node.expressions)}), {_expression_name(node.this)})"


def _is_tuple_place(node: exp.Expr) -> bool:
    """Whether a node that sqlglot reads as a table's column is an element of a tuple, as in `x.1`."""
    return bool(node.text("table")) and node.name.isdigit() and not node.this.args.get("quoted")


def _qualified_name(node: exp.Expr) -> str:
    if is_float_word(node):
        return "nan" if node.name.lower() == "nan" else "inf"
    if _is_tuple_place(node):
        return f"tupleElement({node.text('table')}, {node.name})"
    return f"{node.text('table')}.{node.name}" if node.text("table") else node.name


def _bases(node: exp.Expr) -> Iterator[exp.Expr]:
    """What stands before the dots of `a.b.c`, from the last dot on."""
    while isinstance(node, exp.Dot):
        node = node.this
        yield node


def _dot_name(node: exp.Expr) -> str:
    place = node.expression
    if isinstance(place, exp.Literal) and not place.args.get("is_string"):
        return f"tupleElement({_expression_name(node.this)}, {place.name})"
    base = next((each for each in _bases(node) if not isinstance(each, exp.Dot)), None)
    if isinstance(base, exp.JSONCast):
        return f"{_expression_name(node.this)}.{place.name}"
    if isinstance(base, (exp.Column, exp.Identifier)):
        return node.sql(dialect="clickhouse").replace(CALL_MARK, "")
    return f"tupleElement({_expression_name(node.this)}, '{place.name}')"


def path_steps(names: Sequence[str]) -> list[str]:
    """The names after that of a column, one by one: sqlglot reads `.2.1` and `.2.name` as one."""
    return [step for name in names for step in (name.split(".") if name[:1].isdigit() else [name])]


def _in_name(node: exp.Expr, name: str = "in") -> str:
    """`x IN (…)`: a single element is written without parentheses."""
    field, given = node.args.get("field"), node.expressions
    if node.args.get("query") is not None:
        return node.sql(dialect="clickhouse").replace(CALL_MARK, "")
    if field is None and (not given or node.meta.get(BRACKETS)):
        brackets: type[exp.Expr] = exp.Array if node.meta.get(BRACKETS) else exp.Tuple
        whole = brackets(expressions=[each.copy() for each in given])
        return f"{name}({_expression_name(node.this)}, {_expression_name(whole)})"
    listed = [field] if field is not None else given
    whole = listed[0] if len(listed) == 1 else exp.Tuple(expressions=[each.copy() for each in listed])
    shown = _expression_name(whole)
    return f"{name}({_expression_name(node.this)}, {shown})"


def place_before_offset(node: exp.Expr) -> exp.Expr | None:
    """What is written in brackets, if sqlglot has added -1 to it: a number that has no place in the text."""
    offset = node.expression if isinstance(node, exp.Add) else None
    return node.this if isinstance(offset, exp.Neg) and offset.this.meta.get("start") is None else None


def _array_place(node: exp.Expr) -> str:
    """A place in an array as it was written: sqlglot has subtracted 1 from a literal one."""
    computed = place_before_offset(node)
    if computed is not None:
        return _expression_name(computed)
    negative = isinstance(node, exp.Neg)
    literal = node.this if negative else node
    number = parse_whole_number(literal.name) if isinstance(literal, exp.Literal) else None
    if number is None or (literal.args.get("is_string") and not negative):
        return _expression_name(node)
    return str(1 - number if negative else number + 1)


def _cast_name(node: exp.Expr) -> str:
    to = node.args["to"]
    name = to.name if isinstance(to, exp.Literal) else node.meta.get(WRITTEN) or _type_name(to)
    escaped = name.replace("'", "\\'")
    return f"CAST({_expression_name(node.this)}, '{escaped}')"


def _type_name(of: exp.Expr) -> str:
    return of.sql(dialect="clickhouse").replace("DATE", "Date")


def _json_type_name(node: exp.Expr) -> str:
    name = node.args["to"].sql(dialect="clickhouse")
    return f"{_expression_name(node.this)}.:`{'Date' if name == 'DATE' else name}`"


def _interval_name(unit: str, amount: exp.Expr) -> str:
    name = unit.lower().removesuffix("s").capitalize()
    return f"toInterval{name}({_amount_name(amount) if isinstance(amount, exp.Literal) else _expression_name(amount)})"


def _amount_name(literal: exp.Literal) -> str:
    """sqlglot reads INTERVAL 3 DAY and INTERVAL '3' DAY alike, but for where they end in the text."""
    start, end = (literal.meta.get(each) for each in ("start", "end"))
    is_quoted = start is not None and end is not None and end - start + 1 == len(literal.name) + 2
    return f"'{literal.name}'" if is_quoted else literal.name


def _trim_name(node: exp.Expr) -> str:
    sides = {"LEADING": "trimLeft", "TRAILING": "trimRight"}
    name = sides.get(str(node.args.get("position") or "").upper(), "trimBoth")
    given = [node.this, *([node.expression] if node.args.get("expression") is not None else [])]
    return f"{name}({', '.join(map(_expression_name, given))})"


def _date_call_name(node: exp.Expr) -> str | None:
    """The name of a call that ClickHouse's parser replaces: date_add(DAY, 1, d) is plus(d, toIntervalDay(1))."""
    name, (_, arguments) = (call_name(node) or "").lower(), call_parts(node)
    if name in _SHIFTS and len(arguments) == 2:
        return f"{_SHIFTS[name]}({', '.join(map(_expression_name, arguments))})"
    if name in _SHIFTS and len(arguments) == 3:
        step = _interval_name(arguments[0].name, arguments[1])
        return f"{_SHIFTS[name]}({_expression_name(arguments[2])}, {step})"
    if name in _DIFFERENCES and len(arguments) > 2:
        bare = isinstance(arguments[0], exp.Column)
        unit = f"'{arguments[0].name.lower()}'" if bare else _expression_name(arguments[0])
        return f"dateDiff({', '.join([unit, *map(_expression_name, arguments[1:])])})"
    return None


def _written_call(node: exp.Expr) -> str:
    replaced = _date_call_name(node)
    if replaced is not None:
        return replaced
    parameters, arguments = call_parts(node)
    if (call_name(node) or "").lower() in _SEPARATING and len(arguments) == 2 and not parameters:
        parameters, arguments = arguments[1:], arguments[:1]
    if call_name(node) in ("array", "tuple") and arguments:
        names = ", ".join(map(_expression_name, arguments))
        return f"[{names}]" if call_name(node) == "array" else f"({names})"
    given = f"({', '.join(map(_expression_name, parameters))})" if parameters else ""
    name = call_name(node)
    if name is not None:
        name = _PARSED.get(name.lower(), name)
    if name is not None and name.lower() == "count" and len(arguments) == 1 and isinstance(arguments[0], exp.Star):
        arguments = []
    if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
        name, arguments = f"{name}Distinct", list(arguments[0].expressions)
    opening, closing = _CONSTRUCTORS.get(name or "", (f"{name}{given}(", ")"))
    return f"{opening}{', '.join(map(_expression_name, arguments))}{closing}"


_WRITERS: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Column: _qualified_name,
    exp.Alias: lambda node: node.alias,
    exp.Paren: lambda node: _expression_name(node.this),
    exp.Boolean: lambda node: "true" if node.this else "false",
    exp.Is: lambda node: f"isNull({_expression_name(node.this)})",
    exp.Interval: lambda node: _interval_name(node.text("unit"), node.this),
    exp.Extract: _extract_name,
    exp.Trim: _trim_name,
    exp.Bracket: lambda node: f"arrayElement({_expression_name(node.this)}, {_array_place(node.expressions[0])})",
    exp.Array: _list_name,
    exp.Tuple: _list_name,
    exp.HexString: lambda node: str(int(node.name, 16)),
    exp.JSONCast: _json_type_name,
    exp.Cast: _cast_name,
    exp.CastToStrType: _cast_name,
    exp.Literal: _literal_name,
    exp.Not: _not_name,
    exp.In: _in_name,
    exp.Between: _between_name,
    exp.Case: _case_name,
    exp.If: _ternary_name,
    exp.Lambda: _lambda_name,
    exp.Dot: _dot_name,
    exp.Neg: _negative_name,
    exp.Anonymous: _written_call,
    exp.Filter: lambda node: _expression_name(filter_as_if(node)),
    exp.RespectNulls: lambda node: _expression_name(node.this),
    exp.IgnoreNulls: lambda node: _expression_name(node.this),
    exp.Window: lambda node: window_name(node, _expression_name),
}


ExpressionWriter = Callable[[exp.Expr], str]


def window_name(node: exp.Expr, shown: ExpressionWriter) -> str:
    """The name of a window function: the call and its OVER."""
    alias, order, spec = (node.args.get(each) for each in ("alias", "order", "spec"))
    partition = node.args.get("partition_by") or []
    if alias is not None and not partition and order is None and spec is None:
        return f"{shown(node.this)} OVER {alias.name}"
    parts = [alias.name] if alias is not None else []
    if partition:
        parts.append(f"PARTITION BY {', '.join(map(shown, partition))}")
    if order is not None:
        parts.append(f"ORDER BY {', '.join(_key_name(each, shown) for each in order.expressions)}")
    if spec is not None:
        parts.append(_frame_name(spec, shown))
    return f"{shown(node.this)} OVER ({' '.join(parts)})"


def _key_name(node: exp.Expr, shown: ExpressionWriter) -> str:
    direction = "DESC" if node.args.get("desc") else "ASC"
    return f"{shown(node.this)} {direction}{' NULLS FIRST' if node.args.get('nulls_first') else ''}"


def _frame_name(spec: exp.Expr, shown: ExpressionWriter) -> str:
    start = _frame_bound_name(spec.args.get("start"), spec.args.get("start_side"), shown)
    end = _frame_bound_name(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"), shown)
    return f"{spec.args.get('kind')} BETWEEN {start} AND {end}".upper()


def _frame_bound_name(bound: object, side: object, shown: ExpressionWriter) -> str:
    number = shown(bound) if isinstance(bound, exp.Expr) else str(bound)
    return f"{number} {side}" if side else number
