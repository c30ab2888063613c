"""Functions that take a lambda: over arrays (arrayMap, arrayFilter, arraySort, arrayFold …) and maps (mapFilter …).

`LAMBDA_FORMS` maps each name to its `SpecialForm`. Several arrays are traversed side by side, as one array of structs
(see `ArrayLambda`). Functions whose result depends on the elements before (arrayFill, arraySplit, arrayFold) are one
pass of Spark's `aggregate`. The lambda of a map function takes a key and a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.calls.lambda_arguments import (
    ArrayLambda,
    array_arguments,
    build_or_refuse,
    element_type,
    has_lambda,
    lambda_argument,
    single_array,
)
from penstock.sql.compiler.translator import SpecialForm, Translator
from penstock.sql.expr.bind_once import fresh_name
from penstock.sql.expr.spark_types import missing_value, value_type
from penstock.sql.expr.typed import TypedSql, as_condition, as_spark, is_null, typed_sql
from penstock.sql.functions.arguments import check_order, zip_arrays
from penstock.sql.functions.arrays.numeric import ARRAY_FOLDS
from penstock.sql.functions.function import UINT8, UINT32, BadArguments
from penstock.sql.functions.maps import MAP_SORTS
from penstock.sql.spark_text import quote_identifier
from penstock.sql.syntax.tree import call_name, call_parts


def _array_map(tr: Translator, node: exp.Anonymous) -> TypedSql:
    walk = ArrayLambda(tr, node)
    of = walk.body.type
    body = as_spark(walk.body, value_type(of))
    return typed_sql(f"transform({walk.zipped}, {walk.parameter} -> {body})", t.Array(of))


def _array_filter(tr: Translator, node: exp.Anonymous) -> TypedSql:
    walk = ArrayLambda(tr, node)
    return TypedSql(
        walk.first_elements(f"filter({walk.zipped}, {walk.predicate})"), walk.arrays[0].type, walk.arrays[0].spark
    )


def _test_form(template: str, of: Type, spark: str) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        walk = ArrayLambda(tr, _add_identity_lambda(node))
        return TypedSql(template.format(walk.zipped, walk.predicate), of, spark)

    return form


def _add_identity_lambda(node: exp.Anonymous) -> exp.Anonymous:
    """`arrayCount(a)` as `arrayCount(x -> x, a)`."""
    if has_lambda(node):
        return node
    whole = exp.Lambda(this=exp.to_identifier("x"), expressions=[exp.to_identifier("x")])
    return exp.Anonymous(this=node.this, expressions=[whole, *call_parts(node)[1]])


def _find_form(place: int, or_null: str) -> SpecialForm:
    """arrayFirst and arrayLast: the element at `place` (1 the first, -1 the last) among those that pass the test."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        walk = ArrayLambda(tr, node)
        of = element_type(walk.arrays[0])
        found = f"try_element_at({walk.first_elements(f'filter({walk.zipped}, {walk.predicate})')}, {place})"
        if not or_null:
            return typed_sql(f"coalesce({found}, {missing_value(of)})", of)
        if isinstance(t.unwrap_type(of), (t.Array, t.Map, t.Tuple)):
            message = f"`{call_name(node)}` of {walk.arrays[0].type} is not supported"
            raise tr.refusal(node, "wrong-argument-type", message, "arrayFirst, arrayLast")
        return typed_sql(found, of if t.is_nullable(of) else t.Nullable(of))

    return form


