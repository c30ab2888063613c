"""Parses the directives of a sink node, which writes its rows to a topic or to files.

In: the directives of the node by keyword. Out: `Exported`, and a warning, because nothing runs sinks in this version.
Invariant: every directive of the format is kept as written, so that a project that has sinks deploys as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.errors import Problem
from penstock.model.pipe import Exported
from penstock.parse.datafile import Entry
from penstock.parse.directive_values import parse_schedule

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


def parse_sink(written: Entry, directives: Mapping[str, Entry], problems: list[Problem]) -> Exported | None:
    """The kind of a sink node. `written` is the value of its TYPE."""
    connection = next((directives[each] for each in _CONNECTIONS if each in directives), None)
    if connection is None or not connection.value.text:
        place = connection.location if connection else written.location
        hint = "write `EXPORT_CONNECTION_NAME name`, the connection that its rows go to"
        problems.append(Problem("missing-directive", "a sink needs an EXPORT_CONNECTION_NAME", place, hint))
        return None
    parse_schedule(directives.get("EXPORT_SCHEDULE"), problems)
    message = "this sink does not run: sinks are not in this version, and its rows are written nowhere"
    hint = "everything else of the project works; read the rows by SQL, or make the node an endpoint"
    problems.append(Problem("unsupported-type", message, written.value.location, hint, "warning"))
    options = {each: directives[each].value.text for each in SINK_KEYWORDS if each in directives}
    others = tuple((keyword, value) for keyword, value in options.items() if keyword != connection.keyword)
    return Exported(connection.value.text, connection.value.location, others)
