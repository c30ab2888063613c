"""The name of an aggregate call to its row and its combinators: `avgIfState` → avg, If, State.

In: a name. Out: `Called`. Called by `calls` and docs. Invariant: each name is read in one way; the
longest combinator at its end is taken off first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.sql.aggregates.aggregate import Aggregate
from penstock.sql.aggregates.table import aggregate_named, aggregate_names

Form = Literal["plain", "State", "Merge", "MergeState", "SimpleState"]
_FORMS: tuple[Form, ...] = ("SimpleState", "MergeState", "State", "Merge")


@dataclass(frozen=True, slots=True)
class Called:
    """`on_condition`: -If, the last argument is a condition. `distinct`: -Distinct. `empty` is what no
    rows give: the function's own answer, NULL (-OrNull) or the zero value (-OrDefault)."""

    row: Aggregate
    form: Form = "plain"
    on_condition: bool = False
    distinct: bool = False
    or_null: bool = False


def called(name: str) -> Called | None:
    """The aggregate a name calls; None where it is no aggregate."""
    if (row := aggregate_named(name)) is not None:
        return Called(row)
    for form in _FORMS:
        if name.endswith(form) and (found := _conditioned(name.removesuffix(form), form)) is not None:
            return found
    return _conditioned(name, "plain")


def _conditioned(name: str, form: Form) -> Called | None:
    """The name without its form may still end with If, Distinct or OrNull."""
    rest = name.removesuffix("If")
    on_condition = rest != name
    if on_condition and form == "plain":
        inner = next((each for each in _FORMS if rest.endswith(each)), None)
        if inner is not None and (row := aggregate_named(rest.removesuffix(inner))) is not None:
            return Called(row, inner, on_condition=True)
    or_null = rest.endswith("OrNull")
    rest = rest.removesuffix("OrNull")
    # `sumIfMerge` merges states of sumIf: the condition is in them already.
    on_condition = on_condition and form not in ("Merge", "MergeState")
    if (row := aggregate_named(rest)) is not None:
        return Called(row, form, on_condition, or_null=or_null)
    row = aggregate_named(rest.removesuffix("Distinct")) if rest.endswith("Distinct") else None
    return Called(row, form, on_condition, distinct=True, or_null=or_null) if row is not None else None


def known_names() -> tuple[str, ...]:
    """Names with one combinator, for hints."""
    bases = aggregate_names()
    return tuple(base + ending for base in bases for ending in ("", "If", "State", "Merge", "MergeState"))
