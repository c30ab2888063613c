"""A conversion between two types: its SQL, and the condition under which it is valid.

Invariant: `sql` is of the Spark type of the wanted type. `valid` is None where every value converts, and NULL for a
NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Overflow: TypeAlias = Literal["wraps", "refused"]
"""What a number out of the type's range does."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """`sql` is evaluated only where `valid` is true."""

    sql: str
    valid: str | None = None
