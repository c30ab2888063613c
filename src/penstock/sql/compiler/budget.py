"""How much work the compilation of one text may take.

In: every node that is translated and every text that is read. Out: nothing, or `InvalidQuery`, or what the caller
raises when its time is up. Invariant: the work grows with the length of the texts, however often their parts name each
other (CTEs or aliases that each name the one before twice double with each of them).
"""

from __future__ import annotations

from dataclasses import field

from penstock.errors import InvalidQuery, Problem
from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.caller import ANYBODY, Caller
from penstock.sql.syntax.problems import place_of

STEPS = 100_000
"""Every text may take this many steps, about a second; for each character it may take STEPS_OF_CHARACTER more."""
STEPS_OF_CHARACTER = 2
STEPS_OF_SELECT = 20
STEPS_BETWEEN_LOOKS = 500
"""Steps between two looks at the caller's time: some milliseconds."""


@dataclass(slots=True)
class CompileBudget:
    """The steps that one compilation, with all pipes that it reads, may still take."""

    left: int = STEPS
    caller: Caller = field(default_factory=lambda: ANYBODY)
    _until_look: int = 0

    def check_time(self) -> None:
        """Raises the caller's error if its time is up."""
        self._until_look = STEPS_BETWEEN_LOOKS
        self.caller.check_time()

    def add_text(self, text: Text) -> None:
        """More steps for a text that is read for the first time."""
        self.check_time()
        self.left += STEPS_OF_CHARACTER * len(text.text)

    def spend(self, text: Text, steps: int = 1) -> None:
        """Raises InvalidQuery, which ends the whole compilation, when nothing is left."""
        self.left -= steps
        self._until_look -= steps
        if self._until_look < 0:
            self.check_time()
        if self.left < 0:
            message = "compiling this takes too many steps: names in it stand for each other again and again"
            hint = "write the result of a part into a data source with a materialized view, and read that"
            raise InvalidQuery(message, [Problem("too-complex", message, place_of(text, None), hint)])
