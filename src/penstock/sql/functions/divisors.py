"""The greatest common divisor and the least common multiple: gcd, lcm.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a zero is an error, as is what
has no absolute value; a Nullable argument is refused, as ClickHouse fails for the zeros under its NULLs.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import BadArguments, Function
from penstock.sql.let import bound
from penstock.sql.supertypes import arithmetic
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import value_type

_STEPS = {8: 13, 16: 25, 32: 48, 64: 94}
"""How many divisions it takes at most: as many as there are Fibonacci numbers of so many bits."""


def _common(name: str, result: str) -> Function:
    """Of `a` and `b`, and of what is left of them: ` s`.a, the divisor."""

    def build(values: Sequence[Typed]) -> Typed:
        of = arithmetic("+", values[0].bare, values[1].bare)
        if not isinstance(of, t.Int) or any(value.nullable for value in values):
            shown = " and ".join(str(value.type) for value in values)
            raise BadArguments(f"`{name}` of {shown} is not supported", "ifNull(…), assumeNotNull(…)")
        if of.bits == 64 and (name == "lcm" and any(_bits(value) == 64 for value in values)):
            raise BadArguments(f"`{name}` of 64-bit numbers is not supported", "toInt32(…)")
        if of.signed and any(value.bare == t.Int(64, signed=False) for value in values):
            raise BadArguments(f"`{name}` of UInt64 and a signed number is not supported", "toInt64(…)")
        spark = "DECIMAL(20,0)" if value_type(of) == "DECIMAL(20,0)" else "BIGINT"
        pair = ", ".join(f"'{key}', abs({as_spark(value, spark)})" for key, value in zip("ab", values, strict=True))
        steps = _STEPS[min(map(_bits, values))] + 1
        rest = f"named_struct('a', ` s`.b, 'b', CAST(` s`.a % ` s`.b AS {spark}))"
        fold = f"aggregate(sequence(1, {steps}), ` x`, (` s`, ` k`) -> if(` s`.b = 0, ` s`, {rest}), ` s` -> {result})"
        zero = "raise_error('Division by zero')"
        sql = bound(f"named_struct({pair})", "` x`", f"if(` x`.a = 0 OR ` x`.b = 0, {zero}, {fold})")
        return typed(f"CAST({sql} AS {value_type(of)})", of)

    return Function(name, (2, 2), ("integer",), build)


def _bits(value: Typed) -> int:
    return value.bare.bits if isinstance(value.bare, t.Int) else 8


FUNCTIONS: tuple[Function, ...] = (
    _common("gcd", "` s`.a"),
    _common("lcm", "` x`.a DIV ` s`.a * ` x`.b"),
)
ALIASES: dict[str, str] = {}
ANY_CASE: tuple[str, ...] = ()
