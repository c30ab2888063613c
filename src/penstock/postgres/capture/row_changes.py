"""What a message of the stream does to rows.

In: an Insert, Update or Delete and the table as it is at that place. Out: rows for packages. Invariants: an UPDATE that
changes the key is the end of one row and the beginning of another, in this order; no row leaves with a value missing. A
large value that an UPDATE did not change is not in the stream. Where the old row is (REPLICA IDENTITY FULL) it is taken
from there. Else it is fetched from the table as it is now: if the value was changed since, that change comes later in
the stream with its value; if the row is gone, that comes, too, so the row is taken as deleted already. From the place
of the fetch on the store is as Postgres is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from typing_extensions import assert_never

from penstock.errors import Failed
from penstock.postgres.capture.pgoutput import Delete, Insert, Row, Unchanged, Update
from penstock.postgres.capture.schema_tracker import TrackedTable
from penstock.postgres.capture.table_rows import copy_rows, key_condition, sql_name, table_sql
from penstock.postgres.catalog.source_connection import SourceConnection
from penstock.postgres.packages.package import Operation, PackageColumn


class UnknownKey(Failed):
    """Rows of a table cannot be told from each other."""

    code = "unknown-key"


@dataclass(frozen=True, slots=True)
class RowChange:
    """What becomes of one row."""

    operation: Operation
    values: tuple[str | None, ...]
    key_only: bool = False


class ValueSource(Protocol):
    """Fetches values of a row as it is now, by its key; None: the row is gone."""

    def __call__(
        self, table: TrackedTable, key: tuple[object, ...], columns: tuple[PackageColumn, ...]
    ) -> tuple[str | None, ...] | None: ...


def row_changes(message: Insert | Update | Delete, table: TrackedTable, fetch: ValueSource) -> Iterator[RowChange]:
    """The changes of a message. Raises UnknownKey, and what `fetch` raises."""
    match message:
        case Insert(new=new):
            yield RowChange("insert", _complete(new, table))
        case Update(new=new, old=old, old_kind=kind):
            _check_key(table)
            new = _filled(new, old) if old is not None and kind == "O" else new
            if old is not None and table.key_of(old) != table.key_of(new):
                yield RowChange("delete", _known(old), kind == "K")
            yield _updated(new, table, fetch)
        case Delete(old=old, old_kind=kind):
            _check_key(table)
            yield RowChange("delete", _known(old), kind == "K")
        case _:
            assert_never(message)


def _check_key(table: TrackedTable) -> None:
    if not table.key:
        raise UnknownKey(
            f"a row of {table.schema.table} was changed, and the table has no key to tell which",
            hint="give it a primary key, or a replica identity by an index; then `cdc remove` and `cdc add` it",
        )


def _updated(new: Row, table: TrackedTable, fetch: ValueSource) -> RowChange:
    lacking = tuple(at for at, value in enumerate(new) if isinstance(value, Unchanged))
    if not lacking:
        return RowChange("update", _complete(new, table))
    found = fetch(table, table.key_of(new), tuple(table.schema.columns[at] for at in lacking))
    if found is None:
        return RowChange("delete", _known(new), key_only=True)
    values = dict(zip(lacking, found, strict=True))
    return RowChange(
        "update", tuple(values[at] if isinstance(each, Unchanged) else each for at, each in enumerate(new))
    )


def _filled(new: Row, old: Row) -> Row:
    """The new row with the values of the old one where they are unchanged."""
    return tuple(before if isinstance(each, Unchanged) else each for each, before in zip(new, old, strict=True))


def _complete(row: Row, table: TrackedTable) -> tuple[str | None, ...]:
    if any(isinstance(each, Unchanged) for each in row):
        raise Failed(f"a new row of {table.schema.table} lacks a value, which Postgres does not do")
    return _known(row)


def _known(row: Row) -> tuple[str | None, ...]:
    """The values; one that was not sent is NULL here, of a row of which only the key counts."""
    return tuple(None if isinstance(each, Unchanged) else each for each in row)


def value_source(connection: SourceConnection) -> ValueSource:
    """Fetches from the tables of a connection of `open_reader`. A column that was renamed or dropped since is
    Failed."""

    def fetch(
        table: TrackedTable, key: tuple[object, ...], columns: tuple[PackageColumn, ...]
    ) -> tuple[str | None, ...] | None:
        names = [each.name for each in table.schema.columns if each.is_key]
        wanted = ", ".join(sql_name(each.name) for each in columns)
        query = f"SELECT {wanted} FROM {table_sql(table.schema.table)} WHERE {key_condition(names, '=')}"
        rows = copy_rows(connection, query, key)
        return rows[0] if rows else None

    return fetch
