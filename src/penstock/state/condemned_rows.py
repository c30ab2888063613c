"""Rows that a flow must leave out because its step fails for them: decided once, kept until the flow has passed them.

In: `CondemnedRow` values. Out: those of one flow, numbered in the order of the decisions. Invariant: a decision is here
before any table acts on it, so a step that is run again after a crash leaves out the same rows; numbers of a flow only
grow, so that a quarantine which records the last one it has gets each row once.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import sqlalchemy as sa

from penstock.state.database import Database
from penstock.state.schema import condemned_rows as rows_table
from penstock.state.transactions.locks import take_named_lock


@dataclass(frozen=True, slots=True)
class CondemnedRow:
    """A row of a flow's source that the flow leaves out."""

    seq: int
    """The row's `_seq` in the source."""
    mark: str
    """Of a landing: the version that rejects the row. Of a view: which of the rows with this `_seq` it is."""
    problem: str
    """Why the step failed for it."""
    raw: str = ""
    """The row as JSON; empty for a landing, whose rows are in the inbox."""
    number: int = 0
    """1, 2, 3 … in the order of the decisions about the flow's rows; 0 before it is stored."""
    left_out_at: str | None = None
    """Of a view: its position before the last step that left the row out; None before there was one. If the view is at
    another position, that step was committed."""


class CondemnedRows:
    """The condemned rows of every flow. A flow is a table and the id of a flow into it."""

    def __init__(self, database: Database):
        self._database = database

    def of_flow(self, flow: tuple[str, str]) -> tuple[CondemnedRow, ...]:
        """The flow's condemned rows, in the order of their numbers."""
        columns = (rows_table.c[name] for name in ("seq", "mark", "problem", "raw", "number", "left_out_at"))
        query = sa.select(*columns).where(_is_of(flow)).order_by(rows_table.c.number)
        with self._database.read() as connection:
            return tuple(CondemnedRow(*row) for row in connection.execute(query))

    def add(self, flow: tuple[str, str], rows: Sequence[CondemnedRow], after: int = 0) -> tuple[CondemnedRow, ...]:
        """Condemn rows that are not condemned yet, with numbers above `after` and above those stored. Returns them as
        they are stored."""
        with self._database.write() as connection:
            take_named_lock(connection, rows_table.name)
            last = sa.select(sa.func.max(rows_table.c.number)).where(_is_of(flow))
            first = max(after, connection.execute(last).scalar_one() or 0) + 1
            known = sa.select(rows_table.c.seq, rows_table.c.mark).where(_is_of(flow))
            stored = set(connection.execute(known).tuples().all())
            new = [each for each in rows if (each.seq, each.mark) not in stored]
            added = tuple(replace(each, number=number) for number, each in enumerate(new, first))
            if added:
                connection.execute(sa.insert(rows_table), [_values(flow, each) for each in added])
        return added

    def leave_out(self, flow: tuple[str, str], numbers: Collection[int], position: str) -> None:
        """Note that the flow's next step leaves these rows out, before it is committed. A step from the same position
        that left more of them out was not committed: the next one may be smaller, and not pass the others."""
        with self._database.write() as connection:
            before = sa.and_(_is_of(flow), rows_table.c.left_out_at == position)
            connection.execute(sa.update(rows_table).where(before).values(left_out_at=None))
            for some in _parts(sorted(numbers)):
                those = sa.and_(_is_of(flow), rows_table.c.number.in_(some))
                connection.execute(sa.update(rows_table).where(those).values(left_out_at=position))

    def forget(self, flow: tuple[str, str], numbers: Collection[int]) -> None:
        """Forget rows that the flow has passed and its quarantine has."""
        if not numbers:
            return
        with self._database.write() as connection:
            for some in _parts(sorted(numbers)):
                connection.execute(sa.delete(rows_table).where(_is_of(flow), rows_table.c.number.in_(some)))


def _is_of(flow: tuple[str, str]) -> sa.ColumnElement[bool]:
    return sa.and_(rows_table.c.table_id == flow[0], rows_table.c.flow == flow[1])


def _values(flow: tuple[str, str], row: CondemnedRow) -> dict[str, object]:
    # Postgres stores no NUL in text.
    texts = {name: getattr(row, name).replace("\0", "\N{REPLACEMENT CHARACTER}") for name in ("problem", "raw")}
    keys = {"table_id": flow[0], "flow": flow[1], "seq": row.seq, "mark": row.mark}
    return {**keys, **texts, "number": row.number, "found_at": datetime.now(timezone.utc)}


def _parts(numbers: Sequence[int], size: int = 500) -> Sequence[Sequence[int]]:
    """The numbers in parts that a database takes as parameters of one statement."""
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]