def _aggregate_array(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """arraySum, arrayMin … of an array, or of the values that a lambda makes of its elements."""
    value = _array_map(tr, node) if has_lambda(node) else single_array(tr, node)
    return build_or_refuse(tr, node, lambda: ARRAY_FOLDS[call_name(node) or ""]([value]))


def _sort_form(descending: str) -> SpecialForm:
    """arraySort and arrayReverseSort by the element, or by what a lambda makes of it. NULLs come last either way; the
    sort is stable."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        if not has_lambda(node):
            array = single_array(tr, node)
            _check_sortable(tr, node, element_type(array))
            sql = _sort_sql(array.sql, ("` l`", "` r`"), descending, element_type(array))
            return TypedSql(sql, array.type, array.spark)
        walk = ArrayLambda(tr, node)
        _check_sortable(tr, node, walk.body.type)
        keyed = f"transform({walk.zipped}, {walk.parameter} -> struct({walk.body.sql} AS k, {walk.parameter} AS v))"
        ordered = _sort_sql(keyed, ("` l`.k", "` r`.k"), descending, walk.body.type)
        values = f"transform({ordered}, ` s` -> ` s`.v)"
        return TypedSql(walk.first_elements(values), walk.arrays[0].type, walk.arrays[0].spark)

    return form


def _check_sortable(tr: Translator, node: exp.Anonymous, of: Type) -> None:
    try:
        check_order(of)
    except BadArguments as error:
        raise tr.refusal(node, "wrong-argument-type", error.message, error.hint) from error


def _sort_sql(array: str, sides: tuple[str, str], descending: str, of: Type) -> str:
    left, right = sides
    a, b = (right, left) if descending else (left, right)
    numbers = ""
    if descending and isinstance(t.unwrap_type(of), t.Float):
        numbers = f"WHEN isnan({left}) AND isnan({right}) THEN 0 WHEN isnan({left}) THEN 1 WHEN isnan({right}) THEN -1 "
    return (
        f"array_sort({array}, (` l`, ` r`) -> CASE WHEN {left} IS NULL AND {right} IS NULL THEN 0 "
        f"WHEN {left} IS NULL THEN 1 WHEN {right} IS NULL THEN -1 {numbers}"
        f"WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 ELSE 0 END)"
    )


def _index_form(last: str) -> SpecialForm:
    """arrayFirstIndex and arrayLastIndex: the index, from 1, of an element that passes the test; 0 if none does."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        walk = ArrayLambda(tr, node)
        hits = f"transform({walk.zipped}, {walk.predicate})"
        if not last:
            return TypedSql(f"CAST(array_position({hits}, true) AS INT)", UINT32, "INT")
        places = f"transform({walk.zipped}, ({walk.parameter}, ` i`) -> if({walk.body_condition}, ` i` + 1, 0))"
        return TypedSql(f"coalesce(array_max({places}), 0)", UINT32, "INT")

    return form


def _accumulate_form(
    build: Callable[[ArrayLambda, str], str], reverse: str, result: Callable[[t.Type], t.Type]
) -> SpecialForm:
    """A function that builds an array element by element, from the first element on or, with `reverse`, from the
    last."""

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        walk = ArrayLambda(tr, node)
        made = result(element_type(walk.arrays[0]))
        rows = f"reverse({walk.zipped})" if reverse else walk.zipped
        start = f"CAST(array() AS {value_type(made)})"
        sql = f"aggregate({rows}, {start}, (` a`, {walk.parameter}) -> {build(walk, walk.first_element)})"
        return typed_sql(f"reverse({sql})" if reverse else sql, made)

    return form


def _append_or_repeat(walk: ArrayLambda, value: str) -> str:
    """arrayFill: an element that fails the test becomes its predecessor; the first element stays."""
    return f"array_append(` a`, if(size(` a`) = 0 OR {walk.body_condition}, {value}, try_element_at(` a`, -1)))"


def _split_before(walk: ArrayLambda, value: str) -> str:
    """arraySplit: a new array begins before each element that passes the test."""
    rest = "slice(` a`, 1, greatest(size(` a`) - 1, 0))"
    longer = f"concat({rest}, array(array_append(try_element_at(` a`, -1), {value})))"
    return f"if(size(` a`) = 0 OR {walk.body_condition}, array_append(` a`, array({value})), {longer})"


def _split_after(walk: ArrayLambda, value: str) -> str:
    """arrayReverseSplit, from the last element on: an array ends after each element that passes the test."""
    rest = "slice(` a`, 1, greatest(size(` a`) - 1, 0))"
    longer = f"concat({rest}, array(array_prepend(try_element_at(` a`, -1), {value})))"
    return f"if(size(` a`) = 0 OR {walk.body_condition}, array_append(` a`, array({value})), {longer})"


def _array_fold(tr: Translator, node: exp.Anonymous) -> TypedSql:
    """arrayFold((total, x, …) -> …, array, …, start)."""
    function, arguments = lambda_argument(tr, node), call_parts(node)[1]
    names = [each.name for each in function.expressions]
    if len(arguments) < 3 or len(names) != len(arguments) - 1:
        message = f"`{call_name(node)}` takes a lambda of a total and a value of each array, the arrays, and a start"
        raise tr.refusal(node, "wrong-argument-count", message)
    arrays, start = array_arguments(tr, node, arguments[1:-1]), tr.translate(arguments[-1])
    taken = " ".join(each.sql for each in tr.locals.values())
    total, row = fresh_name("f", taken), fresh_name("x", taken)
    known = {names[0]: typed_sql(total, start.type)}
    for place, (name, array) in enumerate(zip(names[1:], arrays, strict=True)):
        known[name] = typed_sql(
            row if len(arrays) == 1 else f"{row}.{quote_identifier(str(place))}", element_type(array)
        )
    body = tr.with_locals(known).translate(function.this)
    if body.type != start.type:
        message = f"the lambda of `arrayFold` gives {body.type}, its start is {start.type}"
        raise tr.refusal(node, "wrong-argument-type", message, "cast the start")
    spark = value_type(start.type)
    rows = arrays[0].sql if len(arrays) == 1 else zip_arrays([array.sql for array in arrays])
    folded = f"({total}, {row}) -> {as_spark(body, spark)}"
    return typed_sql(f"aggregate({rows}, {as_spark(start, spark)}, {folded})", start.type)


_ORDERED_FORMS: Mapping[str, SpecialForm] = {
    "arrayFill": _accumulate_form(_append_or_repeat, "", t.Array),
    "arrayReverseFill": _accumulate_form(_append_or_repeat, "reverse", t.Array),
    "arraySplit": _accumulate_form(_split_before, "", lambda of: t.Array(t.Array(of))),
    "arrayReverseSplit": _accumulate_form(_split_after, "reverse", lambda of: t.Array(t.Array(of))),
    "arrayFold": _array_fold,
}


@dataclass(frozen=True, slots=True)
class _MapLambda:
    """A map, the Spark names of its key and value inside the lambda, and the translated body of the lambda."""

    value: TypedSql
    of: t.Map
    key: str
    item: str
    body: TypedSql

    @property
    def parameters(self) -> str:
        """The parameter list of the Spark lambda."""
        return f"({self.key}, {self.item})"

    @property
    def test(self) -> str:
        """The body as a Spark boolean that is never NULL. Raises BadArguments unless it is UInt8 or Bool."""
        if not is_null(self.body) and self.body.bare not in (UINT8, t.Bool()):
            raise BadArguments(f"the lambda must give UInt8, this is {self.body.type}", "compare it: v != 0")
        return f"coalesce({as_condition(self.body)}, false)"


def _read_map_lambda(tr: Translator, node: exp.Anonymous) -> _MapLambda:
    function, arguments = lambda_argument(tr, node), call_parts(node)[1]
    names = [each.name for each in function.expressions]
    if len(arguments) != 2 or len(names) != 2:
        message = f"`{call_name(node)}` takes a lambda of a key and a value, and a Map"
        raise tr.refusal(node, "wrong-argument-count", message)
    value = tr.translate(arguments[1])
    if not isinstance(value.bare, t.Map):
        raise tr.refusal(arguments[1], "wrong-argument-type", f"`{call_name(node)}` needs a Map, this is {value.type}")
    taken = " ".join(each.sql for each in tr.locals.values())
    key, item = fresh_name("k", taken), fresh_name("w", taken)
    known = {names[0]: typed_sql(key, value.bare.key), names[1]: typed_sql(item, value.bare.value)}
    return _MapLambda(value, value.bare, key, item, tr.with_locals(known).translate(function.this))


def _map_form(build: Callable[[_MapLambda], TypedSql]) -> SpecialForm:
    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        pairs = _read_map_lambda(tr, node)
        return build_or_refuse(tr, node, lambda: build(pairs))

    return form


def _map_filter(pairs: _MapLambda) -> TypedSql:
    return typed_sql(f"map_filter({pairs.value.sql}, {pairs.parameters} -> {pairs.test})", pairs.of)


def _map_exists(pairs: _MapLambda) -> TypedSql:
    return TypedSql(f"(size(map_filter({pairs.value.sql}, {pairs.parameters} -> {pairs.test})) > 0)", UINT8, "BOOLEAN")


def _map_all(pairs: _MapLambda) -> TypedSql:
    return TypedSql(
        f"(size(map_filter({pairs.value.sql}, {pairs.parameters} -> NOT {pairs.test})) = 0)", UINT8, "BOOLEAN"
    )


def _map_apply(pairs: _MapLambda) -> TypedSql:
    of = pairs.body.bare
    if not isinstance(of, t.Tuple) or len(of.fields) != 2 or t.is_nullable(of.fields[0][1]):
        raise BadArguments(f"the lambda of `mapApply` must give a tuple of two values, this is {pairs.body.type}")
    made = f"map_values(transform_values({pairs.value.sql}, {pairs.parameters} -> {pairs.body.sql}))"
    return typed_sql(f"map_from_entries({made})", t.Map(of.fields[0][1], of.fields[1][1]))


def _map_sort_form(descending: str) -> SpecialForm:
    def by_lambda(pairs: _MapLambda) -> TypedSql:
        check_order(pairs.body.type)
        if pairs.body.nullable or isinstance(pairs.body.bare, t.Float):
            raise BadArguments("sorting a map by floats or Nullable values is not supported", "mapSort(map)")
        m = pairs.value.sql
        keyed = (
            f"map_values(transform_values({m}, {pairs.parameters} -> struct({pairs.body.sql} AS o, {pairs.key} AS k)))"
        )
        a, b = ("` r`.o", "` l`.o") if descending else ("` l`.o", "` r`.o")
        order = f"(` l`, ` r`) -> CASE WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 ELSE 0 END"
        pairs_sql = f"transform(array_sort({keyed}, {order}), ` s` -> struct(` s`.k AS k, {m}[` s`.k] AS v))"
        return typed_sql(f"map_from_entries({pairs_sql})", pairs.of)

    def form(tr: Translator, node: exp.Anonymous) -> TypedSql:
        if has_lambda(node):
            return _map_form(by_lambda)(tr, node)
        values = tr.translate_all(call_parts(node)[1])
        if len(values) != 1:
            raise tr.refusal(node, "wrong-argument-count", f"`{call_name(node)}` takes a Map")
        return build_or_refuse(tr, node, lambda: MAP_SORTS[call_name(node) or ""](values))

    return form


_MAP_FORMS: Mapping[str, SpecialForm] = {
    "mapFilter": _map_form(_map_filter),
    "mapExists": _map_form(_map_exists),
    "mapAll": _map_form(_map_all),
    "mapApply": _map_form(_map_apply),
    "mapSort": _map_sort_form(""),
    "mapReverseSort": _map_sort_form("descending"),
}


LAMBDA_FORMS: Mapping[str, SpecialForm] = {
    "arrayMap": _array_map,
    "arrayFilter": _array_filter,
    "arrayExists": _test_form("exists({0}, {1})", UINT8, "BOOLEAN"),
    "arrayAll": _test_form("forall({0}, {1})", UINT8, "BOOLEAN"),
    "arrayCount": _test_form("size(filter({0}, {1}))", UINT32, "INT"),
    "arrayFirst": _find_form(1, ""),
    "arrayFirstOrNull": _find_form(1, "or null"),
    "arrayLast": _find_form(-1, ""),
    "arrayLastOrNull": _find_form(-1, "or null"),
    "arrayFirstIndex": _index_form(""),
    "arrayLastIndex": _index_form("last"),
    "arraySort": _sort_form(""),
    "arrayReverseSort": _sort_form("descending"),
    **dict.fromkeys(ARRAY_FOLDS, _aggregate_array),
    **_ORDERED_FORMS,
    **_MAP_FORMS,
}
