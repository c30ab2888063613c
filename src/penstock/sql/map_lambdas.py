"""mapFilter, mapApply, mapExists, mapAll, mapSort, mapReverseSort: lambdas over the pairs of a map.

In: the call's node. Out: `Typed`. Called by lambdas. Invariant: the lambda takes a key and a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.functions.elements import check_order
from penstock.sql.functions.function import UINT8, BadArguments
from penstock.sql.functions.maps import SORTED
from penstock.sql.lambda_walk import checked, lambda_of, takes_lambda
from penstock.sql.parameters import fresh
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed, condition, is_null, typed

_Form = Callable[[Translator, exp.Anonymous], Typed]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """A map, the names of a pair's parts in Spark, and the lambda's body."""

    value: Typed
    of: t.Map
    key: str
    item: str
    body: Typed

    @property
    def head(self) -> str:
        return f"({self.key}, {self.item})"

    @property
    def test(self) -> str:
        if not is_null(self.body) and self.body.bare not in (UINT8, t.Bool()):
            raise BadArguments(f"the lambda must give UInt8, this is {self.body.type}", "compare it: v != 0")
        return f"coalesce({condition(self.body)}, false)"


def _pairs(tr: Translator, node: exp.Anonymous) -> _Pairs:
    function, arguments = lambda_of(tr, node), call_parts(node)[1]
    names = [each.name for each in function.expressions]
    if len(arguments) != 2 or len(names) != 2:
        message = f"`{call_name(node)}` takes a lambda of a key and a value, and a Map"
        raise tr.refused(node, "wrong-argument-count", message)
    value = tr.translate(arguments[1])
    if not isinstance(value.bare, t.Map):
        raise tr.refused(arguments[1], "wrong-argument-type", f"`{call_name(node)}` needs a Map, this is {value.type}")
    taken = " ".join(each.sql for each in tr.locals.values())
    key, item = fresh("k", taken), fresh("w", taken)
    known = {names[0]: typed(key, value.bare.key), names[1]: typed(item, value.bare.value)}
    return _Pairs(value, value.bare, key, item, tr.with_locals(known).translate(function.this))


def _form(build: Callable[[_Pairs], Typed]) -> _Form:
    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        pairs = _pairs(tr, node)
        return checked(tr, node, lambda: build(pairs))

    return form


def _filtered(pairs: _Pairs) -> Typed:
    return typed(f"map_filter({pairs.value.sql}, {pairs.head} -> {pairs.test})", pairs.of)


def _exists(pairs: _Pairs) -> Typed:
    return Typed(f"(size(map_filter({pairs.value.sql}, {pairs.head} -> {pairs.test})) > 0)", UINT8, "BOOLEAN")


def _all(pairs: _Pairs) -> Typed:
    return Typed(f"(size(map_filter({pairs.value.sql}, {pairs.head} -> NOT {pairs.test})) = 0)", UINT8, "BOOLEAN")


def _applied(pairs: _Pairs) -> Typed:
    of = pairs.body.bare
    if not isinstance(of, t.Tuple) or len(of.fields) != 2 or t.nullable(of.fields[0][1]):
        raise BadArguments(f"the lambda of `mapApply` must give a tuple of two values, this is {pairs.body.type}")
    made = f"map_values(transform_values({pairs.value.sql}, {pairs.head} -> {pairs.body.sql}))"
    return typed(f"map_from_entries({made})", t.Map(of.fields[0][1], of.fields[1][1]))


def _sorted(descending: str) -> _Form:
    def by_lambda(pairs: _Pairs) -> Typed:
        check_order(pairs.body.type)
        if pairs.body.nullable or isinstance(pairs.body.bare, t.Float):
            raise BadArguments("sorting a map by floats or by what may be NULL is not supported", "mapSort(map)")
        m = pairs.value.sql
        keyed = f"map_values(transform_values({m}, {pairs.head} -> struct({pairs.body.sql} AS o, {pairs.key} AS k)))"
        a, b = ("` r`.o", "` l`.o") if descending else ("` l`.o", "` r`.o")
        order = f"(` l`, ` r`) -> CASE WHEN {a} < {b} THEN -1 WHEN {a} > {b} THEN 1 ELSE 0 END"
        pairs_sql = f"transform(array_sort({keyed}, {order}), ` s` -> struct(` s`.k AS k, {m}[` s`.k] AS v))"
        return typed(f"map_from_entries({pairs_sql})", pairs.of)

    def form(tr: Translator, node: exp.Anonymous) -> Typed:
        if takes_lambda(node):
            return _form(by_lambda)(tr, node)
        values = tr.all(call_parts(node)[1])
        if len(values) != 1:
            raise tr.refused(node, "wrong-argument-count", f"`{call_name(node)}` takes a Map")
        return checked(tr, node, lambda: SORTED[call_name(node) or ""](values))

    return form


MAP_FORMS: Mapping[str, _Form] = {
    "mapFilter": _form(_filtered),
    "mapExists": _form(_exists),
    "mapAll": _form(_all),
    "mapApply": _form(_applied),
    "mapSort": _sorted(""),
    "mapReverseSort": _sorted("descending"),
}
