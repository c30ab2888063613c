"""Warnings for what a change of a data source also does, and is easily missed.

In: a data source in the live and in the next version. Out: warnings. Invariant: none of them changes the plan.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import DataSource
from penstock.plan.diff.changes import join_words, rows_text
from penstock.plan.diff.column_matching import ColumnMatch, is_new_rename
from penstock.plan.diff.ttl_and_final import keeps_no_rows
from penstock.plan.plan import NOTHING, Size


def change_problems(old: DataSource, new: DataSource, match: ColumnMatch, size: Size | None) -> Iterator[Problem]:
    """The warnings for one data source."""
    yield from _unknown_renames(old, new)
    yield from _unfilled_columns(old, new, match)
    if keeps_no_rows(new) and not keeps_no_rows(old) and size != NOTHING:
        rows = rows_text(size.rows if size is not None else None)
        message = f"`{new.name}` becomes an engine Null: queries see none of {rows} that it has"
        hint = "the rows are visible again after a rollback, until the previous version is retired"
        yield Problem("rows-hidden", message, new.engine.location("ENGINE") or new.location, hint, "warning")


def _unknown_renames(old: DataSource, new: DataSource) -> Iterator[Problem]:
    """Columns whose RENAMED_FROM is new and names no live column."""
    for column in new.columns:
        former = column.renamed_from
        if former is not None and is_new_rename(column, old) and old.column(former) is None:
            message = f"`{column.name}` is RENAMED_FROM `{former}`, and live has no such column: nothing is renamed"
            hint = did_you_mean(former, [each.name for each in old.columns if new.column(each.name) is None])
            yield Problem("unknown-rename", message, column.location, hint, "warning")


def _unfilled_columns(old: DataSource, new: DataSource, match: ColumnMatch) -> Iterator[Problem]:
    """Columns that are filled no longer because another column got the first JSON path of the schema."""
    if any(column.json_path is not None for column in old.columns):
        return
    names = [
        f"`{column.name}`"
        for column, origin in match.pairs
        if origin is not None and old.path_of(origin) is not None and new.path_of(column) is None
    ]
    if names:
        verb = "is" if len(names) == 1 else "are"
        message = (
            f"{join_words(names)} of `{new.name}` {verb} no longer filled from rows: now that a column has a JSON path"
        )
        message += ", only columns with one are"
        hint = "give each column that is sent a path, such as `json:$.name`"
        yield Problem("column-not-filled", message, new.location, hint, "warning")
