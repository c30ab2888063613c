"""Parses the KAFKA_ directives of a data source: the topic that its rows come from.

In: the entries of a .datasource file. Out: `KafkaSource`, None where too little is said to read a topic. Invariant:
what cannot be read is a problem at its place; a data source without a whole topic deploys, with a warning that says
what it lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeVar, get_args

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import KafkaSource, MessageFormat, OffsetReset
from penstock.parse.datafile import Entry
from penstock.parse.directive_values import strip_quotes

KAFKA_KEYWORDS = (
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
)
_NEEDED = ("KAFKA_CONNECTION_NAME", "KAFKA_TOPIC", "KAFKA_GROUP_ID")
_FLAGS = ("KAFKA_STORE_RAW_VALUE", "KAFKA_STORE_HEADERS", "KAFKA_STORE_BINARY_HEADERS")
_WITHOUT_EFFECT = {
    "KAFKA_TARGET_PARTITIONS": "one reader takes all partitions of a topic",
    "KAFKA_STORE_BINARY_HEADERS": "a header that is not UTF-8 text is stored as `base64:` and its Base64",
    "KAFKA_KEY_AVRO_DESERIALIZATION": "KAFKA_KEY_FORMAT avro reads keys with their schema",
}
_Word = TypeVar("_Word", bound=str)


def parse_kafka(entries: Iterable[Entry], problems: list[Problem]) -> KafkaSource | None:
    """The topic of a data source, None if it has none or cannot be read."""
    found = {each.keyword: each for each in entries if each.keyword in KAFKA_KEYWORDS}
    if not found:
        return None
    for keyword in (each for each in _FLAGS if each in found):
        _word(found, keyword, ("true", "false"), "false", problems)
    for keyword in (each for each in _WITHOUT_EFFECT if each in found):
        message = f"{keyword} has no effect here: {_WITHOUT_EFFECT[keyword]}"
        problems.append(Problem("ignored-directive", message, found[keyword].location, "it may stay", "warning"))
    reset: OffsetReset = _word(found, "KAFKA_AUTO_OFFSET_RESET", get_args(OffsetReset), "latest", problems)
    values, keys = (_format(found, each, problems) for each in ("KAFKA_VALUE_FORMAT", "KAFKA_KEY_FORMAT"))
    texts = {each: strip_quotes(found[each].value) if each in found else "" for each in _NEEDED}
    missing = [keyword for keyword, text in texts.items() if not text]
    if missing:
        first = next(iter(found.values()))
        message = f"no rows are read from Kafka: {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
        hint = "name a .connection file, a topic and a consumer group; rows can be posted in any case"
        problems.append(Problem("missing-directive", message, first.location, hint, "warning"))
        return None
    connection, topic, group = (texts[each] for each in _NEEDED)
    location = found["KAFKA_CONNECTION_NAME"].value.location
    return KafkaSource(connection, topic, group, reset, values, keys, location=location)


def is_set(entries: Iterable[Entry], keyword: Literal["KAFKA_STORE_RAW_VALUE", "KAFKA_STORE_HEADERS"]) -> bool:
    """Whether a directive says `True`; the last one of that name counts."""
    said = [strip_quotes(each.value).lower() for each in entries if each.keyword == keyword]
    return said[-1:] == ["true"]


def _format(found: Mapping[str, Entry], keyword: str, problems: list[Problem]) -> MessageFormat:
    return _word(found, keyword, get_args(MessageFormat), "json_without_schema", problems)


def _word(
    found: Mapping[str, Entry], keyword: str, words: tuple[_Word, ...], default: _Word, problems: list[Problem]
) -> _Word:
    """The value of a directive that is one of some words, in any case."""
    if keyword not in found:
        return default
    written = strip_quotes(found[keyword].value).lower()
    known = next((each for each in words if each == written), None)
    if known is None:
        message = f"expected {keyword} {' or '.join(words)}, found `{written[:60]}`"
        hint = did_you_mean(written, words)
        problems.append(Problem("invalid-value", message, found[keyword].value.location, hint))
        return default
    return known
