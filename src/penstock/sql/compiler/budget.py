"""How much work the compilation of one text may take.

In: every node that is translated and every text that is read. Out: nothing, or `InvalidQuery`. Invariant: the work
grows with the length of the texts, however often their parts name each other (CTEs or aliases that each name the one
before twice double with each of them).
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import Text
from penstock.sql.syntax.problems import place_of

STEPS = 100_000
"""Every text may take this many steps, about a second; for each character it may take STEPS_OF_CHARACTER more."""
STEPS_OF_CHARACTER = 2
STEPS_OF_SELECT = 20


@dataclass(slots=True)
class CompileBudget:
    """The steps that one compilation, with all pipes that it reads, may still take."""

    left: int = STEPS

    def add_text(self, text: Text) -> None:
        """More steps for a text that is read for the first time."""
        self.left += STEPS_OF_CHARACTER * len(text.text)

    def spend(self, text: Text, steps: int = 1) -> None:
        """Raises InvalidQuery, which ends the whole compilation, when nothing is left."""
        self.left -= steps
        if self.left < 0:
            message = "compiling this takes too many steps: names in it stand for each other again and again"
            hint = "write the result of a part into a data source with a materialized view, and read that"
            raise InvalidQuery(message, [Problem("too-complex", message, place_of(text, None), hint)])
