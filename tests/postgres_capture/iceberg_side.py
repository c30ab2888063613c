"""Tables of Iceberg behind a capture: a consumer as others may write one, with PyIceberg.

In: packages. Out: rows, and the position of their source in the same commit. Invariant: a value that the table has no
column for is refused, so its rows wait.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from penstock.crash_points import crash_point
from penstock.errors import Unavailable
from penstock.model.cursor import Position, parse_position, position_text
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.catalog.store_types import iceberg_type
from penstock.postgres.delivery.destination import Delivered, Destination, StoreLacksColumns
from penstock.postgres.packages.package import Package, RowPackage
from penstock.postgres.packages.row_values import json_row
from penstock.postgres.stores.iceberg_store import IcebergStore
from penstock.postgres.stores.migration_store import MigrationStore

_TYPES = {"int": IntegerType, "long": LongType, "string": StringType}
_OWN = {"cdc_version": LongType, "cdc_is_deleted": IntegerType, "cdc_commit_lsn": LongType, "cdc_ordinal": LongType}


class IcebergLanding:
    """Takes packages into tables of one namespace."""

    is_broker = False

    def __init__(self, catalog: Catalog, name: str, lock: threading.Lock):
        self._catalog, self.name, self._lock = catalog, name, lock

    def position(self, source: str, store: str) -> Position | None:
        found = self._catalog.load_table(f"app.{store}").properties.get(f"position.{source}")
        return parse_position(found) if found is not None else None

    def forget_position(self, source: str, store: str) -> None:
        """It is asked each time."""

    def unsure(self, source: str, store: str) -> Position | None:
        return None

    def deliver(self, package: Package) -> Delivered:
        assert isinstance(package, RowPackage), "nobody truncates here"
        table = self._catalog.load_table(f"app.{package.store}")
        schema = table.schema().as_arrow()
        rows = [json_row(package.schema, each) for each in package.rows]
        lacking = sorted({name for row in rows for name in row} - {*schema.names})
        if lacking:
            raise StoreLacksColumns(package.store, lacking)
        columns = [pa.array([row.get(each.name) for row in rows], each.type) for each in schema]
        crash_point("cdc.before-insert")
        try:
            with self._lock, table.transaction() as transaction:
                transaction.append(pa.Table.from_arrays(columns, schema=schema))
                transaction.set_properties({f"position.{package.source}": position_text(package.upto)})
        except CommitFailedException as error:
            raise Unavailable(f"somebody else changed the table: {error}") from error
        crash_point("cdc.inserted")
        return Delivered(package.upto)

    def close(self) -> None:
        """There is nothing to let go of."""


class IcebergSide:
    """A catalog in a file."""

    name, seconds = "lake", 60.0

    def __init__(self, folder: Path):
        properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
        self._catalog = load_catalog("lake", **properties)
        self._catalog.create_namespace("app")
        self._lock = threading.Lock()
        catalog = {**properties, "name": "lake"}
        self.store: MigrationStore = IcebergStore(self.name, StoreSettings("iceberg", namespace="app", catalog=catalog))

    def make(self, table: ReplicatedTable) -> None:
        of = {each.name: _TYPES[iceberg_type(each)] for each in table.columns} | _OWN
        fields = [NestedField(at, name, each()) for at, (name, each) in enumerate(of.items(), 1)]
        self._catalog.create_table(f"app.{table.name.name}", Schema(*fields))

    def destination(self) -> Destination:
        return IcebergLanding(self._catalog, self.name, self._lock)

    def rows(self, table: str, columns: Sequence[str]) -> list[list[object]]:
        last = {row["id"]: row for row in sorted(self._stored(table), key=lambda row: int(str(row["cdc_version"])))}
        kept = [last[id] for id in sorted(last, key=str) if not last[id]["cdc_is_deleted"]]
        return [[row[name] for name in columns] for row in sorted(kept, key=lambda row: int(str(row["id"])))]

    def doubled(self, table: str) -> int:
        rows = self._stored(table)
        return len(rows) - len({(row["cdc_commit_lsn"], row["cdc_ordinal"], row["id"]) for row in rows})

    def revive(self) -> None:
        """It runs in this process."""

    def _stored(self, table: str) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self._catalog.load_table(f"app.{table}").scan().to_arrow().to_pylist()
        return found
