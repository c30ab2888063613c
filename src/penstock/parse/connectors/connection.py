"""Parses a .connection file: how something outside is reached, for topics and sinks.

In: a file's text and the name of its resource. Out: a `Connection`, None where it has no TYPE, and every problem of the
file. Invariant: a connection of a type that nothing here uses is a warning, so that projects of the format deploy as
they stand.
"""

from __future__ import annotations

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.external_tables import NamedConnection
from penstock.parse.datafile import Entry, parse_datafile
from penstock.parse.directive_values import strip_quotes, unique_directives

KAFKA_OPTIONS = (
    "KAFKA_BOOTSTRAP_SERVERS",
    "KAFKA_SECURITY_PROTOCOL",
    "KAFKA_SASL_MECHANISM",
    "KAFKA_KEY",
    "KAFKA_SECRET",
    "KAFKA_SCHEMA_REGISTRY_URL",
    "KAFKA_SSL_CA_PEM",
)
S3_OPTIONS = ("S3_REGION", "S3_ARN", "S3_ACCESS_KEY", "S3_SECRET", "S3_ENDPOINT")
FILE_OPTIONS = ("FILE_ROOT",)
_OPTIONS = {"kafka": KAFKA_OPTIONS, "s3": S3_OPTIONS, "file": FILE_OPTIONS}
PROTOCOLS = ("SASL_SSL", "SASL_PLAINTEXT", "SSL", "PLAINTEXT")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_WORDS = {"KAFKA_SECURITY_PROTOCOL": PROTOCOLS, "KAFKA_SASL_MECHANISM": MECHANISMS}
_NEEDED = {"kafka": "KAFKA_BOOTSTRAP_SERVERS"}


def parse_connection(text: str, file: str, name: str, problems: list[Problem]) -> NamedConnection | None:
    """The connection that a file describes."""
    own: list[Problem] = []
    known = ("TYPE", "DESCRIPTION", *(each for options in _OPTIONS.values() for each in options))
    entries = parse_datafile(text, file, known, own).entries
    directives = unique_directives(entries, own)
    kind = strip_quotes(directives["TYPE"].value).lower() if "TYPE" in directives else ""
    if kind not in _OPTIONS:
        message = f"this connection is not used: its type is {kind or 'not said'}"
        hint = f"topics and sinks use {', '.join(_OPTIONS)}; it may stay"
        problems.append(Problem("unsupported-file", message, Location(file), hint, "warning"))
        return None
    problems.extend(own)
    _check_words(directives, problems)
    needed = _NEEDED.get(kind)
    if needed is not None and needed not in directives:
        hint = f"write `{needed} host:port`"
        problems.append(Problem("missing-directive", f"a connection to Kafka needs {needed}", Location(file), hint))
    options = tuple(
        (keyword, entry.value.text.strip() if entry.is_block else strip_quotes(entry.value))
        for keyword, entry in directives.items()
        if keyword not in ("TYPE", "DESCRIPTION")
    )
    return NamedConnection(name, kind, options, Location(file))


def _check_words(directives: dict[str, Entry], problems: list[Problem]) -> None:
    for keyword, words in _WORDS.items():
        entry = directives.get(keyword)
        written = strip_quotes(entry.value) if entry is not None else ""
        if entry is None or written.upper() in words or written.startswith("{{"):
            continue
        message = f"expected {keyword} {', '.join(words)}, found `{written[:60]}`"
        problems.append(Problem("invalid-value", message, entry.value.location, did_you_mean(written, words)))
