"""Parses the directives of a sink node, which writes its rows to a topic or to files.

In: the directives of the node by keyword. Out: `Exported`. Invariant: every directive of the format is kept as written,
so that a project that has sinks deploys as it stands; a sink that does not run here is a warning that says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from penstock.errors import Problem, did_you_mean
from penstock.model.pipe import (
    Exported,
    FileCompression,
    FileFormat,
    FileStrategy,
    FileTarget,
    TopicTarget,
)
from penstock.parse.connectors.file_names import InvalidTemplate, parse_template
from penstock.parse.datafile import Entry
from penstock.parse.directive_values import parse_schedule, strip_quotes

SINK_TYPES = ("sink", "stream")
"""`stream` is the format's former name of a sink to Kafka."""
SINK_KEYWORDS = (
    "EXPORT_SERVICE",
    "EXPORT_CONNECTION_NAME",
    "EXPORT_SCHEDULE",
    "EXPORT_BUCKET_URI",
    "EXPORT_FILE_TEMPLATE",
    "EXPORT_FORMAT",
    "EXPORT_COMPRESSION",
    "EXPORT_STRATEGY",
    "EXPORT_WRITE_STRATEGY",
    "EXPORT_KAFKA_TOPIC",
    "KAFKA_CONNECTION_NAME",
    "KAFKA_TOPIC",
)
_CONNECTIONS = ("EXPORT_CONNECTION_NAME", "KAFKA_CONNECTION_NAME")
_TOPICS = ("EXPORT_KAFKA_TOPIC", "KAFKA_TOPIC")
_STRATEGIES = ("EXPORT_STRATEGY", "EXPORT_WRITE_STRATEGY")
FORMATS: Mapping[str, FileFormat] = {
    "csv": "csv",
    "csvwithnames": "csv",
    "ndjson": "ndjson",
    "json": "ndjson",
    "jsoneachrow": "ndjson",
    "parquet": "parquet",
}
COMPRESSIONS: Mapping[str, FileCompression] = {
    "none": "none",
    "gzip": "gzip",
    "gz": "gzip",
    "zstd": "zstd",
    "zst": "zstd",
    "snappy": "snappy",
}
STRATEGIES: Mapping[str, FileStrategy] = {"new": "new", "truncate": "truncate", "replace": "truncate"}
_OF_FORMAT: Mapping[FileFormat, tuple[FileCompression, ...]] = {
    "csv": ("none", "gzip", "zstd"),
    "ndjson": ("none", "gzip", "zstd"),
    "parquet": ("snappy", "none", "gzip", "zstd"),
}
"""The compressions that a format may have, its usual one first."""


_Word = TypeVar("_Word", bound=str)


class _DoesNotRun(Exception):
    """Why a sink does not run, and the directive that says so."""

    def __init__(self, message: str, entry: Entry, hint: str | None = None):
        super().__init__(message)
        self.message, self.entry, self.hint = message, entry, hint


def parse_sink(written: Entry, directives: Mapping[str, Entry], problems: list[Problem]) -> Exported | None:
    """The kind of a sink node. `written` is the value of its TYPE."""
    connection = next((directives[each] for each in _CONNECTIONS if each in directives), None)
    if connection is None or not connection.value.text:
        place = connection.location if connection else written.location
        hint = "write `EXPORT_CONNECTION_NAME name`, the connection that its rows go to"
        problems.append(Problem("missing-directive", "a sink needs an EXPORT_CONNECTION_NAME", place, hint))
        return None
    schedule = parse_schedule(directives.get("EXPORT_SCHEDULE"), problems)
    target: TopicTarget | FileTarget | None = None
    try:
        target = _parse_target(written, directives)
    except _DoesNotRun as error:
        hint = error.hint or "everything else of the project works; read the rows by SQL, or make the node an endpoint"
        place = error.entry.value.location
        problems.append(Problem("unsupported-type", f"this sink does not run: {error}", place, hint, "warning"))
    options = {each: directives[each].value.text for each in SINK_KEYWORDS if each in directives}
    others = tuple((keyword, value) for keyword, value in options.items() if keyword != connection.keyword)
    return Exported(strip_quotes(connection.value), connection.value.location, others, schedule, target)


def _parse_target(written: Entry, directives: Mapping[str, Entry]) -> TopicTarget | FileTarget:
    topic = next((directives[each] for each in _TOPICS if each in directives), None)
    files = directives.get("EXPORT_BUCKET_URI")
    if topic is not None and strip_quotes(topic.value):
        return TopicTarget(strip_quotes(topic.value))
    if files is None or not strip_quotes(files.value):
        raise _DoesNotRun("it has no EXPORT_KAFKA_TOPIC and no EXPORT_BUCKET_URI, so its rows go nowhere", written)
    template = directives.get("EXPORT_FILE_TEMPLATE")
    if template is None or not strip_quotes(template.value):
        raise _DoesNotRun("it has no EXPORT_FILE_TEMPLATE, so its files have no names", written)
    try:
        parse_template(strip_quotes(template.value))
    except InvalidTemplate as error:
        raise _DoesNotRun(f"its EXPORT_FILE_TEMPLATE cannot be read: {error}", template) from None
    return _files(strip_quotes(files.value), strip_quotes(template.value), directives)


def _files(place: str, template: str, directives: Mapping[str, Entry]) -> FileTarget:
    of = _word(directives.get("EXPORT_FORMAT"), FORMATS, "csv")
    compressions = {name: found for name, found in COMPRESSIONS.items() if found in _OF_FORMAT[of]}
    compression = _word(directives.get("EXPORT_COMPRESSION"), compressions, _OF_FORMAT[of][0])
    strategy = next((directives[each] for each in _STRATEGIES if each in directives), None)
    return FileTarget(place, template, of, compression, _word(strategy, STRATEGIES, "new"))


def _word(entry: Entry | None, words: Mapping[str, _Word], usual: _Word) -> _Word:
    """The meaning of a directive's word; `@new` is `new`."""
    written = strip_quotes(entry.value).lower().removeprefix("@") if entry is not None else ""
    if entry is None or not written:
        return usual
    if written not in words:
        message = f"expected {entry.keyword} {', '.join(words)}, found `{written[:60]}`"
        raise _DoesNotRun(message, entry, did_you_mean(written, words))
    return words[written]
