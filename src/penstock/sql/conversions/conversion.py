"""What a conversion between two types is: a formula, and the condition under which it holds.

In: nothing. Out: `Conversion`. Called by the conversion_* modules and conversions. Invariant: `sql` is
of the wanted type's Spark type; `valid` is None where every value converts, NULL for a NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Overflow: TypeAlias = Literal["wraps", "refused"]
"""What a number out of the type's range does."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """`sql` is evaluated only where `valid` holds."""

    sql: str
    valid: str | None = None
