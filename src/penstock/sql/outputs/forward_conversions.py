"""The conversions of a FORWARD_QUERY: a text that is no value of the new type is an error, also of a Nullable type.

In: the nodes of a FORWARD_QUERY. Out: their translation by `STRICT_HANDLERS`. ClickHouse gives NULL for a text that
does not parse where the argument or the type is Nullable; in a migration that would lose the value without a word.
Invariant: only a function named -OrNull, -OrZero or -OrDefault replaces a value here.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.sql.calls.dispatch import HANDLERS, apply_function, translate_call
from penstock.sql.calls.special_forms import accurate_cast_form, cast_in_mode
from penstock.sql.compiler.translator import NodeHandler, Translator
from penstock.sql.conversions.explicit import STRICT_MODE, ConversionMode
from penstock.sql.expr.typed import TypedSql
from penstock.sql.functions.conversions import STRICT_FUNCTIONS
from penstock.sql.functions.table import find_function
from penstock.sql.syntax.tree import call_name

_ACCURATE_CAST = accurate_cast_form(ConversionMode("error", "refused"))


def cast_strictly(tr: Translator, node: exp.Expr) -> TypedSql:
    """CAST(x AS T) and x::T."""
    return cast_in_mode(tr, node, STRICT_MODE)


def call_strictly(tr: Translator, node: exp.Expr) -> TypedSql:
    """A call: of a conversion, or of any other function as everywhere."""
    name = call_name(node)
    if not isinstance(node, exp.Anonymous) or name is None:
        return translate_call(tr, node)
    if name == "accurateCast":
        return _ACCURATE_CAST(tr, node)
    function = find_function(name)
    strict = STRICT_FUNCTIONS.get(function.name) if function is not None else None
    return apply_function(tr, node, strict) if strict is not None else translate_call(tr, node)


STRICT_HANDLERS: Mapping[type[exp.Expr], NodeHandler] = {
    **HANDLERS,
    exp.Cast: cast_strictly,
    exp.CastToStrType: cast_strictly,
    exp.Anonymous: call_strictly,
}
