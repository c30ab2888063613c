"""One aggregate function as a row of a table: how its state is made, merged, read and stored; what arguments it needs.

Invariant: `finish(merge(state(part) for all parts))` equals `finish(state(all rows))`, and merging `empty` changes
nothing. A `needs_…` function returns words for an error message where the arguments are not supported; arguments that
ClickHouse takes but that would not give its exact result here are refused that way.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest
from typing import Literal, TypeAlias, Union

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.expr.sort_order import contains_stored_as_text, is_stored_as_text
from penstock.sql.expr.spark_types import value_type

ArgumentKind = Literal["any", "number"]
Types = tuple[Type, ...]
AggregateParameter: TypeAlias = Union[float, str]
"""A number or a text in the first parentheses of `quantile(0.9)(x)`; a whole number is an int."""
Needs = Callable[[Types, tuple[AggregateParameter, ...]], str | None]
"""What the arguments and parameters have to be, as words for an error message; None where they are."""
LARGEST_SIZE = 2**20
"""Largest size that a parameter may ask for: an array has to hold as many values."""


@dataclass(frozen=True, slots=True)
class AggregateInput:
    """The arguments of one call."""

    args: tuple[str, ...]
    """Spark SQL, already cast to the types that the function's `inputs` names."""
    types: Types
    parameters: tuple[AggregateParameter, ...] = ()
    over: str = ""
    """The window clause, if any, that follows each Spark aggregate."""
    small: bool = False
    """The first argument is an integer of about 32 bits, whatever its type."""
    keeps_order: bool = False
    """An aggregate beside it needs the rows in their order, which Spark's DISTINCT would change."""

    @property
    def all_given(self) -> str:
        """The condition that no argument is NULL; one whose type is only known for each row may have no value. The
        condition of countIf, which stands in place of an argument, has no type."""
        typed = zip_longest(self.args, self.types[: len(self.args)])
        tested = [arg for arg, of in typed if not isinstance(of, t.Dynamic)]
        return " AND ".join(f"{arg} IS NOT NULL" for arg in tested)


@dataclass(frozen=True, slots=True)
class AggregateState:
    """A state as SQL, to be merged or read; or rows in an array, for `Aggregate.gather`."""

    sql: str
    types: Types
    parameters: tuple[AggregateParameter, ...] = ()
    over: str = ""


def needs_nothing(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """Any arguments that their kind and number allow."""
    return None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate function."""

    name: str
    arity: tuple[int, int]
    result: Callable[[Types], Type]
    """The ClickHouse type of the result."""
    result_spark: Callable[[Types], str]
    """The Spark type of `plain` and `merged`."""
    storage: Callable[[Types], str]
    """The Spark type of a stored state."""
    state: Callable[[AggregateInput], str]
    merge: Callable[[AggregateState], str]
    finish: Callable[[AggregateState], str]
    empty: Callable[[Types], str]
    inputs: Callable[[Types], tuple[str, ...]]
    plain: Callable[[AggregateInput], str] | None = None
    """A cheaper form of finish(state(…)), if there is one."""
    merged: Callable[[AggregateState], str] | None = None
    """A cheaper form of finish(merge(…)), if there is one."""
    takes: ArgumentKind = "any"
    parameters: tuple[int, int] = (0, 0)
    exact: bool = True
    """False where ClickHouse's own result is approximate and ours may differ from it, as `error` describes."""
    has_state: bool = True
    gather: Callable[[AggregateState], str] | None = None
    """Makes the state of rows in a Spark array: of the values, or of structs `col1`, `col2` … of several arguments,
    none of them NULL."""
    needs: Needs = needs_nothing
    """Returns what the arguments and parameters must be, if they are not."""
    error: str = ""
    ordered: bool = False
    """The result depends on the order of the rows."""
    null_over_none: bool = False
    """The state of no rows is NULL, so that Nullable arguments alone make -OrNull."""
    collected: Aggregate | None = None
    """The row to use instead for rows that are in an array already."""


def value_inputs(types: Types) -> tuple[str, ...]:
    """The Spark types of the arguments as they are stored."""
    return tuple(value_type(unwrap_type(of)) for of in types)


def double_inputs(types: Types) -> tuple[str, ...]:
    """Every argument as a double."""
    return ("DOUBLE",) * len(types)


def nullable_like(of: Type, types: Types) -> Type:
    """`of`, Nullable where an argument is."""
    wraps = any(map(is_nullable, types)) and not isinstance(of, (t.Array, t.Map, t.Tuple, t.Nullable))
    # A LowCardinality(Nullable(…)) is one already.
    return t.Nullable(unwrap_type(of) if is_nullable(of) else of) if wraps else of


def contains_map(of: Type) -> bool:
    """Whether a type is a Map or contains one: Spark neither compares nor hashes maps."""
    match unwrap_type(of):
        case t.Map():
            return True
        case t.Array(inner):
            return contains_map(inner)
        case t.Tuple(fields):
            return any(contains_map(inner) for _, inner in fields)
        case _:
            return False


def needs_kinds(kinds: tuple[type, ...], needed: str) -> Needs:
    """Every argument must be of one of these kinds; `needed` is what the message says otherwise."""

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        return None if all(isinstance(unwrap_type(of), kinds) for of in types) else needed

    return needs


def needs_all(*all_needs: Needs) -> Needs:
    """All of several needs; the first that is not met is reported."""

    def needs(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
        return next((needed for each in all_needs if (needed := each(types, parameters)) is not None), None)

    return needs


def needs_unsigned_last(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """The last argument must be an unsigned integer."""
    of = unwrap_type(types[-1])
    return None if isinstance(of, t.Int) and not of.signed else "an unsigned integer: toUInt64(x)"


def needs_not_nullable(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """No argument may be Nullable."""
    return "values that are not Nullable" if any(map(is_nullable, types)) else None


def needs_comparable(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """No argument may contain a Map."""
    return "values without a Map" if any(map(contains_map, types)) else None


def needs_sortable(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """Spark must sort the arguments as ClickHouse does."""
    if any(is_stored_as_text(of) or contains_stored_as_text(of) for of in types):
        return "values other than Enum, UUID or IP address: toString(…) of them"
    return needs_comparable(types, parameters)


def needs_one_type(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """All arguments must have one type."""
    return None if len({unwrap_type(of) for of in types}) == 1 else "arguments of one type"


def needs_positive_sizes(types: Types, parameters: tuple[AggregateParameter, ...]) -> str | None:
    """Every parameter must be an integer from 1 to `LARGEST_SIZE`."""
    if all(isinstance(each, int) and 1 <= each <= LARGEST_SIZE for each in parameters):
        return None
    return f"whole numbers from 1 to {LARGEST_SIZE:,} as parameters"


needs_integers = needs_kinds((t.Int,), "an integer")
needs_numbers = needs_kinds((t.Int, t.Float), "an integer or a float")
"""Bool counts as neither."""
