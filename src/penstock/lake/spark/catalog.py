"""The Iceberg catalog's configuration, for Spark and for PyIceberg.

In: `[catalog]` of penstock.toml and the folder of the embedded state. Out: properties. Invariant: both read the same
catalog, which is embedded (SQLite), in Postgres, or remote; a login is never part of an address that a driver may
quote in an error; a commit whose answer was lost is never sent a second time (`disable_blind_commit_retry`); a commit
that was answered survives a power cut.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

import sqlalchemy as sa
from py4j.java_gateway import JavaObject
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import ServerError, ServiceUnavailableError
from pyspark.sql import SparkSession
from sqlalchemy import URL
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import ConnectionPoolEntry

from penstock.errors import Failed
from penstock.lake.spark.cached_catalog import CachedSqlCatalog
from penstock.lake.spark.names import CATALOG
from penstock.model.settings import Settings
from penstock.state.database import may_pass

# Without the catalog cache a session sees the commits of other sessions at once (an expired cache entry
# showed an empty table to a busy session).
CATALOG_CONF = {"cache-enabled": "false", "jdbc.schema-version": "V1"}
# A Postgres that was shut down in order answers each open connection once with this SQLSTATE: try again.
POSTGRES_CONF = {
    "retryable_status_codes": "57P01",
    "jdbc.ApplicationName": "penstock",
    "jdbc.tcpKeepAlive": "true",
    # For a proxy that accepts a connection and never answers. (Answers have no limit: giving up leaves them unknown.)
    "jdbc.loginTimeout": "10",
}
# A commit that was answered survives a power cut of the database's machine, whatever its own configuration says.
POSTGRES_OPTIONS = "-c synchronous_commit=on"
SQLITE_PARAMETERS = "journal_mode=WAL&busy_timeout=30000&synchronous=FULL"
POSTGRES = "jdbc:postgresql:"
SQLITE = "jdbc:sqlite:file:"
POSTGRES_DRIVER = "postgresql+psycopg2"
# Left: pgJDBC's connection properties. Right: libpq's parameter key words. Source: their documentation.
LIBPQ = {
    "sslmode": "sslmode",
    "sslrootcert": "sslrootcert",
    "sslcert": "sslcert",
    "connectTimeout": "connect_timeout",
    "ApplicationName": "application_name",
    "options": "options",
}
OUTCOME_UNKNOWN = ("08000", "08006", "08007")
"""SQLSTATEs of a connection that broke during a statement, which may have been executed. Iceberg still retries 08003,
a connection known to be closed before the statement was sent."""

log = logging.getLogger("penstock.lake")


def is_postgres_catalog(settings: Settings) -> bool:
    return settings.catalog.get("uri", "").startswith(POSTGRES)


def spark_catalog_properties(settings: Settings, home: Path) -> dict[str, str]:
    """The catalog's properties for Spark. Only a JDBC catalog has defaults: files in `home`. Source: Iceberg's
    documentation, "Catalog properties" and "JDBC"."""
    if settings.catalog.get("type", "jdbc") != "jdbc":
        return CATALOG_CONF | dict(settings.catalog)
    embedded = {
        "type": "jdbc",
        "uri": f"{SQLITE}{home / 'catalog.db'}?{SQLITE_PARAMETERS}",
        "warehouse": _embedded_warehouse(home),
    }
    if is_postgres_catalog(settings):
        given = _move_login_out_of_address(settings.catalog)
        options = {"jdbc.options": f"{POSTGRES_OPTIONS} {given.get('jdbc.options', '')}".strip()}
        return CATALOG_CONF | POSTGRES_CONF | embedded | given | options
    return CATALOG_CONF | embedded | dict(settings.catalog)


def _embedded_warehouse(home: Path) -> str:
    """The folder of the tables. Hadoop takes a location literally: `%20` in it is no space. Earlier releases escaped
    it, so their tables are in a folder of that name, outside the project's."""
    folder = home.absolute() / "warehouse"
    escaped = folder.as_uri()
    plain = f"file://{folder}"
    return escaped if escaped != plain and Path(escaped.removeprefix("file://")).exists() else plain


def pyiceberg_catalog_properties(settings: Settings, home: Path) -> dict[str, str]:
    """The same catalog's properties for PyIceberg, with what it needs to reach the storage. Raises Failed for a JDBC
    address that is neither SQLite nor Postgres. Source: PyIceberg's documentation, "Catalogs" and "FileIO"."""
    java = spark_catalog_properties(settings, home)
    shared = {name: value for name, value in java.items() if name not in CATALOG_CONF and not name.startswith("jdbc.")}
    if java["type"] != "jdbc":
        return _storage_properties(settings) | shared
    uri = java["uri"]
    if uri.startswith(SQLITE):
        uri = "sqlite:///" + uri.removeprefix(SQLITE).split("?")[0]
    elif uri.startswith(POSTGRES):
        uri = _libpq_address(java)
    else:
        message = f"a catalog of type jdbc is on SQLite or Postgres, not at {uri.split('?')[0]}"
        raise Failed(message, hint=f"`uri` in [catalog] of penstock.toml begins with {POSTGRES} or {SQLITE}")
    found = {"type": "sql", "uri": uri, "init_catalog_tables": "false", "pool_pre_ping": "true"}
    return _storage_properties(settings) | {k: v for k, v in shared.items() if k not in POSTGRES_CONF} | found


