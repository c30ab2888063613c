"""The rows of Iceberg's JDBC catalog: which metadata file each table has.

In: the settings. Out: `CatalogRows`, read in one transaction; the same rows written to another catalog. Invariant: rows
of other catalogs in the same database are neither read nor written. Source: JdbcUtil of Iceberg 1.12, schema V1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from penstock.errors import Conflict, Failed
from penstock.lake.spark.catalog import pyiceberg_catalog_properties
from penstock.lake.spark.names import CATALOG, NAMESPACE
from penstock.lake.storage.local_paths import FolderMove, local_path
from penstock.model.settings import Settings

METADATA = sa.MetaData()
tables = sa.Table(
    "iceberg_tables",
    METADATA,
    sa.Column("catalog_name", sa.String(255), primary_key=True),
    sa.Column("table_namespace", sa.String(255), primary_key=True),
    sa.Column("table_name", sa.String(255), primary_key=True),
    sa.Column("metadata_location", sa.String(1000)),
    sa.Column("previous_metadata_location", sa.String(1000)),
    sa.Column("iceberg_type", sa.String(5)),
)
properties = sa.Table(
    "iceberg_namespace_properties",
    METADATA,
    sa.Column("catalog_name", sa.String(255), primary_key=True),
    sa.Column("namespace", sa.String(255), primary_key=True),
    sa.Column("property_key", sa.String(255), primary_key=True),
    sa.Column("property_value", sa.String(1000)),
)


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table of the catalog."""

    name: str
    metadata: str
    """The location of its metadata file."""
    previous: str | None
    kind: str | None
    """`TABLE`, or None in a catalog that an early release of Iceberg made."""


@dataclass(frozen=True, slots=True)
class CatalogRows:
    """What the catalog knows of Penstock's tables."""

    tables: tuple[CatalogTable, ...]
    namespace: tuple[tuple[str, str], ...]
    """The properties of the namespace."""

    def moved(self, move: FolderMove) -> CatalogRows:
        """The rows after a folder was moved."""
        return CatalogRows(
            tuple(
                replace(each, metadata=move.moved(each.metadata), previous=each.previous and move.moved(each.previous))
                for each in self.tables
            ),
            tuple((key, move.moved(value)) for key, value in self.namespace),
        )


class SqlCatalogRows:
    """The catalog's database."""

    def __init__(self, engine: Engine):
        self._engine = engine

    @property
    def file(self) -> Path | None:
        """The file of an SQLite catalog."""
        url = self._engine.url
        return Path(url.database) if url.get_backend_name() == "sqlite" and url.database else None

    def read(self) -> CatalogRows:
        """The rows, all of one moment; none if the catalog has no tables yet. Raises Failed."""
        with self._connected() as connection:
            if not sa.inspect(connection).has_table(tables.name):
                return CatalogRows((), ())
            ours = (tables.c.catalog_name == CATALOG, tables.c.table_namespace == NAMESPACE)
            columns = (tables.c.table_name, tables.c.metadata_location, tables.c.previous_metadata_location)
            found = connection.execute(sa.select(*columns, tables.c.iceberg_type).where(*ours).order_by(columns[0]))
            made = tuple(CatalogTable(*row) for row in found)
            here = (properties.c.catalog_name == CATALOG, properties.c.namespace == NAMESPACE)
            known = sa.select(properties.c.property_key, properties.c.property_value).where(*here)
            return CatalogRows(made, tuple(connection.execute(known).tuples().all()))

    def write(self, rows: CatalogRows) -> None:
        """Replace the rows, in one transaction; the catalog's tables are made if they are missing. Raises Failed."""
        with self._connected() as connection:
            METADATA.create_all(connection)
            ours = sa.and_(tables.c.catalog_name == CATALOG, tables.c.table_namespace == NAMESPACE)
            here = sa.and_(properties.c.catalog_name == CATALOG, properties.c.namespace == NAMESPACE)
            connection.execute(sa.delete(tables).where(ours))
            connection.execute(sa.delete(properties).where(here))
            for each in rows.tables:
                values = (CATALOG, NAMESPACE, each.name, each.metadata, each.previous, each.kind)
                connection.execute(sa.insert(tables).values(values))
            for key, value in rows.namespace:
                connection.execute(sa.insert(properties).values((CATALOG, NAMESPACE, key, value)))

    def require_empty(self, own: Path | None = None) -> None:
        """Raises Conflict if the catalog has tables, other than those in the folder `own`."""
        found = [local_path(each.metadata) for each in self.read().tables]
        if any(own is None or path is None or not path.is_relative_to(own) for path in found):
            raise Conflict("the catalog has tables already", hint="name an empty one in [catalog] of penstock.toml")

    def close(self) -> None:
        self._engine.dispose()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise Failed(f"the catalog does not answer: {' '.join(str(error.args[0]).split())}") from error


def open_sql_catalog(settings: Settings, home: Path) -> SqlCatalogRows | None:
    """The database of the catalog; None if the catalog is remote. Raises Failed."""
    known = pyiceberg_catalog_properties(settings, home)
    if known["type"] != "sql":
        return None
    options = {"isolation_level": "REPEATABLE READ"} if known["uri"].startswith("postgresql") else {}
    return SqlCatalogRows(sa.create_engine(known["uri"], hide_parameters=True, poolclass=sa.NullPool, **options))


def open_catalog_file(path: Path) -> SqlCatalogRows:
    """The catalog in an SQLite file."""
    return SqlCatalogRows(sa.create_engine(f"sqlite:///{path}", hide_parameters=True, poolclass=sa.NullPool))
