"""The tables of each version as other Iceberg readers get them: by name, with metadata made for the version.

In: the name of a namespace (a reference to a deployment) and of a data source. Out: the metadata of a table. Invariant:
what a reader gets by it is what SQL reads of the same deployment; what metadata cannot say is left out, and the table's
properties name it. A name is looked up once, so live's tables change at a promote, all at once.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import orjson
from pyiceberg.table import Table as IcebergTable
from pyiceberg.types import IcebergType, PrimitiveType

from penstock.deploy.queries.default_filling import fill_defaults
from penstock.deploy.queries.open_namespaces import ClosedTable, OpenNamespaces, find_table
from penstock.deploy.runtime.core import Core
from penstock.errors import Failed, NotFound
from penstock.lake.open_tables.constant_values import NESTED, ConstantValues
from penstock.lake.open_tables.file_columns import FileColumnsReader
from penstock.lake.open_tables.shown_columns import (
    Constant,
    FileColumns,
    Json,
    OmittedColumn,
    OpenColumn,
    ShownColumn,
    constant_columns,
    finer_columns,
    may_hide_rows,
    older_rows,
    open_columns,
    state_columns,
)
from penstock.lake.open_tables.version_metadata import OpenTable, VersionMetadata, physical_fields, version_metadata
from penstock.lake.read.bindings import accepted_conditions
from penstock.lake.read.query_execution import QueryLimits, run_query
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables.physical_tables import load_table
from penstock.model.deployment import Deployment
from penstock.model.manifest import KEEPS_NOTHING, REJECTS, Binding, BoundColumn

_UUIDS = uuid.UUID("5e8a0e5e-6f0c-5b0e-9a35-2d7f9d1f3c0a")
"""Begins every `table-uuid` (RFC 9562, version 5); any constant does."""
_KEPT_FILES = {"gc.enabled": "false"}
"""Readers that can write to the storage would else delete what the metadata of one version does not name: Spark's
`remove_orphan_files`, `expire_snapshots`. Source: Iceberg, "Configuration"."""


@dataclass(frozen=True, slots=True)
class PhysicalTable:
    """A physical table as its catalog names it now."""

    table: IcebergTable
    document: Mapping[str, Json]
    """Its metadata as JSON."""
    fields: Mapping[str, int]
    """The ids of its columns, by name."""

    @property
    def snapshot(self) -> int | None:
        return self.table.metadata.current_snapshot_id


_TableColumns: TypeAlias = tuple[PhysicalTable, tuple[OpenColumn, ...]]


class OpenTables:
    """Answers what an Iceberg catalog is asked for. Thread-safe."""

    def __init__(self, core: Core):
        self.namespaces = OpenNamespaces(core.board)
        self._core = core
        self._files = FileColumnsReader()
        self._constants = ConstantValues(core.warehouse.lake)
        self._fills: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def load(self, namespace: str, name: str, misread: Collection[str] = ()) -> VersionMetadata:
        """The metadata of a data source in the version that a namespace means now. Its files stay for `reader_seconds`.
        `misread` are the types of which the reader takes no defaults. Raises NoSuchNamespace, NotFound, ClosedTable,
        DamagedTable."""
        readers, seconds = self._core.board.readers, self._core.settings.maintenance.reader_seconds
        with self.namespaces.reading(namespace) as deployment:
            binding = find_table(deployment, name)
            readers.lease(deployment.id, binding.table, float(seconds))
            found, columns = self._read_filled(deployment, binding, misread)
            self._require_all_rows(deployment, binding, found)
            shown = tuple(each for each in columns if isinstance(each, ShownColumn))
            named = str(uuid.uuid5(_UUIDS, f"{namespace}/{name}"))
            properties = {
                **_KEPT_FILES,
                "penstock.deployment": str(deployment.id),
                "penstock.files-stay-seconds": str(seconds),
                **_properties(binding, found, _omitted(columns)),
            }
            open_table = OpenTable(named, shown, properties, binding.keeps != KEEPS_NOTHING)
            return version_metadata(found.document, found.table.metadata_location, open_table)

    def _read_filled(self, deployment: Deployment, binding: Binding, misread: Collection[str]) -> _TableColumns:
        """The table and its columns, once the defaults are stored that only files can show. One of those who ask at
        once stores them, and the others wait: to rewrite the same files would be a conflict."""
        found, columns = self._read(binding, misread)
        if not any(each.unfilled for each in _omitted(columns)):
            return found, columns
        with self._filling(binding.table):
            found, columns = self._read(binding, misread)
            if fill_defaults(self._core, deployment.manifest, binding, _omitted(columns)):
                found, columns = self._read(binding, misread)
        return found, columns

    def _filling(self, table: str) -> threading.Lock:
        with self._guard:
            return self._fills.setdefault(table, threading.Lock())

    def _read(self, binding: Binding, misread: Collection[str]) -> _TableColumns:
        found = self._physical_table(binding)
        return found, self._columns(binding, found, misread)

    def _physical_table(self, binding: Binding) -> PhysicalTable:
        found = load_table(self._core.warehouse.lake, binding.table)
        if found is None:
            raise NotFound(f"the table of `{binding.name}` is not in the catalog", hint="see `penstock status`")
        document = orjson.loads(found.metadata.model_dump_json())
        return PhysicalTable(found, document, physical_fields(document))

    def _columns(self, binding: Binding, found: PhysicalTable, misread: Collection[str]) -> tuple[OpenColumn, ...]:
        asked = [column.physical for column in binding.columns if older_rows(column) is not None]
        files = self._read_files(found, asked)
        types = {field.name: field.field_type for field in found.table.schema().fields}
        constants = {
            column.name: self._constant(column, types[column.physical], misread)
            for column in constant_columns(binding)
            if column.physical in types
        }
        return open_columns(binding, found.fields, files, constants)

    def _constant(self, column: BoundColumn, stored: IcebergType, misread: Collection[str]) -> Constant:
        of = str(stored) if isinstance(stored, PrimitiveType) else NESTED
        found = self._constants.of(column, of)
        is_misread = found.kind == "default" and found.value is not None and of in misread
        return replace(found, kind="stored") if is_misread else found

    def _read_files(self, found: PhysicalTable, columns: list[str]) -> tuple[FileColumns, ...]:
        """The files of the current snapshot, as far as these columns go; none are read if there are no columns."""
        current = found.table.current_snapshot()
        asked = frozenset(found.fields[each] for each in columns if each in found.fields)
        if current is None or not asked:
            return ()
        try:
            return self._files.read(found.table, current, asked)
        except OSError as error:
            raise Failed(f"the files of {found.table.name()[-1]} cannot be read: {error}") from error

    def _require_all_rows(self, deployment: Deployment, binding: Binding, found: PhysicalTable) -> None:
        """Raises ClosedTable if the snapshot has rows that the version rejects, and what a query raises."""
        conditions = accepted_conditions(binding.accepts)
        if not conditions or found.snapshot is None or binding.keeps == KEEPS_NOTHING:
            return
        if not may_hide_rows(self._read_files(found, [REJECTS]), found.fields.get(REJECTS)):
            return
        rows = f"{qualified_table(binding.table)} VERSION AS OF {found.snapshot}"
        sql = f"SELECT 1 FROM {rows} WHERE NOT ({' AND '.join(conditions)}) LIMIT 1"
        server = self._core.settings.server
        most = QueryLimits(server.max_query_seconds, server.max_result_rows, server.max_result_bytes)
        if run_query(self._core.warehouse.lake.spark, sql, (), most).rows:
            raise ClosedTable(
                f"`{binding.name}` shares its table with another version, and has rows that version {deployment.id}"
                " rejects: an Iceberg reader would get them too",
                hint="read it by /v0/sql, which leaves them out",
            )


def _omitted(columns: tuple[OpenColumn, ...]) -> tuple[OmittedColumn, ...]:
    return tuple(each for each in columns if isinstance(each, OmittedColumn))


def _properties(binding: Binding, physical: PhysicalTable, omitted: tuple[OmittedColumn, ...]) -> Mapping[str, str]:
    """What a reader should know of the rows, for people to read. Nothing of it changes unless the table does."""
    found: dict[str, str] = {}
    if omitted:
        found["penstock.left-out-columns"] = "; ".join(f"{each.name}: {each.reason}" for each in omitted)
    stored = {field.name: str(field.field_type) for field in physical.table.schema().fields}
    if finer := finer_columns(binding, stored):
        found["penstock.unrounded-columns"] = f"{', '.join(finer)}: stored as Float64 by a newer version; SQL rounds"
    if states := state_columns(binding):
        found["penstock.states"] = f"{', '.join(states)}: states of aggregate functions, which only SQL can merge"
    if binding.merge is not None:
        keys = ", ".join(binding.merge.keys)
        found["penstock.unmerged"] = f"rows with equal {keys or 'keys'} are as they were inserted, as without FINAL"
    if binding.keeps == KEEPS_NOTHING:
        found["penstock.rows"] = "none: its engine is Null"
    elif binding.keeps is not None:
        found["penstock.expired-rows"] = (
            f"they stay until maintenance deletes them; SQL shows rows with {binding.keeps}"
        )
    return found
