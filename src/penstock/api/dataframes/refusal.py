"""What a view over DataFrames may not do, as an exception with a hint.

In: a sentence and what to do instead. Out: `RefusedInView`. Invariant: it is raised in the user's call, so that the
stack has the line to change.
"""

from __future__ import annotations


class RefusedInView(Exception):
    """Raised by DataFrames of a view for what a view cannot do."""

    def __init__(self, message: str, hint: str):
        super().__init__(message)
        self.hint = hint
