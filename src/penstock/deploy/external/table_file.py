"""The rows of a table outside of this server, in a file that Spark reads.

In: nothing. Out: `TableFile`. Invariant: the file is there until the block in which it was written ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.model.types import Type


@dataclass(frozen=True, slots=True)
class TableFile:
    """The rows that were read of a table."""

    path: Path
    columns: Mapping[str, Type]
    rows: int
