"""A conversion between two types: its SQL, and the condition under which it is valid.

Invariant: `sql` is of the Spark type of the wanted type. `valid` is None where every value converts, and NULL for a
NULL.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from penstock.model.quick_dataclass import dataclass

Overflow: TypeAlias = Literal["wraps", "refused"]
"""What a number out of the type's range does."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion to another type."""

    sql: str
    """Evaluated only where `valid` is true."""
    valid: str | None = None
    """The condition under which a value converts; None: every value does."""
    null_if_invalid: bool = False
    """`sql` is NULL for a value that does not convert; `valid` is None."""
