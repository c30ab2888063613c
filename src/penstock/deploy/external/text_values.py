"""Values of text files as the values that columns store.

In: texts of CSV and TSV, and JSON objects. Out: Python values for `stored_values`. Invariants: a value is read as a
posted row's is (`flow/landing/value_parser`): exactly, or not at all; where ClickHouse takes its default for a value
that is missing, so is it here. No time is guessed: of a DateTime64(3), ClickHouse takes the whole number 1577934245 in
a file for seconds, and posted rows have milliseconds there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from penstock.deploy.external.clickhouse_literals import literals_as_json
from penstock.deploy.external.stored_values import default_value
from penstock.deploy.external.text_records import BrokenFile
from penstock.flow.landing.json_row import InvalidRow, decode_json, decode_row_with_documents
from penstock.flow.landing.value_parser import InvalidValue, ValueConverter, format_value, value_converter
from penstock.model import types as t
from penstock.model.json_documents.json_syntax import RepeatedKeys
from penstock.model.json_documents.numbers import JsonNumber
from penstock.model.types import Type, has_part, unwrap_type

Columns: TypeAlias = Sequence[tuple[str, Type]]
ReadText: TypeAlias = Callable[["str | None"], object]


class InvalidRecord(ValueError):
    """A row that does not fit its columns; the message names the column and says why."""


def text_reader(of: Type) -> ReadText:
    """The function that turns the text of a value, None for none, into a value of the type. It raises InvalidValue."""
    plain, convert, default = unwrap_type(of), unambiguous_converter(of), default_value(of)
    parse = _parser_of(plain, convert)

    def read(text: str | None) -> object:
        if text is None:
            if isinstance(plain, t.Enum) and default is not None:
                raise InvalidValue("there is no value, and an Enum has no default")
            return default
        return parse(text)

    return read


def _parser_of(plain: Type, convert: ValueConverter) -> Callable[[str], object]:
    match plain:
        case t.Int() | t.Decimal():
            return lambda text: convert(text or "0")
        case t.Bool():
            return lambda text: convert({"1": True, "0": False}.get(text, text))
        case t.Array() | t.Map() | t.Tuple():
            return lambda text: convert(_nested(text))
        case t.Json():
            return lambda text: convert(_document(text))
        case _:
            return convert


def _nested(text: str) -> object:
    """The value of an array, a map or a tuple, written as JSON or as ClickHouse writes it."""
    for form in (text, literals_as_json(text)):
        try:
            return decode_json(form.encode())
        except InvalidRow:
            continue
    raise InvalidValue(f"{format_value(text)} is no array, map or tuple")


def _document(text: str) -> object:
    try:
        return decode_row_with_documents(text.encode())
    except InvalidRow as error:
        raise InvalidValue(str(error)) from None


def read_record(readers: Sequence[tuple[str, int, ReadText]], record: Sequence[str | None]) -> dict[str, object]:
    """The values of a record by column, each from its place in the record; a place below 0: it has none. Raises
    InvalidRecord."""
    found: dict[str, object] = {}
    for name, place, read in readers:
        try:
            found[name] = read(record[place] if place >= 0 else None)
        except InvalidValue as error:
            raise InvalidRecord(f"`{name}`: {error}") from None
    return found


class JsonReader:
    """Reads objects as rows."""

    def __init__(self, columns: Columns):
        self._columns = [(name, name.lower(), unambiguous_converter(of), default_value(of)) for name, of in columns]

    def row(self, text: str) -> dict[str, object]:
        """The values of an object by column. Raises InvalidRecord, BrokenFile."""
        try:
            given = decode_row_with_documents(text.encode())
        except InvalidRow as error:
            raise BrokenFile(str(error)) from None
        if isinstance(given, RepeatedKeys):
            raise InvalidRecord("an object has the same key twice")
        found: dict[str, object] = {}
        for name, folded, convert, default in self._columns:
            value = given[name] if name in given else _folded(given, folded)
            try:
                found[name] = default if value is None else convert(value)
            except InvalidValue as error:
                raise InvalidRecord(f"`{name}`: {error}") from None
        return found


def _folded(given: Mapping[str, object], name: str) -> object:
    """The value of a key that differs in its case only, as ClickHouse finds it; None if there is none."""
    return next((value for key, value in given.items() if key.lower() == name), None)


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