S3A = {
    "spark.hadoop.fs.s3a.access.key": "s3.access-key-id",
    "spark.hadoop.fs.s3a.secret.key": "s3.secret-access-key",
    "spark.hadoop.fs.s3a.session.token": "s3.session-token",
    "spark.hadoop.fs.s3a.endpoint": "s3.endpoint",
    "spark.hadoop.fs.s3a.endpoint.region": "s3.region",
}
"""Left: how Hadoop reaches S3, in [spark.conf]. Right: PyIceberg's names. Source: both documentations."""


def _storage_properties(settings: Settings) -> dict[str, str]:
    """How PyIceberg reaches the storage that Spark reaches through Hadoop."""
    conf = settings.spark.conf
    found = {mine: conf[theirs] for theirs, mine in S3A.items() if theirs in conf}
    if conf.get("spark.hadoop.fs.s3a.path.style.access") == "false":
        found["s3.force-virtual-addressing"] = "true"
    return found


def open_pyiceberg_catalog(settings: Settings, home: Path) -> Catalog:
    """PyIceberg's view of the catalog. Raises Failed like `pyiceberg_catalog_properties`."""
    properties = pyiceberg_catalog_properties(settings, home)
    sql = properties.get("type") == "sql"
    catalog = CachedSqlCatalog(CATALOG, **properties) if sql else load_catalog(CATALOG, **properties)
    if isinstance(catalog, SqlCatalog) and catalog.engine.dialect.name == "sqlite":
        catalog.engine.dispose()  # connections from before the listener
        sa.event.listen(catalog.engine, "connect", _sync_commits)
    return catalog


def catalog_outage(settings: Settings, home: Path) -> str | None:
    """Why the catalog does not answer, if that may pass; None if it answers, or says why it never will. Raises Failed
    like `pyiceberg_catalog_properties`."""
    properties = pyiceberg_catalog_properties(settings, home)
    try:
        if properties["type"] != "sql":
            load_catalog(CATALOG, **properties).list_namespaces()
        elif properties["uri"].startswith("postgresql"):
            _ask_postgres(properties["uri"])
    except (OperationalError, OSError, ServerError, ServiceUnavailableError) as error:
        text = " ".join(str(error.orig if isinstance(error, OperationalError) else error).split())
        return text if may_pass(text) else None
    except Exception as error:  # it answers, or cannot be asked: the server's own opening of it says what is wrong
        log.info("the catalog answers: %s", error)
    return None


def _ask_postgres(uri: str) -> None:
    engine = sa.create_engine(uri, poolclass=sa.NullPool, hide_parameters=True, connect_args={"connect_timeout": 3})
    with engine.connect() as connection:
        connection.execute(sa.select(1)).close()


def _sync_commits(connection: sqlite3.Connection, record: ConnectionPoolEntry) -> None:
    """Make each commit survive a power cut: SQLite may have been compiled with another default. And wait for Spark's
    commits as long as they wait for these."""
    connection.execute("PRAGMA synchronous=FULL").close()
    connection.execute("PRAGMA busy_timeout=30000").close()


def _move_login_out_of_address(catalog: Mapping[str, str]) -> dict[str, str]:
    """The properties with user and password moved out of the address, which Iceberg quotes in errors, and with the
    options of the session, to which ours are added."""
    address, _, query = catalog["uri"].partition("?")
    given = dict(parse_qsl(query, keep_blank_values=True))
    login = {f"jdbc.{name}": given.pop(name) for name in ("user", "password", "options") if name in given}
    return {**login, **catalog, "uri": f"{address}?{urlencode(given)}" if given else address}


def _libpq_address(java: Mapping[str, str]) -> str:
    """The catalog's address as an SQLAlchemy URL for psycopg2, which uses libpq."""
    parts = urlsplit(java["uri"].removeprefix("jdbc:"))
    given = dict(parse_qsl(parts.query)) | {
        name.removeprefix("jdbc."): value for name, value in java.items() if name.startswith("jdbc.")
    }
    query = {LIBPQ[name]: value for name, value in given.items() if name in LIBPQ}
    if "currentSchema" in given:
        query["options"] = f"{query.get('options', '')} -csearch_path={given['currentSchema']}".strip()
    hosts = parts.netloc.split(",")
    url = URL.create(
        POSTGRES_DRIVER,
        username=given.get("user"),
        password=given.get("password"),
        database=unquote(parts.path.lstrip("/")) or None,
        query={**query, **({"host": tuple(_with_port(host) for host in hosts)} if len(hosts) > 1 else {})},
    )
    if len(hosts) == 1 and parts.netloc:
        url = url.set(host=parts.hostname, port=parts.port)
    return url.render_as_string(hide_password=False)


def _with_port(host: str) -> str:
    return host if ":" in host.rpartition("]")[2] else f"{host}:5432"


def disable_blind_commit_retry(session: SparkSession) -> None:
    """Keep Iceberg from sending a commit again whose answer was lost.

    Iceberg's connection pool would retry it; the catalog then rightly answers that the table has changed, Iceberg takes
    its commit as refused and deletes the files of rows that are in the table. Each session has a catalog, and each
    catalog a pool, of its own. Source: JdbcClientPool of Iceberg 1.12.
    """
    manager = session._jsparkSession.sessionState().catalogManager()
    catalog = manager.catalog(CATALOG).icebergCatalog()
    retried = _read_private_field(_read_private_field(catalog, "connections"), "retryableStatusCodes")
    for code in OUTCOME_UNKNOWN:
        retried.remove(code)


def _read_private_field(owner: JavaObject, name: str) -> JavaObject:
    field = owner.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)
