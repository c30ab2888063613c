"""Tuples of numbers as vectors: L1Norm, L2Distance, cosineDistance, L2Normalize and their like.

`VECTOR_FORMS` has what a function of arrays does with tuples, by its name; `NORMALIZING_FORMS` the functions of tuples
alone. Invariant: each step is the operator or the function that ClickHouse takes for it, so that the type of a result
and where it wraps around are ClickHouse's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import TypeAlias

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.calls.lambda_arguments import build_or_refuse
from penstock.sql.calls.tuples import dot_product, element_pairs, elements_of, sum_values
from penstock.sql.compiler.translator import SpecialForm, Translator, call_arguments
from penstock.sql.expr.typed import TypedSql, typed_sql
from penstock.sql.functions.table import find_function
from penstock.sql.operators import arithmetic
from penstock.sql.operators.literals import make_tuple

VectorForm: TypeAlias = Callable[[Translator, exp.Expr, Sequence[TypedSql]], TypedSql]
"""Takes the call and its arguments, of which the first is a tuple. Raises Refused."""
_ONE = typed_sql("1", t.Int(8, signed=False))


def _apply(tr: Translator, node: exp.Expr, name: str, *values: TypedSql) -> TypedSql:
    function = find_function(name)
    assert function is not None, "each step is a function of the table"
    return build_or_refuse(tr, node, lambda: function.build(values))


def _fields(tr: Translator, node: exp.Expr, value: TypedSql) -> list[TypedSql]:
    """The elements, which must be numbers. Raises Refused."""
    found = elements_of(tr, node, value)
    for each in found:
        if not isinstance(each.bare, (t.Int, t.Float, t.Decimal)) or each.nullable:
            raise tr.refusal(node, "wrong-argument-type", f"a vector with an element of {each.type} is not supported")
    return found


def _sizes(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql]) -> list[TypedSql]:
    return [_apply(tr, node, "abs", each) for each in fields]


def _l1(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql]) -> TypedSql:
    return sum_values(tr, node, _sizes(tr, node, fields))


def _l2_squared(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql]) -> TypedSql:
    return sum_values(tr, node, [arithmetic.apply_operator(tr, node, "*", (each, each)) for each in fields])


def _l2(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql]) -> TypedSql:
    return _apply(tr, node, "sqrt", _l2_squared(tr, node, fields))


def _linf(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql]) -> TypedSql:
    return reduce(partial(_apply, tr, node, "max2"), _sizes(tr, node, fields))


_NORMS: Mapping[str, VectorForm] = {"L1": _l1, "L2": _l2, "L2Squared": _l2_squared, "Linf": _linf}


def _lp(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql], power: TypedSql) -> TypedSql:
    number = power.constant
    if isinstance(number, bool) or not isinstance(number, (int, float)) or not 1 <= number < 1e9:
        raise tr.refusal(node, "wrong-argument-type", "the power must be a literal number from 1")
    raised = [_apply(tr, node, "pow", each, power) for each in _sizes(tr, node, fields)]
    return _apply(tr, node, "pow", sum_values(tr, node, raised), typed_sql(f"{1 / number!r}D", t.Float(64)))


def _norm_form(norm: VectorForm) -> VectorForm:
    def form(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
        return norm(tr, node, _fields(tr, node, values[0]))

    return form


def _differences(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> list[TypedSql]:
    for each in values[:2]:
        _fields(tr, node, each)
    pairs = element_pairs(tr, node, values[:2])
    return [arithmetic.apply_operator(tr, node, "-", pair) for pair in pairs]


def _distance_form(norm: VectorForm) -> VectorForm:
    def form(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
        return norm(tr, node, _differences(tr, node, values))

    return form


def _power_norm(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
    return _lp(tr, node, _fields(tr, node, values[0]), values[1])


def _power_distance(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
    return _lp(tr, node, _differences(tr, node, values), values[2])


def _cosine_distance(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
    """1 - cosine of the angle between two vectors."""
    lengths = (_l2(tr, node, _fields(tr, node, each)) for each in values)
    under = reduce(lambda a, b: arithmetic.apply_operator(tr, node, "*", (a, b)), lengths)
    cosine = arithmetic.apply_operator(tr, node, "/", (dot_product(tr, node, values), under))
    return arithmetic.apply_operator(tr, node, "-", (_ONE, cosine))


VECTOR_FORMS: Mapping[str, VectorForm] = {
    **{f"{kind}Norm": _norm_form(norm) for kind, norm in _NORMS.items()},
    **{f"{kind}Distance": _distance_form(norm) for kind, norm in _NORMS.items()},
    "LpNorm": _power_norm,
    "LpDistance": _power_distance,
    "cosineDistance": _cosine_distance,
}


def _divided(tr: Translator, node: exp.Expr, fields: Sequence[TypedSql], length: TypedSql) -> TypedSql:
    return make_tuple([arithmetic.apply_operator(tr, node, "/", (each, length)) for each in fields])


def _normalizing_form(norm: VectorForm) -> SpecialForm:
    """Each element divided by the length of the vector."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        (value,) = tr.translate_all(call_arguments(tr, node, 1, 1))
        fields = _fields(tr, node, value)
        return _divided(tr, node, fields, norm(tr, node, fields))

    return form


def _normalize_by_power(tr: Translator, node: exp.Anonymous) -> TypedSql:
    value, power = tr.translate_all(call_arguments(tr, node, 2, 2))
    fields = _fields(tr, node, value)
    return _divided(tr, node, fields, _lp(tr, node, fields, power))


_NORMALIZING = {kind: _normalizing_form(norm) for kind, norm in _NORMS.items() if kind != "L2Squared"}
_BY_KIND = {**_NORMALIZING, "Lp": _normalize_by_power}
NORMALIZING_FORMS: Mapping[str, SpecialForm] = {
    **{f"{kind}Normalize": form for kind, form in _BY_KIND.items()},
    **{f"normalize{kind}": form for kind, form in _BY_KIND.items()},
}
