"""Rows that a store has only a part of, since it lacked a column: kept whole in the source's Postgres until they are
replayed.

In: the DSN and the capture. Out: rows in `penstock.kept_rows`, and packages of them. Invariants: a row is kept once for
each consumer, however often its package is sent; it goes only after the store has it whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from penstock.errors import Failed, PenstockError
from penstock.postgres.capture.source_session import SourceSession
from penstock.postgres.catalog.catalog_reader import OWN_SCHEMA
from penstock.postgres.catalog.source_connection import SourceConnection, SourceQueries
from penstock.postgres.packages.package import RowPackage
from penstock.postgres.packages.package_codec import decode_package, encode_package

TABLE = f"{OWN_SCHEMA}.kept_rows"
DEFINITION = f"""
CREATE TABLE IF NOT EXISTS {TABLE} (
  capture text, consumer text, store text, source text, position numeric[], columns text[] NOT NULL,
  package text NOT NULL, at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (capture, consumer, store, source, position));
"""
PART_ROWS = 1_000
KeptKey: TypeAlias = "tuple[str, str]"
"""A consumer, and the name of a table in its store."""


@dataclass(frozen=True, slots=True)
class KeptCount:
    """How many rows of a table are kept for a consumer."""

    rows: int
    columns: tuple[str, ...]
    """What the store lacked."""


@dataclass(frozen=True, slots=True)
class KeptPart:
    """Rows of one table, one source and one schema."""

    package: RowPackage
    """What is sent: each row has a version just above the one of its change, of which the store has a part."""
    source: str
    positions: tuple[str, ...]
    """By which the rows are known here."""


class KeptRows:
    """The rows of one capture. Its methods raise Failed and Unavailable."""

    def __init__(self, dsn: str, capture: str):
        self._session, self._capture = SourceSession(dsn), capture
        self._is_there = False

    def may_keep(self, store: str) -> bool:
        """Whether a row of a table may come twice: where only inserted rows are taken, each one stays."""
        statement = f"SELECT insert_only FROM {OWN_SCHEMA}.captured_tables WHERE capture = %s AND store = %s"
        found = self._asked(statement, self._capture, store)
        return bool(found) and not found[0][0]

    def keep(self, consumer: str, package: RowPackage, columns: Collection[str]) -> None:
        """Keep the rows of a package for a consumer."""
        alone = [package.part([each], None) for each in package.rows]
        positions, texts = [_array(each.upto) for each in alone], [encode_package(each).decode() for each in alone]
        statement = f"""INSERT INTO {TABLE} (capture, consumer, store, source, position, columns, package)
          SELECT %s, %s, %s, %s, p::numeric[], %s, t FROM unnest(%s::text[], %s::text[]) AS u (p, t)
          ON CONFLICT DO NOTHING"""
        values = (self._capture, consumer, package.store, package.source, sorted(columns), positions, texts)
        self._asked(f"{statement} RETURNING 1", *values)

    def next_part(self, consumer: str, store: str) -> KeptPart | None:
        """The first rows that are kept of a table; None if there are none."""
        statement = f"""SELECT source, position::text, package FROM {TABLE}
          WHERE capture = %s AND consumer = %s AND store = %s ORDER BY source, position LIMIT {PART_ROWS}"""
        found = self._asked(statement, self._capture, consumer, store)
        return _part(found) if found else None

    def forget(self, consumer: str, part: KeptPart) -> None:
        """The store has the rows whole."""
        statement = f"""DELETE FROM {TABLE} WHERE capture = %s AND consumer = %s AND store = %s AND source = %s
          AND position = ANY (SELECT p::numeric[] FROM unnest(%s::text[]) AS u (p)) RETURNING 1"""
        values = (self._capture, consumer, part.package.store, part.source, [*part.positions])
        self._asked(statement, *values)

    def forget_table(self, consumer: str, store: str) -> None:
        """The rows of a table are gone from Postgres."""
        statement = f"DELETE FROM {TABLE} WHERE capture = %s AND consumer = %s AND store = %s RETURNING 1"
        self._asked(statement, self._capture, consumer, store)

    @contextmanager
    def alone(self, consumer: str, store: str) -> Iterator[None]:
        """A block that no other process is in for the same rows: what a replay sends is before a TRUNCATE, or is not
        sent."""
        key = f"{self._capture} {consumer} {store}"
        self._asked("SELECT pg_catalog.pg_advisory_lock(pg_catalog.hashtextextended(%s, 0))", key)
        try:
            yield
        finally:
            with suppress(PenstockError):  # then the connection is closed, and the lock gone with it
                self._asked("SELECT pg_catalog.pg_advisory_unlock(pg_catalog.hashtextextended(%s, 0))", key)

    def stores(self, consumer: str) -> list[str]:
        """The tables of which rows are kept."""
        statement = f"SELECT DISTINCT store FROM {TABLE} WHERE capture = %s AND consumer = %s ORDER BY 1"
        return [str(row[0]) for row in self._asked(statement, self._capture, consumer)]

    def _asked(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a statement. Raises Failed where a capture was set up before rows could be kept."""

        def ask(source: SourceConnection) -> list[tuple[Any, ...]]:
            self._is_there = self._is_there or _has_table(source)
            if not self._is_there:
                raise Failed(f"the source has no table `{TABLE}`", hint="`penstock cdc setup` once more makes it")
            return _rows(source, statement, *values)

        return self._session.run(ask)


def forget_kept_rows(connection: SourceConnection, capture: str, store: str | None = None) -> None:
    """All rows of a table, or of the capture, are read again: what was kept of them is no more than they are."""
    if _has_table(connection):
        chosen = "AND store = %s" if store is not None else ""
        values = [capture, store] if store is not None else [capture]
        _rows(connection, f"DELETE FROM {TABLE} WHERE capture = %s {chosen} RETURNING 1", *values)


def count_kept_rows(connection: SourceConnection, capture: str) -> dict[KeptKey, KeptCount]:
    """What is kept for each consumer and table."""
    if not _has_table(connection):
        return {}
    statement = f"""SELECT consumer, store, count(DISTINCT (source, position)), array_agg(DISTINCT c ORDER BY c)
      FROM {TABLE}, unnest(columns) AS u (c) WHERE capture = %s GROUP BY consumer, store"""
    return {
        (consumer, store): KeptCount(int(count), tuple(columns))
        for consumer, store, count, columns in _rows(connection, statement, capture)
    }


def _has_table(connection: SourceConnection) -> bool:
    return bool(_rows(connection, "SELECT 1 WHERE pg_catalog.to_regclass(%s) IS NOT NULL", TABLE))


def _part(found: Sequence[tuple[Any, ...]]) -> KeptPart:
    """The first of these rows that have one source and one schema."""
    source, positions, packages = found[0][0], [], list[RowPackage]()
    for of, position, text in found:
        package = decode_package(text.encode())
        assert isinstance(package, RowPackage), "only rows are kept"
        if of != source or (packages and package.schema != packages[0].schema):
            break
        packages.append(package)
        positions.append(position)
    rows = [replace(each.rows[0], version=each.rows[0].version + 1) for each in packages]
    whole = replace(packages[0], source=f"{source}/kept")
    return KeptPart(whole.part(rows, None), source, tuple(positions))


def _array(position: Sequence[int]) -> str:
    return "{" + ",".join(map(str, position)) + "}"


def _rows(connection: SourceConnection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    return SourceQueries(connection, "worked on the rows that are kept in the schema `penstock`").rows(
        statement, *values
    )
