"""How much one step takes, and what it did.

In: nothing. Out: `Limits`, `Done`. Called by stepper and deploy. Invariant: a step that failed is tried
again with less, never with more, until one ends well.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.lake.history import Most

LEAST_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one step takes at most, the least time between two commits to one table (each commit
    costs metadata and files), and the seconds after which a step is cancelled."""

    rows: int = 500_000
    bytes: int = 64 * 2**20
    seconds_between: float = 0.25
    seconds: float = 600.0

    def after(self, failures: int) -> Most:
        """After steps that failed in a row the next is smaller: it may have been too much."""
        return Most(max(self.rows >> failures, min(self.rows, LEAST_ROWS)), max(self.bytes >> failures, 1))


@dataclass(frozen=True, slots=True)
class Done:
    """What a step did: rows it appended, rows and bytes it read, whether those were a history, and rows it
    put into a quarantine."""

    rows: int
    read_rows: int
    read_bytes: int
    history: bool = False
    rejected: int = 0
