"""Whole numbers for a DateTime64 in files of rows, which mean more than one time.

In: a value as it is decoded from JSON, and the type of its column. Out: the stored value, or InvalidValue. Invariant:
no time is guessed: of a DateTime64(3), ClickHouse takes 1577934245 in a file for seconds, and posted rows have
milliseconds there.
"""

from __future__ import annotations

from penstock.flow.landing.value_parser import InvalidValue, ValueConverter, value_converter
from penstock.model import types as t
from penstock.model.json_documents.numbers import JsonNumber
from penstock.model.types import Type, has_part, unwrap_type


def unambiguous_converter(of: Type) -> ValueConverter:
    """The function that converts values of a type as those of posted rows; it refuses whole numbers for times that have
    parts of seconds."""
    convert = value_converter(of)
    if not has_part(of, t.DateTime64):
        return convert

    def check_and_convert(value: object) -> object:
        _refuse_whole_numbers(value, unwrap_type(of))
        return convert(value)

    return check_and_convert


def _refuse_whole_numbers(value: object, of: Type) -> None:
    match of, value:
        case (t.DateTime64(precision), int() | JsonNumber()) if precision and str(value).lstrip("-").isdigit():
            raise InvalidValue(
                f"{value} may be seconds or parts of them: declare the column as Int64, and convert it in the SELECT"
            )
        case (t.Array(inner), list()):
            for each in value:
                _refuse_whole_numbers(each, unwrap_type(inner))
        case (t.Map(_, inner), dict()):
            for each in value.values():
                _refuse_whole_numbers(each, unwrap_type(inner))
        case (t.Tuple(fields), list()):
            for each, (_, inner) in zip(value, fields, strict=False):
                _refuse_whole_numbers(each, unwrap_type(inner))
        case (t.Tuple(fields), dict()):
            for name, inner in fields:
                _refuse_whole_numbers(value.get(name), unwrap_type(inner))
