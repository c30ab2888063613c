"""A function call: special forms first, then aggregates, then the table of functions.

In: an `Anonymous` node. Out: `Typed`. Called through HANDLERS. Invariant: a name in none of the three
is refused with the nearest name there is.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.aggregate_calls import aggregate_call
from penstock.sql.aggregates.combinators import called, known_names
from penstock.sql.functions.function import BadArguments, Function, is_kind, shown_kind
from penstock.sql.functions.missing import why_missing
from penstock.sql.functions.table import function_named, function_names
from penstock.sql.intervals import no_interval
from penstock.sql.special_forms import SPECIAL_FORMS
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import NOTHING, NULL, Typed, is_null
from penstock.sql.windows import WINDOW_FUNCTIONS


def call(tr: Translator, node: exp.Expr) -> Typed:
    name = call_name(node)
    if name is None or not isinstance(node, exp.Anonymous):
        raise tr.refused(node, "unsupported-syntax", "this call is not supported")
    special = SPECIAL_FORMS.get(name) or SPECIAL_FORMS.get(name.lower())
    if special is not None:
        return special(tr, node)
    function = function_named(name)
    if function is not None:
        return apply(tr, node, function)
    aggregate = called(name)
    if aggregate is not None:
        return aggregate_call(tr, node, aggregate)
    if name in WINDOW_FUNCTIONS:
        raise tr.refused(node, "misplaced-window", f"`{name}` needs OVER (…)")
    known = (*function_names(), *SPECIAL_FORMS, *known_names(), *WINDOW_FUNCTIONS)
    hint = why_missing(name) or did_you_mean(name, known)
    raise tr.refused(node, "unknown-function", f"unknown function `{name}`", hint)


def apply(tr: Translator, node: exp.Anonymous, function: Function) -> Typed:
    """A row of the table applied to a call's arguments."""
    parameters, arguments = call_parts(node)
    if parameters:
        raise tr.refused(node, "wrong-argument-count", f"`{function.name}` takes no parameters")
    low, high = function.arity
    if not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        message = f"`{function.name}` takes {expected} arguments, {len(arguments)} are given"
        raise tr.refused(node, "wrong-argument-count", message)
    values = tr.all(arguments)
    no_interval(tr, node, values)
    for place, value in enumerate(values):
        kind = function.takes[min(place, len(function.takes) - 1)]
        if not is_kind(value, kind):
            message = f"argument {place + 1} of `{function.name}` must be a {shown_kind(kind)}, this is {value.type}"
            raise tr.refused(arguments[place], "wrong-argument-type", message)
    if function.strict and any(map(is_null, values)):
        return Typed("NULL", NULL.type, "VOID") if NULL.bare == NOTHING else NULL
    try:
        return function.build(values)
    except BadArguments as error:
        raise tr.refused(node, "wrong-argument-type", error.message, error.hint) from error
