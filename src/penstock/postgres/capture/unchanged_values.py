"""Fetches the large values that an UPDATE left as they were, which Postgres does not send.

In: a row of the stream, the table as it was there, and its place in the log. Out: the values as the row has them now,
or that the row is gone, or which values cannot be had any more. Invariants: a value is of the column (attnum) that it
is fetched for, whatever columns and table are called by now; names and value are of one moment, since one statement
reads both behind the lock that keeps every change of the table away; a value of another type, or of a row that cannot
be told from others, is not taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.errors import Unavailable
from penstock.postgres.capture.schemas.column_numbers import ColumnNumbers, TableDescription, column_numbers
from penstock.postgres.capture.schemas.schema_tracker import TrackedTable
from penstock.postgres.capture.schemas.table_descriptions import TableDescriptions
from penstock.postgres.capture.stream.pgoutput import Row, Unchanged
from penstock.postgres.capture.table_rows import key_condition, own_rows_sql, sql_name
from penstock.postgres.catalog.replicated_table import ReplicatedColumn, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries, UnknownName
from penstock.postgres.catalog.table_snapshot import IS_TABLE, SNAPSHOT, SOURCE, parse_table
from penstock.postgres.packages.package import PackageColumn
from penstock.postgres.packages.row_values import empty_text

Reason = Literal["dropped", "changed"]
"""Why a value cannot be had: its column is gone for ever, or it is there and reading the table again brings it."""
_CHANGED: Reason = "changed"
MOST_TRIES = 20
_TEXTS = frozenset({"text", "character varying"})
_WHOLE_NUMBERS = frozenset({"smallint", "integer", "bigint"})
# The marks of the catalog's rows change with every change of the table.
_STATE = """(SELECT c.xmin::text || ' ' || n.xmin::text || ' ' || c.relname || ' ' || n.nspname || ' ' || (
    SELECT string_agg(a.attnum || ':' || a.xmin, ' ' ORDER BY a.attnum)
    FROM pg_catalog.pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0)
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = %s::oid)"""
_NOW = f"SELECT {_STATE}, {SNAPSHOT}::text FROM {SOURCE} WHERE {IS_TABLE} AND c.oid = %s::oid"


@dataclass(frozen=True, slots=True)
class FetchedValues:
    """What was found for the values that a row lacks."""

    values: Mapping[int, str | None]
    """By the place of their columns; of one that cannot be had what stands for it: NULL, or an empty value."""
    lost: Mapping[str, Reason] = field(default_factory=dict)
    """The columns whose value cannot be had."""


@dataclass(frozen=True, slots=True)
class _TableNow:
    """A table as the catalog describes it now."""

    state: str
    table: ReplicatedTable

    @property
    def description(self) -> TableDescription:
        """The table of now, as one after each change. Whether the trigger is there was looked for a moment ago."""
        return TableDescription(self.table, 0, 0, is_followed=True)


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is read of a row, by the names of now."""

    wanted: Mapping[int, str]
    """Columns by their place in the row."""
    key: Sequence[str] | None
    """None: rows cannot be told from each other by the key that they had."""
    lost: Mapping[int, Reason]


