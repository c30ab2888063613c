"""Functions that take a lambda: arrayMap, arrayFilter, arrayExists, arrayAll, arraySort, arraySum …

In: the call's node. Out: `Typed`. Called by special_forms. Invariant: several arrays are walked side by
side, as one array of structs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type
from penstock.sql.functions.arrays import ARRAY_FOLDS
from penstock.sql.functions.function import UINT8, UINT32, BadArguments
from penstock.sql.parameters import fresh
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, as_spark, condition, typed
from penstock.sql.value_types import quoted, value_type, value_zero


def _arrays(tr: Translator, node: exp.Anonymous, nodes: list[exp.Expr]) -> list[Typed]:
    values = tr.all(nodes)
    for value, each in zip(values, nodes, strict=True):
        if not isinstance(value.bare, t.Array):
            message = f"`{call_name(node)}` needs an Array, this is {value.type}"
            raise tr.refused(each, "wrong-argument-type", message)
    if not values:
        raise tr.refused(node, "wrong-argument-count", f"`{call_name(node)}` needs an Array")
    return values


def _of(array: Typed) -> Type:
    assert isinstance(array.bare, t.Array)
    return array.bare.of


class _Walk:
    """A lambda over one array, or over several as one: its Spark parameter, array and body."""

    def __init__(self, tr: Translator, node: exp.Anonymous):
        _, arguments = call_parts(node)
        function = arguments[0] if arguments else None
        if not isinstance(function, exp.Lambda):
            raise tr.refused(node, "wrong-argument-type", f"the first argument of `{call_name(node)}` must be a lambda")
        self.arrays = _arrays(tr, node, arguments[1:])
        names = [each.name for each in function.expressions]
        if len(names) != len(self.arrays):
            message = f"the lambda takes {len(names)} values, {len(self.arrays)} arrays are given"
            raise tr.refused(function, "wrong-argument-count", message)
        self.parameter = fresh("x", " ".join(each.sql for each in tr.locals.values()))
        self.body = tr.with_locals(self._locals(names)).translate(function.this)
        self.zipped = self._zipped()

    def _locals(self, names: list[str]) -> dict[str, Typed]:
        if len(names) == 1:
            return {names[0]: typed(self.parameter, _of(self.arrays[0]))}
        pairs = zip(names, self.arrays, strict=True)
        return {
            name: typed(f"{self.parameter}.{quoted(str(place))}", _of(array))
            for place, (name, array) in enumerate(pairs)
        }

    def _zipped(self) -> str:
        if len(self.arrays) == 1:
            return self.arrays[0].sql
        parts = ", ".join(f"{array.sql} AS {quoted(str(place))}" for place, array in enumerate(self.arrays))
        names = [quoted(str(place)) for place in range(len(self.arrays))]
        fields = ", ".join(f"element_at(` s`.{name}, ` i` + 1) AS {name}" for name in names)
        same = " OR ".join(f"size(` s`.`0`) <> size(` s`.{name})" for name in names[1:])
        walk = f"transform(` s`.`0`, (` e`, ` i`) -> struct({fields}))"
        wrong = "raise_error('the arrays of a lambda have different sizes')"
        return f"transform(array(struct({parts})), ` s` -> if({same}, {wrong}, {walk}))[0]"

    @property
    def test(self) -> str:
        return f"{self.parameter} -> coalesce({condition(self.body)}, false)"

    def first_of(self, rows: str) -> str:
        """The first array's elements of walked rows."""
        return rows if len(self.arrays) == 1 else f"transform({rows}, ` r` -> ` r`.`0`)"


def _map(tr: Translator, node: exp.Anonymous) -> Typed:
    walk = _Walk(tr, node)
    of = walk.body.type
    body = as_spark(walk.body, value_type(of))
    return typed(f"transform({walk.zipped}, {walk.parameter} -> {body})", t.Array(of))


def _filter(tr: Translator, node: exp.Anonymous) -> Typed:
    walk = _Walk(tr, node)
    return Typed(walk.first_of(f"filter({walk.zipped}, {walk.test})"), walk.arrays[0].type, walk.arrays[0].spark)


