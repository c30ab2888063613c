"""Reads tables outside of this server for one run of a copy.

In: the tables that its SQL names, and which columns it uses. Out: their columns with types, and their rows in Parquet
files. Invariant: connections and files are gone when the block ends, whatever ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from types import TracebackType

from penstock.deploy.external.iceberg.iceberg_tables import IcebergTables
from penstock.deploy.external.mysql_tables import MysqlTables
from penstock.deploy.external.postgres_tables import PostgresTables
from penstock.deploy.external.remote_files import RemoteFileTables
from penstock.deploy.external.table_file import TableFile
from penstock.deploy.external.web_client import WebClient
from penstock.model.external_tables import ExternalColumns, ExternalTable, IcebergTable, RemoteFiles
from penstock.model.settings import CopySettings
from penstock.sql.query import ExternalRead


class ExternalTables:
    """A block in which a copy reads tables outside of this server. Its files are named after `path`."""

    def __init__(self, path: Path, stops: Callable[[], bool], settings: CopySettings):
        self._path, self._stops, self._settings = path, stops, settings
        self._open = ExitStack()
        self._client: WebClient | None = None
        self._files: RemoteFileTables | None = None
        self._iceberg: IcebergTables | None = None
        self._databases: dict[str, PostgresTables | MysqlTables] = {}

    def __enter__(self) -> ExternalTables:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def columns(self, table: ExternalTable, names: frozenset[str]) -> ExternalColumns:
        """The columns of a table. Raises UnreadableTable, WorkCancelled."""
        if isinstance(table, RemoteFiles):
            return self._remote_files().columns(table)
        if isinstance(table, IcebergTable):
            return self._iceberg_tables().columns(table)
        return self._database(table.system).columns(table, names)

    def read(self, wanted: ExternalRead) -> TableFile:
        """Write the used columns of a table to a file; of a table without a used one, any column. Raises Failed,
        WorkCancelled, OSError."""
        if isinstance(wanted.table, RemoteFiles):
            return self._remote_files().read(wanted)
        if isinstance(wanted.table, IcebergTable):
            return self._iceberg_tables().read(wanted)
        return self._database(wanted.table.system).read(wanted)

    def _remote_files(self) -> RemoteFileTables:
        if self._files is None:
            tables = RemoteFileTables(self._path, self._stops, self._settings, self._web())
            self._files = self._open.enter_context(closing(tables))
        return self._files

    def _iceberg_tables(self) -> IcebergTables:
        if self._iceberg is None:
            self._iceberg = self._open.enter_context(closing(IcebergTables(self._path, self._stops, self._web())))
        return self._iceberg

    def _web(self) -> WebClient:
        """One for all, since a run has one limit of bytes."""
        if self._client is None:
            self._client = self._open.enter_context(closing(WebClient(self._settings, self._stops)))
        return self._client

    def _database(self, system: str) -> PostgresTables | MysqlTables:
        if system not in self._databases:
            if system == "postgresql":
                self._databases[system] = self._open.enter_context(PostgresTables(self._path, self._stops))
            else:
                self._databases[system] = self._open.enter_context(MysqlTables(self._path, self._stops))
        return self._databases[system]
