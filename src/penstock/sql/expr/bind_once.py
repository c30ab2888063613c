"""A value used more than once in a formula: written out where it is short, bound once where not.

In: SQL and a formula over it. Out: SQL. Called by operators, conversions and functions. Invariant: the formula
sees a SQL text that may be repeated freely; what binds never raises itself, and is NULL where the formula is.

The parameters of the lambdas that the compiler makes up: ` x`, ` e` …

In: a letter. Out: a Spark name. Called by what writes lambdas, and by tables. Invariant: a made-up name begins
with a space, which no column may hold and with which no table's alias may begin, so it hides nothing that a user
can name. (Not with a dot: Spark does not find the parameters of such a name.)
"""

from __future__ import annotations

import re
from collections.abc import Callable

LONGEST_REPEATED = 160
"""Longer texts are bound: nested formulas would otherwise double the text at every level."""
_TRIAL_NAME = "` v`"
_SUBQUERY = "(SELECT "
"""Spark takes none in what a lambda belongs to."""


def bind_if_long(sql: str, formula: Callable[[str], str]) -> str:
    """`formula` applied to a text that stands for `sql`."""
    if len(sql) <= LONGEST_REPEATED or _SUBQUERY in sql:
        return formula(sql)
    tried = formula(_TRIAL_NAME)
    if tried.count(_TRIAL_NAME) <= 1 or _SUBQUERY in tried:
        return formula(sql)
    name = fresh_name("v", tried)
    return try_bind_once(sql, name, formula(name))


def bind_once(sql: str, name: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`, which is written once."""
    return f"transform(array({sql}), {name} -> {body})[0]"


def try_bind_once(sql: str, name: str, body: str) -> str:
    """`body`, in which `name` stands for `sql`, evaluated once."""
    return f"try_element_at(transform(array({sql}), {name} -> {body}), 1)"


_GENERATED_PREFIX = " "


def fresh_name(letter: str, text: str) -> str:
    """The first of ` x0`, ` x1` … that does not stand in a text."""
    taken = {int(each) for each in re.findall(rf"`{_GENERATED_PREFIX}{letter}([0-9]+)`", text)}
    return f"`{_GENERATED_PREFIX}{letter}{next(place for place in range(len(taken) + 1) if place not in taken)}`"


def is_generated_name(name: str) -> bool:
    """Whether a name could be that of a parameter."""
    return name.startswith(_GENERATED_PREFIX)
