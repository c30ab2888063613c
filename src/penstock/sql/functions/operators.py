"""The functions behind operators that need nothing but their values: concat.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: plus, equals …
are special forms, since they report their problems at their node.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.conversion_texts import as_text
from penstock.sql.functions.function import MANY, STRING, BadArguments, Function
from penstock.sql.typed import Typed, null_if_any, typed


def concat(values: Sequence[Typed]) -> Typed:
    """Texts, and other values as their texts, joined; arrays appended to each other."""
    if all(isinstance(value.bare, t.Array) for value in values):
        return Typed(f"concat({', '.join(value.sql for value in values)})", values[0].type, values[0].spark)
    shown = [as_text(value) for value in values]
    if None in shown:
        raise BadArguments(f"concat of {values[shown.index(None)].type} is not supported")
    return typed(f"concat({', '.join(map(str, shown))})", null_if_any(STRING, list(values)))


FUNCTIONS: tuple[Function, ...] = (
    Function("concat", (1, MANY), ("any",), concat),
)
ALIASES: dict[str, str] = {}
ANY_CASE = ("concat",)
