"""What a store cannot do with an operation, as a problem that says what to do instead.

In: why. Out: `CannotTranslate`. Invariant: it is raised before anything is changed.
"""

from __future__ import annotations

from penstock.errors import Conflict, Problem


class CannotTranslate(Conflict):
    """An operation that a store cannot carry out as it stands."""

    code = "cannot-translate"

    def __init__(self, message: str, hint: str):
        super().__init__(message, [Problem("cannot-translate", message, hint=hint)], hint=hint)


def refuse_view(view: str, why: str) -> CannotTranslate:
    """A view whose new query is the user's to say."""
    hint = f'say its new query in the folder of migrations, in STORE/ID.json: {{"views": {{"{view}": "SELECT …"}}}}'
    return CannotTranslate(f"the view {view} {why}", hint)
