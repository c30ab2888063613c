"""A value used more than once in a formula: written out where it is short, bound once where not.

In: SQL and a formula over it. Out: SQL. Called by operators, conversions and functions. Invariant: the formula
sees a SQL text that may be repeated freely; what binds never raises itself, and is NULL where the formula is.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.sql.parameters import fresh

REPEATED = 160
"""Longer texts are bound: nested formulas would otherwise double the text at every level."""
_NAME = "` v`"
_SUBQUERY = "(SELECT "
"""Spark takes none in what a lambda belongs to."""


def let(sql: str, formula: Callable[[str], str]) -> str:
    """`formula` applied to a text that stands for `sql`."""
    if len(sql) <= REPEATED or _SUBQUERY in sql:
        return formula(sql)
    tried = formula(_NAME)
    if tried.count(_NAME) <= 1 or _SUBQUERY in tried:
        return formula(sql)
    name = fresh("v", tried)
    return bind(sql, name, formula(name))


def bound(sql: str, name: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`, which is written once."""
    return f"transform(array({sql}), {name} -> {body})[0]"


def bind(sql: str, name: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`, evaluated once."""
    return f"try_element_at(transform(array({sql}), {name} -> {body}), 1)"
