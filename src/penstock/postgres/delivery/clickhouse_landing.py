"""Delivers packages into tables of a ClickHouse.

In: packages and a connection. Out: rows, and positions in a table of their own. Invariants: before each insert the
table is asked for its columns, and nothing is inserted that it would drop, wrap around or cut; an insert names the
types that were asked for, and is refused where a column has another one by then. An insert is one block,
which is there whole or not at all. Its position is written down as intended before, and as done after it. What was
intended when this process was killed, or failed (it may be in the table and not in a view), is sent again with the same
rows under the same name, and ClickHouse leaves it out where it is (`insert_deduplication_token`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from penstock.crash_points import crash_point
from penstock.errors import Failed, PenstockError
from penstock.model.cursor import Position, position_text
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.store_types import clickhouse_type
from penstock.postgres.delivery.clickhouse_values import default_value, refused_value
from penstock.postgres.delivery.destination import Delivered, StoreLacksColumns, UnstorableRow
from penstock.postgres.packages.package import Package, PackageRow, RowPackage, TruncatePackage
from penstock.postgres.packages.row_values import DELETED, VERSION, json_row, unstorable_time
from penstock.postgres.stores.clickhouse_server import ClickHouseConnection

POSITIONS = "penstock_positions"
SOURCE, POSITION = "cdc_source", "cdc_position"
INTENDED, DONE, FAILED = 0, 1, 2
_FORMAT = "JSONCompactEachRowWithNamesAndTypes"
_POSITIONS_TABLE = """CREATE TABLE IF NOT EXISTS {name} (source String, store String, after Array(UInt64),
  upto Array(UInt64), state UInt8, number UInt64) ENGINE = ReplacingMergeTree(number) ORDER BY (source, store)"""
_SETTINGS = """SETTINGS input_format_skip_unknown_fields = 0, date_time_input_format = 'best_effort', async_insert = 0,
  input_format_with_names_use_header = 1, input_format_with_types_use_header = 1, input_format_null_as_default = 1,
  input_format_parallel_parsing = 0, insert_deduplicate = 1, insert_deduplication_token = {token},
  deduplicate_blocks_in_dependent_materialized_views = 1"""
"""A block that the table leaves out still goes to its views, whose targets leave it out if they know its name: they do
where every insert said so, and they remember blocks."""


@dataclass(slots=True)
class _Progress:
    """How far a source is in a table."""

    after: Position | None
    upto: Position | None
    state: int
    number: int

    @property
    def stored(self) -> Position | None:
        return self.upto if self.state == DONE else self.after


def clickhouse_table(table: ReplicatedTable, key: Sequence[str], store: str, database: str) -> str:
    """The statement that makes the table in which a table of Postgres lands. Without a key every row is kept."""
    columns = [f"{sql_name(each.name)} {clickhouse_type(each)}" for each in table.columns]
    columns += [
        f"{VERSION} UInt64",
        f"{DELETED} UInt8",
        f"{SOURCE} LowCardinality(String)",
        f"{POSITION} Array(UInt64)",
    ]
    engine = f"ReplacingMergeTree({VERSION}, {DELETED})" if key else "MergeTree"
    order = ", ".join(map(sql_name, key)) or POSITION
    return (
        f"CREATE TABLE IF NOT EXISTS {sql_name(database)}.{sql_name(store)} ({', '.join(columns)}) ENGINE = {engine} "
        f"ORDER BY ({order}) SETTINGS non_replicated_deduplication_window = 1000"
    )


def sql_name(name: str) -> str:
    """An identifier as SQL of ClickHouse."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def sql_text(text: str) -> str:
    """A text as SQL of ClickHouse."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class ClickHouseLanding:
    """Tables of one database."""

    is_broker = False

    def __init__(self, connection: ClickHouseConnection, database: str, name: str = "clickhouse"):
        self.name = name
        self._connection, self._database = connection, database
        self._positions = f"{sql_name(database)}.{POSITIONS}"
        self._known: dict[tuple[str, str], _Progress] = {}
        self._has_table = False

    def position(self, source: str, store: str) -> Position | None:
        return self._progress(source, store).stored

    def forget_position(self, source: str, store: str) -> None:
        self._known.pop((source, store), None)

    def unsure(self, source: str, store: str) -> Position | None:
        progress = self._progress(source, store)
        return progress.upto if progress.state != DONE else None

    def deliver(self, package: Package) -> Delivered:
        progress = self._progress(package.source, package.store)
        match package:
            case RowPackage():
                self._append(package, progress)
            case TruncatePackage():
                self._connection.run(f"TRUNCATE TABLE {self._table(package.store)}")
                self._note(package, progress, DONE)
        return Delivered(package.upto)

    def close(self) -> None:
        """There is nothing to let go of."""

    def _append(self, package: RowPackage, progress: _Progress) -> None:
        columns = self._checked_columns(package)
        unsure = progress.upto if progress.state != DONE else None
        first = [row for row in package.rows if unsure is not None and row.position <= unsure]
        if first and first[-1].position == unsure:  # the same rows under the same name as before
            self._insert(package.part(first, progress.stored), progress, columns)
            rest = package.rows[len(first) :]
        else:
            rest = package.rows
        if rest:
            self._insert(package.part(rest, progress.stored), progress, columns)

    def _insert(self, part: RowPackage, progress: _Progress, columns: Mapping[str, str]) -> None:
        self._note(part, progress, INTENDED)
        crash_point("cdc.before-insert")
        token = f"{part.source} {part.store} {position_text(part.upto)}"
        into = {each: columns[each] for each in _names(part)}
        lines = [[*into], [*into.values()], *(_stored_row(part, row, into) for row in part.rows)]
        names, settings = ", ".join(map(sql_name, into)), _SETTINGS.format(token=sql_text(token))
        insert = f"INSERT INTO {self._table(part.store)} ({names}) {settings} FORMAT {_FORMAT}\n"
        try:
            self._connection.run(insert + "\n".join(orjson.dumps(each).decode() for each in lines))
        except PenstockError:
            self._note(part, progress, FAILED)
            raise
        crash_point("cdc.inserted")
        self._note(part, progress, DONE)

    def _checked_columns(self, package: RowPackage) -> Mapping[str, str]:
        """The types of the columns, which hold all values. Raises Failed without the table, StoreLacksColumns,
        UnstorableRow."""
        columns = self._columns(package.store)
        if not columns:
            raise Failed(
                f"ClickHouse has no table `{self._database}.{package.store}`", hint="`penstock cdc setup --store`"
            )
        lacking = [each for each in _names(package) if each not in columns]
        if lacking:
            raise StoreLacksColumns(package.store, lacking)
        for at, column in enumerate(package.schema.columns):
            for row in package.rows:
                value = row.values[at]
                why = unstorable_time(column, value) or refused_value(columns[column.name], column.name, value)
                if why is not None and (column.is_key or not row.key_only):
                    raise UnstorableRow(f"`{package.store}` cannot hold a row: {why}; it waits")
        return columns

    def _columns(self, store: str) -> Mapping[str, str]:
        query = f"""SELECT name, type FROM system.columns
          WHERE database = {sql_text(self._database)} AND table = {sql_text(store)}"""
        return {str(name): str(of) for name, of in self._connection.rows(query)}

    def _progress(self, source: str, store: str) -> _Progress:
        key = (source, store)
        if key not in self._known:
            if not self._has_table:
                self._connection.run(_POSITIONS_TABLE.format(name=self._positions))
                self._has_table = True
            query = f"""SELECT after, upto, state, number FROM {self._positions} FINAL
              WHERE source = {sql_text(source)} AND store = {sql_text(store)}"""
            rows = self._connection.rows(query)
            found = _progress_of(rows[0]) if rows else _Progress(None, None, DONE, 0)
            self._known[key] = self._settled(source, store, found)
        return self._known[key]

    def _settled(self, source: str, store: str, found: _Progress) -> _Progress:
        """What was intended when its process was killed is done, if the table has its last row; if it has not, a later
        row may have taken its place."""
        if found.state != INTENDED or found.upto is None:
            return found
        last = f"{POSITION} = [{', '.join(map(str, found.upto))}]"
        query = f"SELECT count() FROM {self._table(store)} WHERE {SOURCE} = {sql_text(source)} AND {last}"
        found.state = DONE if int(str(self._connection.rows(query)[0][0])) else INTENDED
        return found

    def _note(self, package: Package, progress: _Progress, state: int) -> None:
        """Write down where a source is."""
        after = progress.after if state != INTENDED and progress.upto == package.upto else progress.stored
        number = progress.number + 1
        values = f"{sql_text(package.source)}, {sql_text(package.store)}, {_array(after)}, {_array(package.upto)}"
        self._connection.run(f"INSERT INTO {self._positions} VALUES ({values}, {state}, {number})")
        progress.after, progress.upto, progress.state, progress.number = after, package.upto, state, number

    def _table(self, store: str) -> str:
        return f"{sql_name(self._database)}.{sql_name(store)}"


def _names(package: RowPackage) -> tuple[str, ...]:
    """The columns that an insert fills."""
    return (*package.schema.names, VERSION, DELETED, SOURCE, POSITION)


def _stored_row(package: RowPackage, row: PackageRow, columns: Mapping[str, str]) -> list[object]:
    """The values of a row; the columns of a deleted row of which only the key is known get the defaults of their
    types."""
    found = {**json_row(package.schema, row), SOURCE: package.source, POSITION: list(row.position)}
    return [found[name] if name in found else default_value(of) for name, of in columns.items()]


def _array(position: Position | None) -> str:
    return f"[{', '.join(map(str, position or ()))}]"


def _progress_of(row: Sequence[object]) -> _Progress:
    after, upto, state, number = row
    return _Progress(_position_of(after), _position_of(upto), int(str(state)), int(str(number)))


def _position_of(value: object) -> Position | None:
    assert isinstance(value, list), "an array"
    return tuple(int(str(each)) for each in value) or None
