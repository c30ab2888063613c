"""The functions on JSON documents that compiled Spark SQL calls; Spark runs them in its Python workers.

In: nothing. Out: `SPARK_FUNCTIONS`: name, Python function, Spark type of the result. Invariants: NULL for NULL; no
function raises, whatever text it is given; the same argument gives the same result in every version that reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from penstock.model.json_documents.documents import shown_json, store_text
from penstock.model.json_documents.dynamic_values import leaf_kinds, object_at, objects_at, typed_text, value_at
from penstock.model.json_documents.json_syntax import InvalidDocument
from penstock.model.json_documents.path_rules import rules_of
from penstock.model.quick_dataclass import dataclass

STORE, VALUE, VALUES, TYPED, OBJECT, OBJECTS, SHOW, KINDS = (
    "penstock_json",
    "penstock_json_value",
    "penstock_json_values",
    "penstock_json_typed",
    "penstock_json_object",
    "penstock_json_objects",
    "penstock_json_text",
    "penstock_json_kinds",
)
FLOAT_TEXT = "penstock_float_text"
"""The text of a float, which a Java class of ours gives."""
EVENT_SEQUENCE = "penstock_event_sequence"
"""Whether, or how often, a pattern of sequenceMatch is found, by a Java class of ours."""
LOWER_BYTES, UPPER_BYTES = "penstock_lower", "penstock_upper"
"""Bytes with their ASCII letters in one case, by a Java class of ours."""
TIME_OF_TEXT, TIME64_OF_TEXT, FINE_TIME_OF_TEXT = "penstock_time", "penstock_time64", "penstock_fine_time"
"""The DateTime or DateTime64 in a text of unknown format, by a Java class of ours. Arguments: the text, the time zone
of its clock, and `us` where 2/1 is in February."""
LACKS_YEAR = "penstock_lacks_year"
"""Whether a text is a time but for its year, by the same class. Arguments: the text, and `us`."""
DYNAMIC_TYPE = "STRUCT<kind: STRING, text: STRING, json: STRING>"
"""How Spark has a value of the type Dynamic; NULL where there is none."""


@dataclass(frozen=True, slots=True)
class SparkFunction:
    """A function with the Spark type of its result."""

    call: Callable[..., object]
    returns: str


def _store(text: str | None, rules: str = "") -> str | None:
    """The stored text of a JSON text; None if it is no document."""
    try:
        return None if text is None else store_text(text, rules_of(rules))
    except InvalidDocument:
        return None


def _value(stored: str | None, path: str) -> tuple[str, str | None, str] | None:
    return None if stored is None else value_at(stored, path)


def _values(stored: list[str | None] | None, path: str) -> list[tuple[str, str | None, str] | None] | None:
    return None if stored is None else [_value(each, path) for each in stored]


def _objects(stored: str | None, path: str) -> list[str] | None:
    return None if stored is None else objects_at(stored, path)


def _typed(stored: str | None, path: str) -> str | None:
    return None if stored is None else typed_text(stored, path)


def _object(stored: str | None, path: str, rules: str = "") -> str | None:
    try:
        return None if stored is None else object_at(stored, path, rules_of(rules))
    except InvalidDocument:  # a row that was stored before its path had a type
        return "{}"


def _show(stored: str | None) -> str | None:
    return None if stored is None else shown_json(stored)


def _kinds(stored: str | None, rules: str = "") -> list[tuple[str, str]] | None:
    return None if stored is None else list(leaf_kinds(stored, rules_of(rules)).items())


SPARK_FUNCTIONS: Mapping[str, SparkFunction] = {
    STORE: SparkFunction(_store, "STRING"),
    VALUE: SparkFunction(_value, DYNAMIC_TYPE),
    VALUES: SparkFunction(_values, f"ARRAY<{DYNAMIC_TYPE}>"),
    OBJECTS: SparkFunction(_objects, "ARRAY<STRING>"),
    TYPED: SparkFunction(_typed, "STRING"),
    OBJECT: SparkFunction(_object, "STRING"),
    SHOW: SparkFunction(_show, "STRING"),
    KINDS: SparkFunction(_kinds, "ARRAY<STRUCT<path: STRING, kind: STRING>>"),
}
