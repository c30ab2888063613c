"""The type that ClickHouse infers for a leaf of a JSON document: for a scalar, and for an array of its elements' types.

In: decoded JSON values. Out: `LeafType`; `type_name` is what `dynamicType` shows. Invariant: an array has one type for
all elements if they have a common one, and is an Array(Dynamic), whose elements keep their own, if not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, Union

from penstock.model.json_documents.inferred_times import DATE, DATETIME, DATETIME64, infer_time
from penstock.model.json_documents.numbers import JsonNumber

LeafType: TypeAlias = Union[str, tuple[str, "LeafType"]]
"""The name of a scalar type, or `("Array", type of the elements)`."""

INT64, UINT64, FLOAT64, BOOL, STRING = "Int64", "UInt64", "Float64", "Bool", "String"
NEGATIVE = "negative Int64"
"""An Int64 that no UInt64 can hold; outside of arrays it is an Int64."""
NOTHING, EMPTY, JSON, DYNAMIC = "Nothing", "Empty", "JSON", "Dynamic"
"""NOTHING is the type of null, EMPTY that of the elements of `[]`."""
OPTIONAL_JSON = "JSON or null"
_TIMES = (DATE, DATETIME, DATETIME64)
_NUMBERS = frozenset((INT64, NEGATIVE, UINT64, FLOAT64, BOOL))
_JSON_NAME = "JSON(max_dynamic_types=16, max_dynamic_paths=256)"


def scalar_type(value: object) -> LeafType:
    """The type of a text, number, truth value or null."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return BOOL
    if isinstance(value, JsonNumber):  # an integer among them has thousands of digits
        return STRING if value.removeprefix("-").isdigit() else FLOAT64
    if isinstance(value, int):
        return _integer_type(value)
    found = infer_time(str(value))
    return found[0] if found is not None else STRING


def _integer_type(value: int) -> LeafType:
    """An integer that fits in no 64 bits is a String, digit by digit."""
    if not -(2**63) <= value < 2**64:
        return STRING
    return NEGATIVE if value < 0 else INT64 if value < 2**63 else UINT64


def array_type(elements: Sequence[LeafType]) -> LeafType:
    """The type of an array of elements of these types."""
    found = _common_type(element_types(elements)) if elements else EMPTY
    return ("Array", DYNAMIC if found is None else found)


def element_types(elements: Sequence[LeafType]) -> list[LeafType]:
    """The types of an array's elements beside each other: beside a text that is no time, times are texts too."""
    names = {each for each in elements if isinstance(each, str)}
    times = names & set(_TIMES)
    if STRING in names or (BOOL in names and times and not names & (_NUMBERS - {BOOL})):
        changed: Mapping[LeafType, LeafType] = dict.fromkeys(_TIMES, STRING)
        if not names & (_NUMBERS - {BOOL}):
            changed = {**changed, BOOL: STRING}
    else:
        changed = dict.fromkeys(times, max(times, key=_TIMES.index, default=DATE))
    return [changed.get(each, each) for each in elements]


def types_one_by_one(elements: Sequence[LeafType]) -> list[LeafType]:
    """The types of the elements of an Array(Dynamic): ClickHouse stores an element as the type of an earlier one where
    that can hold it."""
    found: list[LeafType] = []
    for each in elements:
        wider = next((of for of in _WIDER.get(each, ()) if of in found), each)
        found.append(wider)
    return found


_WIDER: Mapping[LeafType, tuple[LeafType, ...]] = {
    INT64: (FLOAT64,),
    NEGATIVE: (FLOAT64,),
    UINT64: (FLOAT64,),
    DATE: (STRING, DATETIME, DATETIME64),
    DATETIME: (STRING, DATETIME64),
    DATETIME64: (STRING,),
}


def _common_type(types: Sequence[LeafType]) -> LeafType | None:
    """The one type of all values; None if there is none."""
    kinds = set(types) - {NOTHING, EMPTY}
    if not kinds:
        return NOTHING if NOTHING in types else EMPTY
    if any(isinstance(each, tuple) for each in kinds):
        return _common_array_type(kinds)
    names = {str(each) for each in kinds}
    if names <= {JSON, OPTIONAL_JSON}:
        return OPTIONAL_JSON if NOTHING in types or OPTIONAL_JSON in names else JSON
    return _common_number_type(names) if names <= _NUMBERS and len(names) > 1 else _only_one(names)


def _only_one(names: set[str]) -> LeafType | None:
    return next(iter(names)) if len(names) == 1 else None


def _common_array_type(kinds: set[LeafType]) -> LeafType | None:
    inner = [each[1] for each in kinds if isinstance(each, tuple)]
    if len(inner) < len(kinds):
        return None
    found = DYNAMIC if DYNAMIC in inner else _common_type(element_types(inner))
    return None if found is None else ("Array", found)


def _common_number_type(names: set[str]) -> LeafType | None:
    if FLOAT64 in names:
        return FLOAT64
    if UINT64 in names:
        return None if NEGATIVE in names else UINT64
    return NEGATIVE if NEGATIVE in names else INT64


def type_name(of: LeafType) -> str:
    """The name of the type as `dynamicType` shows it."""
    if isinstance(of, tuple):
        return f"Array({_element_name(of[1])})"
    return INT64 if of == NEGATIVE else _JSON_NAME if of in (JSON, OPTIONAL_JSON) else of


def _element_name(of: LeafType) -> str:
    if isinstance(of, tuple) or of in (JSON, DYNAMIC):
        return type_name(of)
    return f"Nullable({STRING if of in (NOTHING, EMPTY) else type_name(of)})"
