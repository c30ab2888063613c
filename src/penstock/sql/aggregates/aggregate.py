"""One row of the table of aggregate functions: how a state is made, merged, read and stored.

In: nothing. Out: `Aggregate`, `Input`. Called by the tables of aggregates and by `combinators`.
Invariant: `finish(merge(state(part) of all parts))` is `finish(state(all))`, and `empty` changes nothing.

What arguments an aggregate function needs, as words for a message.

In: the types of the arguments and the parameters. Out: what is needed, or None where it is given. Called by the
tables of aggregates. Invariant: whatever ClickHouse takes and is not exact here is named as not taken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, Union

from penstock.model import types as t
from penstock.model.types import Type, bare, nullable
from penstock.sql.expr.sort_order import holds_kept_text, is_kept_text
from penstock.sql.expr.spark_types import value_type

Kind = Literal["any", "number"]
Types = tuple[Type, ...]
Parameter: TypeAlias = Union[float, str]
"""A number or a text in the first parentheses of `quantile(0.9)(x)`; a whole number is an int."""


@dataclass(frozen=True, slots=True)
class Input:
    """The arguments of one call: Spark SQL already cast to what the row's `inputs` says. `over` is
    the text of the window, if any, that follows each Spark aggregate; `small` is whether the first argument
    is a whole number of some 32 bits, whatever its type."""

    args: tuple[str, ...]
    types: Types
    parameters: tuple[Parameter, ...] = ()
    over: str = ""
    small: bool = False

    @property
    def all_given(self) -> str:
        """The condition that no argument is NULL."""
        return " AND ".join(f"{arg} IS NOT NULL" for arg in self.args)


@dataclass(frozen=True, slots=True)
class State:
    """A state as SQL, to be merged or read."""

    sql: str
    types: Types
    parameters: tuple[Parameter, ...] = ()
    over: str = ""


def anything(types: Types, parameters: tuple[Parameter, ...]) -> str | None:
    """Whatever the kind and the number of arguments allow."""
    return None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`plain` is a cheaper form of finish(state(…)) and `merged` of finish(merge(…)), where there is one.
    `result_spark` is the Spark type that these give. `gather` is the state of rows in a Spark array: of the
    values, or of structs `col1`, `col2` … of several arguments, none of them NULL. `needs` says what arguments
    and parameters must be, where they are not. `exact` is False where ClickHouse's own result is approximate
    and ours may differ from it, by `error`; `ordered` where the answer depends on the order of the rows.
    `null_over_none` is whether the state of no rows is NULL, so that Nullable arguments alone make -OrNull.
    `collected` is the row that does the same over rows that are in an array already."""

    name: str
    arity: tuple[int, int]
    result: Callable[[Types], Type]
    result_spark: Callable[[Types], str]
    storage: Callable[[Types], str]
    state: Callable[[Input], str]
    merge: Callable[[State], str]
    finish: Callable[[State], str]
    empty: Callable[[Types], str]
    inputs: Callable[[Types], tuple[str, ...]]
    plain: Callable[[Input], str] | None = None
    merged: Callable[[State], str] | None = None
    takes: Kind = "any"
    parameters: tuple[int, int] = (0, 0)
    exact: bool = True
    has_state: bool = True
    gather: Callable[[State], str] | None = None
    needs: Callable[[Types, tuple[Parameter, ...]], str | None] = anything
    error: str = ""
    ordered: bool = False
    null_over_none: bool = False
    collected: Aggregate | None = None


def value_inputs(types: Types) -> tuple[str, ...]:
    """Every argument as it is stored."""
    return tuple(value_type(bare(of)) for of in types)


def double_inputs(types: Types) -> tuple[str, ...]:
    """Every argument as a double."""
    return ("DOUBLE",) * len(types)


def nullable_like(of: Type, types: Types) -> Type:
    """`of`, Nullable where any argument is."""
    wraps = any(map(nullable, types)) and not isinstance(of, (t.Array, t.Map, t.Tuple, t.Nullable))
    return t.Nullable(of) if wraps else of


def holds_map(of: Type) -> bool:
    """Whether a type is a Map or has one inside: Spark neither compares nor hashes maps."""
    match bare(of):
        case t.Map():
            return True
        case t.Array(inner):
            return holds_map(inner)
        case t.Tuple(fields):
            return any(holds_map(inner) for _, inner in fields)
        case _:
            return False


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
