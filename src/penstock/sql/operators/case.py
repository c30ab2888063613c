"""CASE, with or without an operand.

In: nodes. Out: the value of the first WHEN that holds. Invariant: of an operand, NULL equals NULL; where each WHEN and
THEN is constant, ClickHouse looks the operand up in a hash table, in which values of other types are never found, nor
-0.0 as 0.0: what is not equal there is not equal here, or refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type, unwrap_type
from penstock.sql.compiler.constants import known_constant
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.bind_once import bind_if_long
from penstock.sql.expr.typed import NEVER, NOTHING, NULL, TypedSql, boolean, is_null
from penstock.sql.operators.comparisons import compare, compare_null_safe
from penstock.sql.operators.decimals_of_literals import decimal_of_literal
from penstock.sql.operators.logic import choose_value

_NUMBERS = (t.Int, t.Float, t.Decimal, t.Bool)
_ZERO = re.compile(r"(?<![0-9.])0\.0D")
"""A Float literal that is 0."""


def translate_case(tr: Translator, node: exp.Expr) -> TypedSql:
    """A node of CASE. Raises Refused."""
    branches = node.args["ifs"]
    whens, values = (
        [tr.translate(each.this) for each in branches],
        [tr.translate(each.args["true"]) for each in branches],
    )
    last = tr.translate(node.args["default"]) if node.args.get("default") is not None else NULL
    tests = whens if node.this is None else _tests_of_operand(tr, node, whens, values)
    return choose_value(tr, node, tests, [*values, last])


def _tests_of_operand(
    tr: Translator, node: exp.Expr, whens: Sequence[TypedSql], values: Sequence[TypedSql]
) -> list[TypedSql]:
    """The conditions of the WHENs of an operand. Columns are in backquotes in Spark SQL."""
    operand, places = tr.translate(node.this), [each.this for each in node.args["ifs"]]
    if any("`" in each.sql for each in (*whens, *values)):
        return [_compare(tr, place, operand, when) for place, when in zip(places, whens, strict=True)]
    if isinstance(operand.bare, t.Decimal) and any(isinstance(each.bare, t.Float) for each in whens):
        return [_look_up_decimal(tr, place, operand, when) for place, when in zip(places, whens, strict=True)]
    return [_look_up(tr, place, operand, when) for place, when in zip(places, whens, strict=True)]


def _look_up_decimal(tr: Translator, place: exp.Expr, operand: TypedSql, when: TypedSql) -> TypedSql:
    """The condition of a constant WHEN of a Decimal, to whose type a Float is converted."""
    if not isinstance(when.bare, t.Float) or not isinstance(operand.bare, t.Decimal):
        return _compare(tr, place, operand, when)
    constant = known_constant(tr, place)
    if constant is None:
        message = f"CASE of {operand.type} WHEN a computed {when.type} is not supported"
        raise tr.refusal(place, "no-common-type", message, f"cast it to {operand.bare}")
    found = decimal_of_literal(tr, place, constant, operand.bare)
    return boolean(NEVER) if found is None else _compare(tr, place, operand, found)


def _look_up(tr: Translator, place: exp.Expr, operand: TypedSql, when: TypedSql) -> TypedSql:
    """The condition of a constant WHEN. Raises Refused for nested values that are equal only once they are
    converted."""
    if isinstance(operand.bare, (t.Array, t.Tuple)) and not is_null(when):
        zero = t.has_part(operand.type, t.Float) and _ZERO.search(when.sql) is not None
        if zero or not _are_found(operand.type, when.type):
            message = f"CASE of {operand.type} WHEN {when.type} is not supported: ClickHouse does not convert them"
            raise tr.refusal(place, "no-common-type", message, "CASE WHEN … = … THEN")
    if isinstance(operand.bare, t.Int) and isinstance(when.constant, float) and not math.isfinite(when.constant):
        raise tr.refusal(place, "invalid-literal", f"{when.constant} is no value of {operand.type}")
    if isinstance(operand.bare, t.Decimal) and _is_too_large(when.constant, operand.bare):
        raise tr.refusal(place, "invalid-literal", f"{when.constant} does not fit into {operand.bare}")
    found = _compare(tr, place, operand, when)
    if not isinstance(operand.bare, t.Float) or when.constant is None or when.constant != 0:
        return found
    sign = "-" if str(when.constant).startswith("-") else ""
    own = bind_if_long(operand.sql, lambda x: f"({x} = 0 AND CAST({x} AS STRING) = '{sign}0.0')")
    return boolean(own, operand)


def _is_too_large(number: object, of: t.Decimal) -> bool:
    """Whether an integer needs more bits than ClickHouse has for the digits of a Decimal."""
    bits = next(bits for most, bits in ((9, 32), (18, 64), (38, 128), (76, 256)) if of.precision <= most)
    return isinstance(number, int) and not -(2 ** (bits - 1)) <= number * 10**of.scale < 2 ** (bits - 1)


def _are_found(have: Type, wanted: Type) -> bool:
    """Whether ClickHouse holds the parts of two nested types as values of one kind."""
    a, b = unwrap_type(have), unwrap_type(wanted)
    match a, b:
        case (t.Array(one), t.Array(other)):
            return _are_found(one, other)
        case (t.Tuple(fields), t.Tuple(others)):
            return len(fields) == len(others) and all(
                _are_found(x, y) for (_, x), (_, y) in zip(fields, others, strict=True)
            )
        case (t.Int() | t.Bool(), t.Int() | t.Bool()):
            return (isinstance(a, t.Int) and a.signed) == (isinstance(b, t.Int) and b.signed)
        case (t.Float(), t.Float()) | (t.String(), t.String()) | (t.DateTime(), t.DateTime()):
            return True
        case _:
            return a == b or NOTHING in (a, b)


def _compare(tr: Translator, node: exp.Expr, operand: TypedSql, wanted: TypedSql) -> TypedSql:
    """The condition of a WHEN of an operand. Raises Refused for types between which `=` converts and CASE does not."""
    pair = (operand, wanted)
    if not any(map(is_null, pair)) and not _are_compared(*pair):
        message = f"CASE of {pair[0].type} WHEN {pair[1].type} is not supported: ClickHouse does not convert them"
        raise tr.refusal(node, "no-common-type", message, f"cast it: `WHEN CAST(… AS {pair[0].bare})`")
    nested = isinstance(pair[0].bare, (t.Array, t.Tuple))
    if nested or all(value.nullable or is_null(value) for value in pair) or is_null(pair[1]):
        return compare_null_safe(tr, node, pair)
    return compare(tr, node, "=", pair)


def _are_compared(left: TypedSql, right: TypedSql) -> bool:
    a, b = left.bare, right.bare
    if isinstance(a, t.FixedString) and isinstance(right.constant, str):
        return len(right.constant.encode()) == a.length
    if isinstance(a, _NUMBERS) and isinstance(b, _NUMBERS):
        return True
    if isinstance(a, t.Dynamic) or isinstance(b, t.Dynamic):
        return True
    texts = isinstance(a, (t.String, t.Enum)) and isinstance(b, (t.String, t.Enum))
    return texts or a == b or (isinstance(a, (t.Array, t.Tuple)) and type(a) is type(b))
