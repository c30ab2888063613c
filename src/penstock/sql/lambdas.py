"""Functions that take a lambda: arrayMap, arrayFilter, arrayExists, arrayAll, arraySort, arraySum …

In: the call's node. Out: `Typed`. Called by special_forms. Invariant: several arrays are walked side by
side, as one array of structs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.functions.array_numbers import ARRAY_FOLDS
from penstock.sql.functions.elements import check_order
from penstock.sql.functions.function import UINT8, UINT32, BadArguments
from penstock.sql.lambda_edges import EDGE_FORMS
from penstock.sql.lambda_walk import Walk, checked, of_array, one_array, takes_lambda
from penstock.sql.map_lambdas import MAP_FORMS
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import value_type, value_zero

Form = Callable[[Translator, exp.Anonymous], Typed]


def _map(tr: Translator, node: exp.Anonymous) -> Typed:
    walk = Walk(tr, node)
    of = walk.body.type
    body = as_spark(walk.body, value_type(of))
    return typed(f"transform({walk.zipped}, {walk.parameter} -> {body})", t.Array(of))


def _filter(tr: Translator, node: exp.Anonymous) -> Typed:
    walk = Walk(tr, node)
    return Typed(walk.first_of(f"filter({walk.zipped}, {walk.test})"), walk.arrays[0].type, walk.arrays[0].spark)


def _tested(template: str, of: Type, spark: str) -> Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        walk = Walk(tr, _with_test(node))
        return Typed(template.format(walk.zipped, walk.test), of, spark)

    return form


def _with_test(node: exp.Anonymous) -> exp.Anonymous:
    """`arrayCount(a)` is `arrayCount(x -> x, a)`."""
    if takes_lambda(node):
        return node
    whole = exp.Lambda(this=exp.to_identifier("x"), expressions=[exp.to_identifier("x")])
    return exp.Anonymous(this=node.this, expressions=[whole, *call_parts(node)[1]])


def _found(place: int, or_null: str) -> Form:
    """The first or the last element that the test holds for."""

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        walk = Walk(tr, node)
        of = of_array(walk.arrays[0])
        found = f"try_element_at({walk.first_of(f'filter({walk.zipped}, {walk.test})')}, {place})"
        if not or_null:
            return typed(f"coalesce({found}, {value_zero(of)})", of)
        if isinstance(t.bare(of), (t.Array, t.Map, t.Tuple)):
            message = f"`{call_name(node)}` of {walk.arrays[0].type} is not supported"
            raise tr.refused(node, "wrong-argument-type", message, "arrayFirst, arrayLast")
        return typed(found, of if t.nullable(of) else t.Nullable(of))

    return form


def _fold(tr: Translator, node: exp.Anonymous) -> Typed:
    """arraySum, arrayMin …: of the array, or of what a lambda makes of it."""
    value = _map(tr, node) if takes_lambda(node) else one_array(tr, node)
    return checked(tr, node, lambda: ARRAY_FOLDS[call_name(node) or ""]([value]))


def _sorted(descending: str) -> Form:
    """By the value, or by what a lambda makes of it; NULLs last either way, equal keys in their order."""

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        if not takes_lambda(node):
            array = one_array(tr, node)
            _check_order(tr, node, of_array(array))
            sql = _sort(array.sql, ("` l`", "` r`"), descending, of_array(array))
            return Typed(sql, array.type, array.spark)
        walk = Walk(tr, node)
        _check_order(tr, node, walk.body.type)
        keyed = f"transform({walk.zipped}, {walk.parameter} -> struct({walk.body.sql} AS k, {walk.parameter} AS v))"
        ordered = _sort(keyed, ("` l`.k", "` r`.k"), descending, walk.body.type)
        values = f"transform({ordered}, ` s` -> ` s`.v)"
        return Typed(walk.first_of(values), walk.arrays[0].type, walk.arrays[0].spark)

    return form


def _check_order(tr: Translator, node: exp.Anonymous, of: Type) -> None:
    try:
        check_order(of)
    except BadArguments as error:
        raise tr.refused(node, "wrong-argument-type", error.message, error.hint) from error


def _sort(array: str, sides: tuple[str, str], descending: str, of: Type) -> str:
    left, right = sides
    a, b = (right, left) if descending else (left, right)
    numbers = ""
    if descending and isinstance(t.bare(of), t.Float):
        numbers = f"WHEN isnan({left}) AND isnan({right}) THEN 0 WHEN isnan({left}) THEN 1 WHEN isnan({right}) THEN -1 "
    return (
        f"array_sort({array}, (` l`, ` r`) -> CASE WHEN {left} IS NULL AND {right} IS NULL THEN 0 "
        f"WHEN {left} IS NULL THEN 1 WHEN {right} IS NULL THEN -1 {numbers}"
        f"WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 ELSE 0 END)"
    )


def _index(last: str) -> Form:
    """The place of the first or the last element that the test holds for; 0 without one."""

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        walk = Walk(tr, node)
        hits = f"transform({walk.zipped}, {walk.test})"
        if not last:
            return Typed(f"CAST(array_position({hits}, true) AS INT)", UINT32, "INT")
        places = f"transform({walk.zipped}, ({walk.parameter}, ` i`) -> if({walk.holds}, ` i` + 1, 0))"
        return Typed(f"coalesce(array_max({places}), 0)", UINT32, "INT")

    return form


LAMBDA_FORMS: Mapping[str, Form] = {
    "arrayMap": _map,
    "arrayFilter": _filter,
    "arrayExists": _tested("exists({0}, {1})", UINT8, "BOOLEAN"),
    "arrayAll": _tested("forall({0}, {1})", UINT8, "BOOLEAN"),
    "arrayCount": _tested("size(filter({0}, {1}))", UINT32, "INT"),
    "arrayFirst": _found(1, ""),
    "arrayFirstOrNull": _found(1, "or null"),
    "arrayLast": _found(-1, ""),
    "arrayLastOrNull": _found(-1, "or null"),
    "arrayFirstIndex": _index(""),
    "arrayLastIndex": _index("last"),
    "arraySort": _sorted(""),
    "arrayReverseSort": _sorted("descending"),
    **dict.fromkeys(ARRAY_FOLDS, _fold),
    **EDGE_FORMS,
    **MAP_FORMS,
}
