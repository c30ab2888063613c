"""How new files of a table are laid out, for every version that reads it.

In: a table's sorting key, and its bindings. Out: `FileLayout`. Invariant: a constant is written only into rows in which
every version reads it anyway, so no answer changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from penstock.lake.maintenance.rewrite import ColumnValues, FileLayout, sort_expressions
from penstock.lake.open_tables.shown_columns import constant_columns, older_rows
from penstock.model.manifest import Binding, Transform
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.stored_types import spark_type


def file_layout(sort: Sequence[Transform], bindings: Iterable[Binding]) -> FileLayout:
    """The layout of files of a table with this sorting key, which these bindings read."""
    return FileLayout(sort_expressions(sort), _constants(bindings))


def _constants(bindings: Iterable[Binding]) -> tuple[ColumnValues, ...]:
    found: dict[tuple[int, int], dict[str, str]] = {}
    for binding in bindings:
        for column in constant_columns(binding):
            before = older_rows(column)
            if before is not None and before.cut is not None and not expression_facts(before.expression).is_null:
                value = f"CAST({before.expression} AS {spark_type(column.type)})"
                found.setdefault((before.settled, before.cut), {})[column.physical] = value
    return tuple(ColumnValues(values, *rows) for rows, values in sorted(found.items()))
