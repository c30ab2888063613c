"""What a store cannot do with an operation, as a problem that says what to do instead.

In: why. Out: `CannotTranslate`. Invariant: it is raised before anything is changed.
"""

from __future__ import annotations

from penstock.errors import Conflict, Problem
from penstock.postgres.catalog.store_types import LANDING_COLUMNS
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import AddColumn, RenameColumn


class CannotTranslate(Conflict):
    """An operation that a store cannot carry out as it stands."""

    code = "cannot-translate"

    def __init__(self, message: str, hint: str):
        super().__init__(message, [Problem("cannot-translate", message, hint=hint)], hint=hint)


def refuse_view(view: str, why: str) -> CannotTranslate:
    """A view whose new query is the user's to say."""
    hint = f'say its new query in the folder of migrations, in STORE/ID.json: {{"views": {{"{view}": "SELECT …"}}}}'
    return CannotTranslate(f"the view {view} {why}", hint)


def refuse_reserved_names(migration: Migration) -> None:
    """Raises CannotTranslate where a column gets the name of one that a landing has itself."""
    names = [
        each.to if isinstance(each, RenameColumn) else each.name
        for each in migration.operations
        if isinstance(each, (AddColumn, RenameColumn))
    ]
    for each in sorted(LANDING_COLUMNS.intersection(names)):
        raise CannotTranslate(
            f"`{each}` is a name of the landing's own columns, so that the rows of {migration.table_after} would wait",
            "give the column another name, and observe it again",
        )
