"""DuckDB as a reader of the server's open tables. Its extensions come as packages, so nothing is downloaded."""

from __future__ import annotations

import importlib
from pathlib import Path

import duckdb

EXTENSIONS = ("httpfs", "avro", "iceberg")


def duckdb_connection(uri: str, token: str) -> duckdb.DuckDBPyConnection:
    """A connection to which the server's versions are attached as `p`."""
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    for name in EXTENSIONS:
        package = importlib.import_module(f"duckdb_extension_{name}")
        (file,) = Path(str(package.__file__)).parent.rglob("*.duckdb_extension")
        connection.execute(f"LOAD '{file}'")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(f"CREATE SECRET (TYPE iceberg, TOKEN '{token}')")
    connection.execute(f"ATTACH 'live' AS p (TYPE iceberg, ENDPOINT '{uri}')")
    return connection
