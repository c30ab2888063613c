"""Name single rows of a table in SQL, so that a view can be run for some of them, or for all but some.

In: a binding, a part of the table and a selection of its rows. Out: Spark SQL. Invariant: a row's name depends on its
`_seq` and on the values that the view reads, and on nothing else; rows that agree in both are the same to the view.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from penstock.lake.read.bindings import TablePart, binding_relation, with_seq
from penstock.model.manifest import SEQ, Binding
from penstock.sql.spark_text import quote_identifier, string_literal

MARK, RAW = "_mark", "_raw"
_PLACE = f"coalesce({SEQ}, -1)"
"""The `_seq` in a row's name; -1 for a row from outside, which has none: views process it like any other."""


class RowName(NamedTuple):
    """The name of a row of a table, ordered by `_seq`."""

    seq: int
    mark: str
    """Tells rows with the same `_seq` apart: rows that a view made of one batch may have the same."""


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Some rows of a part of a table."""

    pieces: tuple[tuple[RowName, RowName], ...] | None = None
    """The first and the last name of each piece that is read; None: all rows."""
    without: frozenset[RowName] = frozenset()
    """Rows that are left out."""


ALL_ROWS = RowSelection()


def selected_relation(binding: Binding, part: TablePart, selection: RowSelection) -> str:
    """Like `binding_relation`, with only the selected rows."""
    if selection == ALL_ROWS:
        return binding_relation(binding, part)
    columns = ", ".join(quote_identifier(column.name) for column in binding.columns) or "1 AS `_`"
    return f"(SELECT {columns} FROM {_rows(binding, part)} WHERE {_condition(binding, selection)})"


def row_names_sql(binding: Binding, part: TablePart, selection: RowSelection) -> str:
    """Each name of the selected rows once: its `_seq` and its mark."""
    names = f"{_PLACE} AS {SEQ}, {_mark(binding)} AS {MARK}"
    return f"SELECT DISTINCT {names} FROM {_rows(binding, part)} WHERE {_condition(binding, selection)}"


def row_texts_sql(binding: Binding, part: TablePart, rows: Collection[RowName]) -> str:
    """The rows with these names: `_seq`, mark and the row as JSON."""
    columns = f"{_PLACE} AS {SEQ}, {_mark(binding)} AS {MARK}, {_row_text(binding)} AS {RAW}"
    return f"SELECT {columns} FROM {_rows(binding, part)} WHERE {names_condition(binding, rows)}"


def names_condition(binding: Binding, rows: Collection[RowName]) -> str:
    """The condition for rows with these names."""
    seqs = ", ".join(str(seq) for seq in sorted({row.seq for row in rows}))
    pairs = ", ".join(f"({row.seq}L, {string_literal(row.mark)})" for row in sorted(rows))
    return f"({_PLACE} IN ({seqs}) AND ({_PLACE}, {_mark(binding)}) IN ({pairs}))" if rows else "false"


def _condition(binding: Binding, selection: RowSelection) -> str:
    conditions = [f"NOT {names_condition(binding, selection.without)}"] if selection.without else []
    if selection.pieces is not None:
        mark = _mark(binding)
        within = (
            f"(({_PLACE} > {first.seq} OR {_PLACE} = {first.seq} AND {mark} >= {string_literal(first.mark)})"
            f" AND ({_PLACE} < {last.seq} OR {_PLACE} = {last.seq} AND {mark} <= {string_literal(last.mark)}))"
            for first, last in selection.pieces
        )
        conditions.append(f"({' OR '.join(within) or 'false'})")
    return " AND ".join(conditions) or "true"


def _rows(binding: Binding, part: TablePart) -> str:
    known = binding if binding.column(SEQ) is not None else with_seq(binding)
    return f"{binding_relation(known, part)} AS `rows`"


def _mark(binding: Binding) -> str:
    return f"lpad(hex(xxhash64({_row_text(binding)})), 16, '0')"


def _row_text(binding: Binding) -> str:
    """The row's values as JSON, without `_seq`."""
    columns = [quote_identifier(column.name) for column in binding.columns if column.name != SEQ]
    return f"to_json(struct({', '.join(columns) or '1 AS `_`'}), map('ignoreNullFields', 'false'))"
