"""Intervals: a number with a unit, which only a time, a step or a frame takes.

In: values. Out: nothing. Called where values of any type are taken. Invariant: no interval becomes a plain number,
which ClickHouse does not do either.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from penstock.sql.translator import Translator
from penstock.sql.typed import Typed


def no_interval(tr: Translator, node: exp.Expr, values: Iterable[Typed]) -> None:
    """Raises Refused where one of the values is an interval."""
    found = next((value.unit for value in values if value.unit is not None), None)
    if found is not None:
        message = f"an interval ({found}) is not supported here"
        raise tr.refused(node, "wrong-argument-type", message, "add it to a time, or write the number alone")
