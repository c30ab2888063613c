"""The directives by which a data source fetches rows from elsewhere, and the columns that come with them.

In: the entries of a .datasource file. Out: its columns together with those that Kafka adds, and a warning, because
nothing is fetched in this version. Invariant: keys and queries may name the columns that Kafka and DynamoDB add, which
no SCHEMA has to list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from penstock.errors import Location, Problem
from penstock.model.datasource import Column, Text
from penstock.model.types import DateTime, DateTime64, Int, LowCardinality, Map, Nullable, String, Type
from penstock.parse.datafile import Entry

CONNECTOR_KEYWORDS = (
    "KAFKA_CONNECTION_NAME",
    "KAFKA_BOOTSTRAP_SERVERS",
    "KAFKA_KEY",
    "KAFKA_SECRET",
    "KAFKA_SCHEMA_REGISTRY_URL",
    "KAFKA_SSL_CA_PEM",
    "KAFKA_SASL_MECHANISM",
    "KAFKA_KEY_AVRO_DESERIALIZATION",
    "KAFKA_TOPIC",
    "KAFKA_GROUP_ID",
    "KAFKA_AUTO_OFFSET_RESET",
    "KAFKA_STORE_RAW_VALUE",
    "KAFKA_STORE_HEADERS",
    "KAFKA_STORE_BINARY_HEADERS",
    "KAFKA_KEY_FORMAT",
    "KAFKA_VALUE_FORMAT",
    "KAFKA_TARGET_PARTITIONS",
    "IMPORT_SERVICE",
    "IMPORT_CONNECTION_NAME",
    "IMPORT_BUCKET_URI",
    "IMPORT_SCHEDULE",
    "IMPORT_STRATEGY",
    "IMPORT_FORMAT",
    "IMPORT_FROM_TIMESTAMP",
    "IMPORT_QUERY",
    "IMPORT_EXTERNAL_DATASOURCE",
    "IMPORT_TABLE_ARN",
    "IMPORT_EXPORT_BUCKET",
    "PG_CONNECTION_NAME",
    "PG_TABLE",
    "EXPORT_SERVICE",
)
"""Directives that fetch rows from elsewhere. They are accepted, and nothing is fetched."""
_KAFKA = "KAFKA_TOPIC"
_HEADERS = "KAFKA_STORE_HEADERS"
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
_HEADER_COLUMN: tuple[str, Type, str] = ("__headers", Map(String(), String()), "map()")
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
    """One warning for a data source that fetches rows from elsewhere."""
    first = next((entry for entry in entries if entry.keyword in CONNECTOR_KEYWORDS), None)
    if first is not None:
        service = "Kafka" if first.keyword.startswith("KAFKA") else "a bucket or another service"
        message = f"no rows are fetched from {service}: connectors are not in this version"
        yield Problem("unsupported-directive", message, first.location, "post the rows to the events API", "warning")


def with_added_columns(columns: tuple[Column, ...], entries: Sequence[Entry]) -> tuple[Column, ...]:
    """The columns, and those that Kafka adds to a data source with a topic, or DynamoDB to one with a table."""
    if not columns:
        return columns
    known = {column.name for column in columns}
    wanted = (*_kafka_columns(entries), *_dynamodb_columns(entries))
    return (*columns, *(column for column in wanted if column.name not in known))


def _kafka_columns(entries: Sequence[Entry]) -> Iterator[Column]:
    topic = next((entry for entry in entries if entry.keyword == _KAFKA), None)
    if topic is None:
        return
    headers = any(entry.keyword == _HEADERS and entry.value.text.strip("\"' ").lower() == "true" for entry in entries)
    wanted = (*_KAFKA_COLUMNS, _HEADER_COLUMN) if headers else _KAFKA_COLUMNS
    yield from (_added_column(*each, topic.location) for each in wanted)


def _dynamodb_columns(entries: Sequence[Entry]) -> Iterator[Column]:
    table = next((entry for entry in entries if entry.keyword == _DYNAMODB), None)
    if table is not None:
        yield from (_added_column(*each, table.location) for each in _DYNAMODB_COLUMNS)


def _added_column(name: str, of: Type, default: str, place: Location) -> Column:
    return Column(name, of, default=Text(default, place), location=place)
