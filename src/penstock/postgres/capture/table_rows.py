"""Rows of a table as they are now, with the texts that the stream has for their values.

In: a connection, a table and a key. Out: rows. Invariant: values are what the types' output functions write (COPY),
under the same settings as in the stream, so that a row which is read and one which is streamed are the same texts.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.source_connection import SourceConnection, open_source, source_errors

_FORMS = """SET datestyle = 'ISO'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'; SET extra_float_digits = 3;
SET bytea_output = 'hex'; SET row_security = off"""
"""The settings of the stream; and rows that a policy hides from us are an error, not left out."""
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def open_reader(dsn: str) -> SourceConnection:
    """A connection to read rows with. Raises what `open_source` raises."""
    connection = open_source(dsn)
    connection.cursor().execute(_FORMS)
    return connection


def sql_name(name: str) -> str:
    """An identifier as SQL, in a text in which `%s` stands for values."""
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def table_sql(name: QualifiedName) -> str:
    return f"{sql_name(name.schema)}.{sql_name(name.name)}"


def own_rows_sql(table: ReplicatedTable) -> str:
    """What is behind FROM for the rows that the stream has under a table's name: of one that others inherit from its
    own, of a partitioned one those of its partitions."""
    return table_sql(table.name) if table.is_partitioned else f"ONLY {table_sql(table.name)}"


def copy_rows(connection: SourceConnection, query: str, values: Sequence[object]) -> list[tuple[str | None, ...]]:
    """The rows of a query. Raises Failed, Unavailable."""
    cursor: Any = connection.cursor()
    found = io.BytesIO()
    with source_errors("read rows"):
        text = cursor.mogrify(query, tuple(values)).decode() if values else query.replace("%%", "%")
        cursor.copy_expert(f"COPY ({text}) TO STDOUT", found)
    # A line feed in a value is written as an escape: each line is one row.
    lines = found.getvalue().decode().split("\n")[:-1]
    return [tuple(map(_value, line.split("\t"))) for line in lines]


def _value(text: str) -> str | None:
    if text == r"\N":
        return None
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), text) if "\\" in text else text


def key_condition(key: Sequence[str], comparison: str) -> str:
    """SQL that compares the columns of a key with as many values."""
    columns, places = ", ".join(map(sql_name, key)), ", ".join(["%s"] * len(key))
    return f"({columns}) {comparison} ({places})"
