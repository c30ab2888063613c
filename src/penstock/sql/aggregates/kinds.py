"""What arguments an aggregate function needs, as words for a message.

In: the types of the arguments and the parameters. Out: what is needed, or None where it is given. Called by the
tables of aggregates. Invariant: whatever ClickHouse takes and is not exact here is named as not taken.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.model import types as t
from penstock.model.types import bare, nullable
from penstock.sql.aggregates.aggregate import Parameter, Types, holds_map
from penstock.sql.kept_order import holds_kept_text, is_kept_text

Needs = Callable[[Types, tuple[Parameter, ...]], str | None]
MOST = 2**20
"""Larger sizes in parameters make no sense: an array has to hold as many."""


def every(kinds: tuple[type, ...], said: str) -> Needs:
    """Each argument of one of these kinds."""

    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        return None if all(isinstance(bare(of), kinds) for of in types) else said

    return needs


def both(*all_needs: Needs) -> Needs:
    """All of several needs."""

    def needs(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
        return next((said for each in all_needs if (said := each(types, parameters)) is not None), None)

    return needs


def unsigned(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    of = bare(types[-1])
    return None if isinstance(of, t.Int) and not of.signed else "an unsigned integer: toUInt64(x)"


def without_null(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    return "values that are not Nullable" if any(map(nullable, types)) else None


def comparable(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    return "values without a Map" if any(map(holds_map, types)) else None


def sortable(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    """What Spark sorts as ClickHouse does."""
    if any(is_kept_text(of) or holds_kept_text(of) for of in types):
        return "values that are no enumerations, UUIDs or IP addresses: toString(…) of them"
    return comparable(types, parameters)


def one_type(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    return None if len({bare(of) for of in types}) == 1 else "arguments of one type"


def sizes(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    """Every parameter a whole number from 1 on."""
    if all(isinstance(each, int) and 1 <= each <= MOST for each in parameters):
        return None
    return f"whole numbers from 1 to {MOST:,} as parameters"


integers = every((t.Int,), "an integer")
numbers = every((t.Int, t.Float), "an integer or a float")
"""Bool is none of these."""
