"""arrayFill, arraySplit and their reverse, arrayFold: lambdas whose answer depends on what came before.

In: the call's node. Out: `Typed`. Called by lambdas. Invariant: the rows are walked once, in their order, by
Spark's `aggregate`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.functions.elements import side_by_side
from penstock.sql.lambda_walk import Walk, arrays_of, lambda_of, of_array
from penstock.sql.parameters import fresh
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import quoted, value_type

_Form = Callable[[Translator, exp.Anonymous], Typed]


def _walked(build: Callable[[Walk, str], str], reverse: str, result: Callable[[t.Type], t.Type]) -> _Form:
    """An array gathered from the first row on, or from the last one."""

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        walk = Walk(tr, node)
        made = result(of_array(walk.arrays[0]))
        rows = f"reverse({walk.zipped})" if reverse else walk.zipped
        start = f"CAST(array() AS {value_type(made)})"
        sql = f"aggregate({rows}, {start}, (` a`, {walk.parameter}) -> {build(walk, walk.first)})"
        return typed(f"reverse({sql})" if reverse else sql, made)

    return form


def _filled(walk: Walk, value: str) -> str:
    """What does not pass is what stands before it; the first stays."""
    return f"array_append(` a`, if(size(` a`) = 0 OR {walk.holds}, {value}, try_element_at(` a`, -1)))"


def _split(walk: Walk, value: str) -> str:
    """A new array begins before what passes."""
    rest = "slice(` a`, 1, greatest(size(` a`) - 1, 0))"
    longer = f"concat({rest}, array(array_append(try_element_at(` a`, -1), {value})))"
    return f"if(size(` a`) = 0 OR {walk.holds}, array_append(` a`, array({value})), {longer})"


def _split_after(walk: Walk, value: str) -> str:
    """The same from the last row on: an array ends after what passes."""
    rest = "slice(` a`, 1, greatest(size(` a`) - 1, 0))"
    longer = f"concat({rest}, array(array_prepend(try_element_at(` a`, -1), {value})))"
    return f"if(size(` a`) = 0 OR {walk.holds}, array_append(` a`, array({value})), {longer})"


def _fold(tr: Translator, node: exp.Anonymous) -> Typed:
    """arrayFold((total, x, …) -> …, array, …, start)."""
    function, arguments = lambda_of(tr, node), call_parts(node)[1]
    names = [each.name for each in function.expressions]
    if len(arguments) < 3 or len(names) != len(arguments) - 1:
        message = f"`{call_name(node)}` takes a lambda of a total and a value of each array, the arrays, and a start"
        raise tr.refused(node, "wrong-argument-count", message)
    arrays, start = arrays_of(tr, node, arguments[1:-1]), tr.translate(arguments[-1])
    taken = " ".join(each.sql for each in tr.locals.values())
    total, row = fresh("f", taken), fresh("x", taken)
    known = {names[0]: typed(total, start.type)}
    for place, (name, array) in enumerate(zip(names[1:], arrays, strict=True)):
        known[name] = typed(row if len(arrays) == 1 else f"{row}.{quoted(str(place))}", of_array(array))
    body = tr.with_locals(known).translate(function.this)
    if body.type != start.type:
        message = f"the lambda of `arrayFold` gives {body.type}, its start is {start.type}"
        raise tr.refused(node, "wrong-argument-type", message, "cast the start")
    spark = value_type(start.type)
    rows = arrays[0].sql if len(arrays) == 1 else side_by_side([array.sql for array in arrays])
    folded = f"({total}, {row}) -> {as_spark(body, spark)}"
    return typed(f"aggregate({rows}, {as_spark(start, spark)}, {folded})", start.type)


EDGE_FORMS: Mapping[str, _Form] = {
    "arrayFill": _walked(_filled, "", t.Array),
    "arrayReverseFill": _walked(_filled, "reverse", t.Array),
    "arraySplit": _walked(_split, "", lambda of: t.Array(t.Array(of))),
    "arrayReverseSplit": _walked(_split_after, "reverse", lambda of: t.Array(t.Array(of))),
    "arrayFold": _fold,
}