class UnchangedValues:
    """The values of the tables of one capture, over a connection of `open_reader` that commits each statement."""

    def __init__(self, connection: SourceConnection, descriptions: TableDescriptions, type_name: Callable[[int], str]):
        self._connection, self._descriptions, self._type_name = connection, descriptions, type_name
        self._now: dict[int, _TableNow] = {}

    def fetch(self, table: TrackedTable, row: Row, lsn: int) -> FetchedValues | None:
        """The values for what is unchanged in a row; None if the row is gone. Raises Failed, Unavailable."""
        oid = table.relation.oid
        before, after = self._descriptions.before(oid, lsn), self._descriptions.after(oid, lsn)
        for _ in range(MOST_TRIES):
            now = self._now.get(oid) or self._look(oid)
            numbers = column_numbers(table.relation, before, after or (now.description if now is not None else None))
            plan = self._plan(table, row, numbers, now)
            try:
                rows = self._read(now, plan, table.key_of(row)) if now is not None else None
            except (_Moved, UnknownName):
                self._now.pop(oid, None)  # a change of the table came in between
            else:
                return _fetched(table, plan, rows, before.table if before is not None else None)
        raise Unavailable(f"{table.schema.table} changes all the time while values of it are read")

    def _look(self, oid: int) -> _TableNow | None:
        found = _rows(self._connection, _NOW, oid, oid)
        if found:
            self._now[oid] = _TableNow(found[0][0], parse_table(json.loads(found[0][1])))
        return self._now.get(oid)

    def _plan(self, table: TrackedTable, row: Row, numbers: ColumnNumbers, now: _TableNow | None) -> _Plan:
        there = now.table.by_attnum() if now is not None else {}
        wanted: dict[int, str] = {}
        lost: dict[int, Reason] = {}
        for at in (at for at, value in enumerate(row) if isinstance(value, Unchanged)):
            found = there.get(numbers[at] or 0)
            if found is not None and _has_texts_of(table.schema.columns[at], found, self._type_name(found.type.oid)):
                wanted[at] = found.name
            else:
                is_gone = now is None or (numbers[at] is not None and found is None)
                lost[at] = "dropped" if is_gone else "changed"
        return _Plan(wanted, self._key(table, numbers, there), lost)

    def _key(
        self, table: TrackedTable, numbers: ColumnNumbers, there: Mapping[int, ReplicatedColumn]
    ) -> list[str] | None:
        names: list[str] = []
        for at in table.key:
            found = there.get(numbers[at] or 0)
            was = table.schema.columns[at].type
            if found is None or not _are_like(was, self._type_name(found.type.oid)):
                return None
            names.append(found.name)
        return names

    def _read(self, now: _TableNow, plan: _Plan, key: tuple[object, ...]) -> list[tuple[Any, ...]] | None:
        """The rows with a key, of which there is one or none; None: it cannot be told. Raises _Moved if the catalog is
        not as it is known."""
        if plan.key is None:
            return None
        # As in the stream a value is what its type's output function writes, which `format` calls, and a cast does not.
        values = [
            f"CASE WHEN pg_catalog.num_nulls({each}) = 0 THEN pg_catalog.format('%%s', {each}) END"
            for each in map(sql_name, plan.wanted.values())
        ]
        row = f"""SELECT {", ".join(["true", *values])} FROM {own_rows_sql(now.table)}
          WHERE {key_condition(plan.key, "=")} LIMIT 2"""
        text = f"SELECT s.*, f.* FROM (SELECT {_STATE}) AS s LEFT JOIN LATERAL ({row}) AS f ON true"
        found = _rows(self._connection, text, now.table.oid, *key)
        if found[0][0] != now.state:
            raise _Moved
        rows = [each[2:] for each in found if each[1]]
        return rows if len(rows) <= 1 else None


class _Moved(Exception):
    """The table was changed since it was looked at."""


def _fetched(
    table: TrackedTable, plan: _Plan, rows: Sequence[tuple[Any, ...]] | None, before: ReplicatedTable | None
) -> FetchedValues | None:
    if rows is not None and not rows:
        return None
    values = dict(zip(plan.wanted, rows[0], strict=True)) if rows else {}
    lost = {**plan.lost, **{at: _CHANGED for at in plan.wanted if at not in values}}
    columns = table.schema.columns
    empty = {at: _empty_value(columns[at], before) for at in lost}
    return FetchedValues({**values, **empty}, {columns[at].name: reason for at, reason in lost.items()})


def _empty_value(of: PackageColumn, before: ReplicatedTable | None) -> str | None:
    """What stands for a value that cannot be had; where it is not known whether the column has NULL, no store refuses
    an empty one."""
    known = before.column(of.name) if before is not None else None
    return None if known is not None and not known.not_null else empty_text(of.type)


def _has_texts_of(was: PackageColumn, now: ReplicatedColumn, name: str) -> bool:
    """Whether the values that a column has now are written as they were, and fit it."""
    return {was.type, name} <= _TEXTS or (was.type == name and was.typmod == now.type.typmod)


def _are_like(was: str, now: str) -> bool:
    """Whether a key of a type is found by the text that it has in another one."""
    return was == now or {was, now} <= _TEXTS or {was, now} <= _WHOLE_NUMBERS


def _rows(connection: SourceConnection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    return SourceQueries(connection, "read values of a row").rows(statement, *values)
