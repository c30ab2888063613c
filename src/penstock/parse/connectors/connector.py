"""The directives by which a data source fetches rows from elsewhere, and the columns that come with them.

In: the entries of a .datasource file. Out: its columns together with those that Kafka adds, and a warning for what is
not fetched in this version. Invariant: keys and queries may name the columns that Kafka and DynamoDB add, which no
SCHEMA has to list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from penstock.errors import Location, Problem
from penstock.model.datasource import MESSAGE_COLUMNS, Column, Text
from penstock.model.json_path import path_of_key
from penstock.model.types import DateTime, DateTime64, Int, LowCardinality, Map, Nullable, String, Type
from penstock.parse.connectors.file_source import FILE_KEYWORDS
from penstock.parse.connectors.kafka_source import KAFKA_KEYWORDS, is_set
from penstock.parse.datafile import Entry

CONNECTOR_KEYWORDS = (
    *KAFKA_KEYWORDS,
    *FILE_KEYWORDS,
    "IMPORT_QUERY",
    "IMPORT_EXTERNAL_DATASOURCE",
    "IMPORT_TABLE_ARN",
    "IMPORT_EXPORT_BUCKET",
    "PG_CONNECTION_NAME",
    "PG_TABLE",
    "EXPORT_SERVICE",
)
"""Directives that fetch rows from elsewhere. All are accepted; only topics of Kafka and files are read."""
_KAFKA = "KAFKA_TOPIC"
# Source: the format's documentation of the Kafka connector. A posted row has no offset; what it lacks is empty, and its
# time is that of its arrival.
_KAFKA_COLUMNS: Sequence[tuple[str, Type, str]] = (
    ("__value", String(), "''"),
    ("__topic", LowCardinality(String()), "''"),
    ("__partition", Int(16), "0"),
    ("__offset", Int(64), "0"),
    ("__timestamp", DateTime(), "now()"),
    ("__key", String(), "''"),
)
_HEADER_COLUMN: tuple[str, Type, str] = (
    "__headers",
    Map(String(), String()),
    "mapFromArrays(emptyArrayString(), emptyArrayString())",
)
_DYNAMODB = "IMPORT_TABLE_ARN"
# Source: the .datasource file that the format's command line makes for a table of DynamoDB. They are filled as Kafka's.
_DYNAMODB_COLUMNS: Sequence[tuple[str, Type, str]] = (
    ("_record", String(), "''"),
    ("_old_record", Nullable(String()), "NULL"),
    ("_timestamp", DateTime64(3), "now64(3)"),
    ("_event_name", LowCardinality(String()), "''"),
    ("_is_deleted", Int(8, signed=False), "0"),
)


def check_connectors(entries: Iterable[Entry]) -> Iterator[Problem]:
    """One warning for a data source that fetches rows from where this version fetches none."""
    read = (*KAFKA_KEYWORDS, *FILE_KEYWORDS)
    first = next((each for each in entries if each.keyword in CONNECTOR_KEYWORDS and each.keyword not in read), None)
    if first is not None:
        message = f"no rows are fetched by {first.keyword}: its connector is not in this version"
        hint = "let a copy read it, or post the rows to the events API"
        yield Problem("unsupported-directive", message, first.location, hint, "warning")


def with_added_columns(columns: tuple[Column, ...], entries: Sequence[Entry]) -> tuple[Column, ...]:
    """The columns, and those that Kafka adds to a data source with a topic, or DynamoDB to one with a table."""
    if not columns:
        return columns
    known = {column.name for column in columns}
    wanted = (*_kafka_columns(entries), *_dynamodb_columns(entries))
    whole = (*columns, *(column for column in wanted if column.name not in known))
    if not any(entry.keyword == _KAFKA for entry in entries):
        return whole
    return _with_message_paths(whole, is_set(entries, "KAFKA_STORE_RAW_VALUE"))


def _with_message_paths(columns: tuple[Column, ...], keeps_value: object) -> tuple[Column, ...]:
    """The columns of a data source with a topic: those of the message are filled from it by their names, also where
    others have paths; `__value` only if the raw value is kept."""
    has_paths = any(column.json_path is not None and column.name not in MESSAGE_COLUMNS for column in columns)
    defaults = {name: default for name, _, default in (*_KAFKA_COLUMNS, _HEADER_COLUMN)}
    found = []
    for column in columns:
        path = column.json_path if has_paths else column.json_path or path_of_key(column.name)
        if column.name in MESSAGE_COLUMNS:
            path = path_of_key(column.name) if column.name != "__value" or keeps_value else None
            default = column.default or Text(defaults[column.name], column.location)
            found.append(replace(column, json_path=path, default=default))
        else:
            found.append(replace(column, json_path=path))
    return tuple(found)


def _kafka_columns(entries: Sequence[Entry]) -> Iterator[Column]:
    topic = next((entry for entry in entries if entry.keyword == _KAFKA), None)
    if topic is None:
        return
    wanted = (*_KAFKA_COLUMNS, _HEADER_COLUMN) if is_set(entries, "KAFKA_STORE_HEADERS") else _KAFKA_COLUMNS
    yield from (_added_column(*each, topic.location) for each in wanted)


def _dynamodb_columns(entries: Sequence[Entry]) -> Iterator[Column]:
    table = next((entry for entry in entries if entry.keyword == _DYNAMODB), None)
    if table is not None:
        yield from (_added_column(*each, table.location) for each in _DYNAMODB_COLUMNS)


def _added_column(name: str, of: Type, default: str, place: Location) -> Column:
    return Column(name, of, default=Text(default, place), location=place)
