"""The types of parameters: which texts each type accepts, and the value that it makes of them.

In: the name of a type and a text. Out: a value of the template. Invariant: a text is accepted only where the
ClickHouse type can hold exactly that value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import TypeAlias

from penstock.template.values import TypedFloat, TypedInt, Value

TextReader: TypeAlias = Callable[[str], Value]

_INT = re.compile(r"[+-]?[0-9]{1,80}")
_FLOAT = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_SPECIAL = ("nan", "inf", "-inf", "+inf")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[T ]([0-9]{2}:[0-9]{2}:[0-9]{2})(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_LARGEST_FLOAT32 = 3.4028235e38
_TRUE, _FALSE = ("1", "true"), ("0", "false", "")


class WrongValue(ValueError):
    """A text does not fit the type; carries what was expected."""


def _int_reader(name: str) -> TextReader:
    bits = int(re.sub(r"\D", "", name))
    low, high = (0, 2**bits - 1) if name.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def read(text: str) -> Value:
        found = int(text) if _INT.fullmatch(text) else None
        if found is None or not low <= found <= high:
            raise WrongValue(f"a whole number from {low} to {high}")
        return found

    return read


def _float_reader(largest: float) -> TextReader:
    def read(text: str) -> Value:
        if text.lower() in _SPECIAL:
            return float(text)
        found = float(text) if _FLOAT.fullmatch(text) and len(text) <= 400 else math.inf
        if abs(found) > largest:
            raise WrongValue(f"a number up to {largest:g}")
        return found

    return read


def _read_date(text: str) -> Value:
    found = _DATE.fullmatch(text)
    try:
        if found is not None:
            date(*(int(part) for part in found.groups()))
            return text
    except ValueError:
        pass
    raise WrongValue("a date such as 2024-01-31")


def _time_reader(example: str) -> TextReader:
    def read(text: str) -> Value:
        found = _TIME.fullmatch(text)
        try:
            if found is not None:
                datetime.strptime(f"{found[1]} {found[2]}", "%Y-%m-%d %H:%M:%S")
                return text
        except ValueError:
            pass
        raise WrongValue(f"a time such as {example}")

    return read


def _read_boolean(text: str) -> Value:
    if text.lower() in _TRUE:
        return 1
    if text.lower() in _FALSE:
        return 0
    raise WrongValue("true or false")


INTS = tuple(f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64, 128, 256))
FLOATS = ("Float32", "Float64")
READERS: Mapping[str, TextReader] = {
    "String": lambda text: text,
    "Boolean": _read_boolean,
    "bool": _read_boolean,
    "Date": _read_date,
    "DateTime": _time_reader("2024-01-31 23:59:59"),
    "DateTime64": _time_reader("2024-01-31 23:59:59.999"),
    "Int": _int_reader("Int32"),
    "Integer": _int_reader("Int32"),
    **{name: _int_reader(name) for name in INTS},
    "Float32": _float_reader(_LARGEST_FLOAT32),
    "Float64": _float_reader(1.7976931348623157e308),
}
"""By type: what reads a text. Raises WrongValue."""

PLACEHOLDERS: Mapping[str, str] = {
    "String": "__no_value__",
    "Date": "2019-01-01",
    "DateTime": "2019-01-01 00:00:00",
    "DateTime64": "2019-01-01 00:00:00.000",
}
"""The texts that stand for a value where a template is checked; 0 for all other types."""


def placeholder_text(of: str) -> str:
    return PLACEHOLDERS.get(of, "0")


def with_type(of: str, value: Value) -> Value:
    """A parsed value as one that is written into SQL with its type."""
    if of in INTS and isinstance(value, int):
        return TypedInt.made(value, of)
    return TypedFloat.made(value, of) if of in FLOATS and isinstance(value, float) else value


_WRAPPED = re.compile(r"(?:Nullable|LowCardinality)\((.*)\)")
_OTHER_TYPES = re.compile(
    r"(?:UUID|IPv[46]|Date32|FixedString|Enum(?:8|16)?|Decimal(?:32|64|128|256)?|JSON|Bool)(?:\(.*\))?"
)


def element_type(written: object) -> tuple[str, str | None]:
    """The element type that the second argument of `Array(x, …)` names, and the default that it is instead. As in the
    format's own engine, elements of any other type are texts, and so are those of an array without a type."""
    if not isinstance(written, str):
        return "String", ",".join(map(str, written)) if isinstance(written, (list, tuple)) else None
    wrapped = _WRAPPED.fullmatch(written.strip())
    if wrapped is not None:
        return element_type(wrapped[1])
    if written in READERS:
        return written, None
    return "String", None if _OTHER_TYPES.fullmatch(written) else written
