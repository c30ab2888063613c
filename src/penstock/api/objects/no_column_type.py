"""The error of an annotation that no column can have.

In: what is wrong and what to write. Out: `NoColumnType`. Invariant: it is shown at the field, as a problem.
"""

from __future__ import annotations


class NoColumnType(ValueError):
    """An annotation that is no type of a column."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.message, self.hint = message, hint
