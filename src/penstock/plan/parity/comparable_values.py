"""Values of two columns as SQL of one type, so that they can be compared.

In: the types of a column in two versions. Out: `ComparableValues`, or None where no common type keeps both as they are.
Invariant: a state is compared by the value that it stands for, never by its bytes; two different values of one side
never become equal.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type, unwrap_type
from penstock.sql.aggregates.aggregate import AggregateState
from penstock.sql.expr.spark_types import value_type
from penstock.sql.stored_types import state_aggregate, state_arguments, state_parameters

TOLERANCES = {32: 1e-6, 64: 1e-9}
"""By the bits of a float, the relative difference that adding in another order may make."""


@dataclass(frozen=True, slots=True)
class ComparableValues:
    """SQL for the value of each side."""

    left: str
    right: str
    type: Type
    """The type, without Nullable, that they have on the left."""

    @property
    def plain(self) -> bool:
        return not isinstance(self.type, (t.Array, t.Map, t.Tuple))

    @property
    def tolerance(self) -> float | None:
        return TOLERANCES[self.type.bits] if isinstance(self.type, t.Float) else None


def comparable_values(left: tuple[str, Type], right: tuple[str, Type]) -> ComparableValues | None:
    """How the values of two columns, each given as SQL and its type, are compared."""
    (one, one_type), (other, other_type) = _finished(*left), _finished(*right)
    if value_type(one_type) == value_type(other_type):
        return ComparableValues(_orderable(one_type, one), _orderable(other_type, other), one_type)
    match one_type, other_type:
        case (t.Int() | t.Bool(), t.Int() | t.Bool()):
            return ComparableValues(f"CAST({one} AS DECIMAL(38,0))", f"CAST({other} AS DECIMAL(38,0))", one_type)
        case (t.Float(), t.Float()):
            return ComparableValues(f"CAST({one} AS DOUBLE)", f"CAST({other} AS DOUBLE)", t.Float(32))
        case _:
            return None


def _finished(sql: str, of: Type) -> tuple[str, Type]:
    """The value that a state stands for; any other value unchanged. The type has no Nullable around it."""
    bare = unwrap_type(of)
    if not isinstance(bare, t.AggregateFunction):
        return sql, bare
    row, types = state_aggregate(bare), state_arguments(bare)
    value = row.finish(AggregateState(sql, types, state_parameters(bare)))
    return _finished(value, row.result(types))


def _orderable(of: Type, sql: str, depth: int = 0) -> str:
    """The value with its maps as arrays of pairs, in their order: Spark neither groups by a map nor sorts by one."""
    bare, name = unwrap_type(of), f"e{depth}"
    if not _has_map(bare):
        return sql
    match bare:
        case t.Array(inner):
            return f"transform({sql}, {name} -> {_orderable(inner, name, depth + 1)})"
        case t.Map(key, value):
            parts = f"{_orderable(key, f'{name}.key', depth + 1)}, {_orderable(value, f'{name}.value', depth + 1)}"
            return f"transform(map_entries({sql}), {name} -> struct({parts}))"
        case t.Tuple(fields):
            parts = ", ".join(
                _orderable(inner, f"{sql}.`{name or f'_{place}'}`", depth + 1)
                for place, (name, inner) in enumerate(fields, 1)
            )
            return f"struct({parts})"
        case _:
            return sql


def _has_map(of: Type) -> bool:
    match unwrap_type(of):
        case t.Map():
            return True
        case t.Array(inner):
            return _has_map(inner)
        case t.Tuple(fields):
            return any(_has_map(inner) for _, inner in fields)
        case _:
            return False
