"""Functions of tuples: arithmetic element by element, concatenation, names of the elements, access with a default.

`TUPLE_FORMS` maps each name to its `SpecialForm`. Invariant: each pair of elements goes through the operator itself, so
that the types of the result are those that ClickHouse gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.calls.lambda_arguments import build_or_refuse
from penstock.sql.compiler.translator import SpecialForm, Translator, call_arguments
from penstock.sql.expr.typed import TypedSql, text, typed_sql
from penstock.sql.functions.table import find_function
from penstock.sql.operators import arithmetic, comparisons
from penstock.sql.operators.literals import make_tuple, negate
from penstock.sql.operators.names import tuple_element
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.sql.syntax.tree import call_name


def elements_of(tr: Translator, node: exp.Expr, value: TypedSql) -> list[TypedSql]:
    """The elements of a tuple as values. Raises Refused for any other type."""
    of = value.bare
    if not isinstance(of, t.Tuple) or not of.fields or value.nullable:
        raise tr.refusal(node, "wrong-argument-type", f"expected a Tuple, this is {value.type}")
    named = ((name or f"_{place}", inner) for place, (name, inner) in enumerate(of.fields, 1))
    return [typed_sql(f"{value.sql}.{quote_identifier(name)}", inner) for name, inner in named]


def element_pairs(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> list[tuple[TypedSql, TypedSql]]:
    """The elements of two tuples, side by side. Raises Refused for tuples of different sizes."""
    left, right = (elements_of(tr, node, value) for value in values)
    if len(left) != len(right):
        raise tr.refusal(node, "wrong-argument-type", "the tuples must have the same number of elements")
    return list(zip(left, right, strict=True))


def _element_wise_form(symbol: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        values = tr.translate_all(call_arguments(tr, node, 2, 2))
        pairs = element_pairs(tr, node, values)
        return make_tuple([arithmetic.apply_operator(tr, node, symbol, pair) for pair in pairs])

    return form


def _scalar_form(symbol: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        value, number = tr.translate_all(call_arguments(tr, node, 2, 2))
        if not isinstance(number.bare, (t.Int, t.Float, t.Decimal)):
            raise tr.refusal(node, "wrong-argument-type", f"`{call_name(node)}` needs a number, this is {number.type}")
        if number.nullable:
            message = f"`{call_name(node)}` by a Nullable number is not supported"
            raise tr.refusal(node, "wrong-argument-type", message, "ifNull(…, 0), or (a.1 / n, a.2 / n)")
        fields = elements_of(tr, node, value)
        return make_tuple([arithmetic.apply_operator(tr, node, symbol, (field, number)) for field in fields])

    return form


def _negate_elements(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (value,) = tr.translate_all(call_arguments(tr, node, 1, 1))
    found = [negate(field) for field in elements_of(tr, node, value)]
    elements = [element for element in found if element is not None]
    if len(elements) < len(found):
        raise tr.refusal(node, "wrong-argument-type", f"the elements of {value.type} cannot be negated")
    return make_tuple(elements)


def _concatenate_tuples(tr: Translator, node: exp.Anonymous) -> TypedSql:
    values = tr.translate_all(call_arguments(tr, node, 1, 64))
    return make_tuple([field for value in values for field in elements_of(tr, node, value)])


def sum_values(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
    """The values, added to each other in their order."""
    return reduce(lambda a, b: arithmetic.apply_operator(tr, node, "+", (a, b)), values)


def _hamming_distance(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """tupleHammingDistance: how many elements differ. It is a sum of UInt8, whose type grows with the number of
    elements."""
    pairs = element_pairs(tr, node, tr.translate_all(call_arguments(tr, node, 2, 2)))
    return sum_values(tr, node, [comparisons.compare(tr, node, "<>", pair) for pair in pairs])


def dot_product(tr: Translator, node: exp.Expr, values: Sequence[TypedSql]) -> TypedSql:
    """The sum of the products of the elements of two tuples. Raises Refused."""
    pairs = element_pairs(tr, node, values)
    return sum_values(tr, node, [arithmetic.apply_operator(tr, node, "*", pair) for pair in pairs])


def _dot_product(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """dotProduct of two tuples, or of two arrays."""
    values = tr.translate_all(call_arguments(tr, node, 2, 2))
    of_arrays = find_function("arrayDotProduct")
    if of_arrays is not None and all(isinstance(value.bare, t.Array) for value in values):
        return build_or_refuse(tr, node, lambda: of_arrays.build(values))
    return dot_product(tr, node, values)


def _tuple_names(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (value,) = tr.translate_all(call_arguments(tr, node, 1, 1))
    names = ", ".join(string_literal(name) for name in _field_names(tr, node, value))
    return typed_sql(f"array({names})", t.Array(t.String()))


def _field_names(tr: Translator, node: exp.Expr, value: TypedSql) -> list[str]:
    elements_of(tr, node, value)
    assert isinstance(value.bare, t.Tuple)
    return [name or str(place) for place, (name, _) in enumerate(value.bare.fields, 1)]


def _name_value_pairs(tr: Translator, node: exp.Anonymous) -> TypedSql:
    (value,) = tr.translate_all(call_arguments(tr, node, 1, 1))
    fields = elements_of(tr, node, value)
    if any(field.type != fields[0].type for field in fields):
        raise tr.refusal(node, "wrong-argument-type", "all elements of the tuple must be of one type")
    pairs = (make_tuple([text(name), field]) for name, field in zip(_field_names(tr, node, value), fields, strict=True))
    of = t.Array(t.Tuple(((None, t.String()), (None, fields[0].type))))
    return typed_sql(f"array({', '.join(pair.sql for pair in pairs)})", of)


def _tuple_element(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """tupleElement(tuple, 1), with a negative index from the end, or tupleElement(tuple, 'name'); a third argument is
    the default."""
    value_node, place, *others = call_arguments(tr, node, 2, 3)
    value, step = tr.translate(value_node), tr.translate(place).constant
    if not isinstance(step, (int, str)) or isinstance(step, bool):
        raise tr.refusal(place, "wrong-argument-type", "expected a literal name or index here")
    of = value.bare
    if isinstance(step, int) and step < 0 and isinstance(of, t.Tuple) and -step <= len(of.fields):
        step += len(of.fields) + 1
    if others and isinstance(of, t.Tuple) and not _has_field(of, step):
        return tr.translate(others[0])
    return tuple_element(tr, node, value, str(step))


def _subcolumn(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """getSubcolumn(tuple, 'a.b'): an element by its path. Other types have other subcolumns, which are refused."""
    value_node, path = call_arguments(tr, node, 2, 2)
    value, name = tr.translate(value_node), tr.translate(path).constant
    if not isinstance(name, str):
        raise tr.refusal(path, "wrong-argument-type", "expected the name of an element here", "such as 'a', or 'a.b'")
    for step in name.split("."):
        if not isinstance(value.bare, t.Tuple):
            message = f"`getSubcolumn` takes an element of a Tuple, `{step}` is none of {value.type}"
            raise tr.refusal(node, "wrong-argument-type", message, "mapKeys, mapValues, length, isNull")
        value = tuple_element(tr, node, value, step)
    return value


def _has_field(of: t.Tuple, step: int | str) -> bool:
    if isinstance(step, int):
        return 1 <= step <= len(of.fields)
    return any(name == step for name, _ in of.fields)


TUPLE_FORMS: Mapping[str, SpecialForm] = {
    "tuplePlus": _element_wise_form("+"),
    "vectorSum": _element_wise_form("+"),
    "tupleMinus": _element_wise_form("-"),
    "vectorDifference": _element_wise_form("-"),
    "tupleMultiply": _element_wise_form("*"),
    "tupleDivide": _element_wise_form("/"),
    "tupleModulo": _element_wise_form("%"),
    "tupleIntDiv": _element_wise_form("intDiv"),
    "tupleMultiplyByNumber": _scalar_form("*"),
    "tupleDivideByNumber": _scalar_form("/"),
    "tupleModuloByNumber": _scalar_form("%"),
    "tupleIntDivByNumber": _scalar_form("intDiv"),
    "tupleNegate": _negate_elements,
    "tupleConcat": _concatenate_tuples,
    "tupleHammingDistance": _hamming_distance,
    "dotProduct": _dot_product,
    "scalarProduct": _dot_product,
    "tupleNames": _tuple_names,
    "tupleToNameValuePairs": _name_value_pairs,
    "tupleElement": _tuple_element,
    "getSubcolumn": _subcolumn,
}
