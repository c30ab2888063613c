"""The arguments of a special form, checked.

In: a call's node. Out: argument nodes and literal texts. Called by the special forms. Invariant: what is
wrong with the number or kind of arguments is refused at its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sqlglot import exp

from penstock.sql.translator import Translator
from penstock.sql.tree import call_name, call_parts
from penstock.sql.typed import Typed

Form: TypeAlias = Callable[[Translator, exp.Anonymous], Typed]


def arguments_of(tr: Translator, node: exp.Anonymous, low: int, high: int) -> list[exp.Expr]:
    """The arguments of a call, so many at least and at most. Raises Refused."""
    parameters, arguments = call_parts(node)
    if parameters or not low <= len(arguments) <= high:
        expected = str(low) if low == high else f"{low} to {high}"
        message = f"`{call_name(node)}` takes {expected} arguments, {len(arguments)} are given"
        raise tr.refused(node, "wrong-argument-count", message)
    return arguments


def text_of(tr: Translator, node: exp.Expr) -> str:
    """The text of a literal. Raises Refused."""
    value = tr.translate(node).constant
    if not isinstance(value, str):
        raise tr.refused(node, "wrong-argument-type", "expected a text literal here")
    return value
