"""fIfOrNull and fIfOrDefault over rows that all fail the condition, where ClickHouse gives f's own result of no rows.

In: the call and the types of its values. Out: whether that result is to be taken, and what stands for no rows at all.
Invariant: -OrNull takes it for functions that count and for arrays only, -OrDefault always; `fOrNullIf`, where the
condition is applied first, is another function.
"""

from __future__ import annotations

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.sql.aggregates.aggregate import Types
from penstock.sql.aggregates.name_parser import ParsedAggregate
from penstock.sql.expr.spark_types import value_default, value_type

_COUNTING = frozenset(("count", "uniq", "uniqExact", "uniqHLL12", "uniqTheta", "uniqUpTo", "deltaSum"))
"""Functions whose result is 0 for Nullable values without any."""


def takes_own_result(call: ParsedAggregate, types: Types) -> bool:
    """Whether the function's own result of no rows can differ from what -OrNull or -OrDefault has for no rows."""
    if call.filled is None:
        return False
    if not call.name.endswith("OrNull"):
        return True
    return call.filled.name in _COUNTING or isinstance(call.filled.result(types), (t.Array, t.Map))


def type_over_none(call: ParsedAggregate, types: Types, of: Type) -> tuple[Type, str]:
    """The type of the result, `of` being that of the function's own, and SQL of the value for no rows. `types` are
    those of the arguments and the condition."""
    composite = isinstance(unwrap_type(of), (t.Array, t.Map, t.Tuple))
    assert call.filled is not None
    counts = call.filled.name in _COUNTING
    nullable = call.name.endswith("OrNull") or (any(map(is_nullable, types)) and not counts)
    result = of if composite or is_nullable(of) or not nullable else t.Nullable(of)
    return result, f"CAST(NULL AS {value_type(result)})" if is_nullable(result) else value_default(result)
