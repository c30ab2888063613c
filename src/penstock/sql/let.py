"""A value used more than once in a formula: written out where it is short, bound once where not.

In: SQL and a formula over it. Out: SQL. Called by operators and functions. Invariant: the formula
sees a SQL text that may be repeated freely.
"""

from __future__ import annotations

from collections.abc import Callable

REPEATED = 160
"""Longer texts are bound: nested formulas would otherwise double the text at every level."""


def let(sql: str, formula: Callable[[str], str]) -> str:
    """`formula` applied to a text that stands for `sql`."""
    if len(sql) <= REPEATED:
        return formula(sql)
    name = f"v{len(sql)}"
    return f"transform(array({sql}), {name} -> {formula(name)})[0]"