def _tested(template: str, of: Type, spark: str) -> Callable[[Translator, exp.Anonymous], Typed]:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        walk = _Walk(tr, _with_test(node))
        return Typed(template.format(walk.zipped, walk.test), of, spark)

    return form


def _with_test(node: exp.Anonymous) -> exp.Anonymous:
    """`arrayCount(a)` is `arrayCount(x -> x, a)`."""
    _, arguments = call_parts(node)
    if arguments and isinstance(arguments[0], exp.Lambda):
        return node
    whole = exp.Lambda(this=exp.to_identifier("x"), expressions=[exp.to_identifier("x")])
    return exp.Anonymous(this=node.this, expressions=[whole, *arguments])


def _first(tr: Translator, node: exp.Anonymous) -> Typed:
    walk = _Walk(tr, node)
    of = _of(walk.arrays[0])
    found = walk.first_of(f"filter({walk.zipped}, {walk.test})")
    return typed(f"coalesce(try_element_at({found}, 1), {value_zero(of)})", of)


def _fold(tr: Translator, node: exp.Anonymous) -> Typed:
    """arraySum, arrayMin …: of the array, or of what a lambda makes of it."""
    _, arguments = call_parts(node)
    value = _map(tr, node) if arguments and isinstance(arguments[0], exp.Lambda) else _arrays(tr, node, arguments)[0]
    try:
        return ARRAY_FOLDS[call_name(node) or ""]([value])
    except BadArguments as error:
        raise tr.refused(node, "wrong-argument-type", error.message) from error


def _sorted(descending: str) -> Callable[[Translator, exp.Anonymous], Typed]:
    """By the value, or by what a lambda makes of it; NULLs last either way, equal keys in their order."""

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        _, arguments = call_parts(node)
        if not arguments or not isinstance(arguments[0], exp.Lambda):
            array = _arrays(tr, node, arguments)[0]
            return Typed(_sort(array.sql, "` l`", "` r`", descending), array.type, array.spark)
        walk = _Walk(tr, node)
        keyed = f"transform({walk.zipped}, {walk.parameter} -> struct({walk.body.sql} AS k, {walk.parameter} AS v))"
        ordered = _sort(keyed, "` l`.k", "` r`.k", descending)
        values = f"transform({ordered}, ` s` -> ` s`.v)"
        return Typed(walk.first_of(values), walk.arrays[0].type, walk.arrays[0].spark)

    return form


def _sort(array: str, left: str, right: str, descending: str) -> str:
    a, b = (right, left) if descending else (left, right)
    return (
        f"array_sort({array}, (` l`, ` r`) -> CASE WHEN {left} IS NULL AND {right} IS NULL THEN 0 "
        f"WHEN {left} IS NULL THEN 1 WHEN {right} IS NULL THEN -1 "
        f"WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 ELSE 0 END)"
    )


def _first_index(tr: Translator, node: exp.Anonymous) -> Typed:
    walk = _Walk(tr, node)
    hits = f"transform({walk.zipped}, {walk.test})"
    return Typed(f"CAST(array_position({hits}, true) AS INT)", UINT32, "INT")


LAMBDA_FORMS: Mapping[str, Callable[[Translator, exp.Anonymous], Typed]] = {
    "arrayMap": _map,
    "arrayFilter": _filter,
    "arrayExists": _tested("exists({0}, {1})", UINT8, "BOOLEAN"),
    "arrayAll": _tested("forall({0}, {1})", UINT8, "BOOLEAN"),
    "arrayCount": _tested("size(filter({0}, {1}))", UINT32, "INT"),
    "arrayFirst": _first,
    "arrayFirstIndex": _first_index,
    "arraySort": _sorted(""),
    "arrayReverseSort": _sorted("descending"),
    "arraySum": _fold,
    "arrayMin": _fold,
    "arrayMax": _fold,
    "arrayAvg": _fold,
}
