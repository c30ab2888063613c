"""What stands after an aggregate's call: FILTER (WHERE …), RESPECT NULLS and IGNORE NULLS.

In: the node around the call. Out: `Typed`. Called through HANDLERS and by column_names. Invariant: each is the
call of another name: `sum(x) FILTER (WHERE c)` is `sumIf(x, c)`.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from penstock.sql.as_if import as_if
from penstock.sql.calls import call
from penstock.sql.tokens import CALL_MARK
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name
from penstock.sql.typed import Typed

_WITH_NULLS: Mapping[str, str] = {
    "any": "any_respect_nulls", "any_value": "any_respect_nulls", "first_value": "any_respect_nulls",
    "anyLast": "anyLast_respect_nulls", "last_value": "anyLast_respect_nulls",
}  # fmt: skip


def filtered(tr: Translator, node: exp.Expr) -> Typed:
    """The call with -If."""
    renamed = as_if(node)
    if renamed is None:
        raise tr.refused(node, "unsupported-syntax", "only a call of an aggregate function can have FILTER")
    return call(tr, renamed)


def respecting_nulls(tr: Translator, node: exp.Expr) -> Typed:
    """any(x) RESPECT NULLS."""
    inner = node.this
    name = _WITH_NULLS.get(call_name(inner) or "")
    if name is None:
        raise tr.refused(node, "unsupported-syntax", "only any, anyLast, first_value and last_value have RESPECT NULLS")
    renamed = exp.Anonymous(this=name + CALL_MARK, expressions=[each.copy() for each in inner.expressions])
    return call(tr, renamed)


def ignoring_nulls(tr: Translator, node: exp.Expr) -> Typed:
    """any(x) IGNORE NULLS, which is what they do by themselves."""
    if call_name(node.this) not in _WITH_NULLS:
        raise tr.refused(node, "unsupported-syntax", "only any, anyLast, first_value and last_value have IGNORE NULLS")
    return call(tr, node.this)
