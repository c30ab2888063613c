"""Parse one raw row: its typed values, or the reasons why a landing version rejects it.

In: the landings that share a table, and a line of NDJSON: a posted row, or a message of a topic. Out: `ParsedRow`. The
same code lands rows and answers a POST. Invariant: a version either accepts a row with every value exact, or rejects it
with at least one reason, which is text that every table can store; no row makes it raise an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from penstock.flow.landing.json_row import InvalidRow, decode_row, decode_row_with_documents
from penstock.flow.landing.message import Message, read_message
from penstock.flow.landing.value_parser import InvalidValue, ValueConverter, value_converter
from penstock.model.datasource import MESSAGE_COLUMNS
from penstock.model.json_path import parse_json_path, path_of_key
from penstock.model.manifest import Landing, LandingColumn
from penstock.model.types import Type, has_json, is_nullable

ABSENT = "_absent_"
"""Prefix of flag columns; a flag says that the row had no value at the path of a Nullable column with a DEFAULT."""
LONGEST_REASON = 500
NOT_CONDEMNED: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class ParsedRow:
    """A parsed row."""

    values: Mapping[str, object] | None
    """The values by physical column; None if no version accepts the row."""
    rejects: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """The versions that reject the row, each with its reasons."""


@dataclass(frozen=True, slots=True)
class _ColumnParser:
    name: str
    type: Type
    physical: str
    look_up: Callable[[Mapping[str, object]], object]
    convert: ValueConverter
    required: bool
    flag: str | None
    is_of_message: bool
    """Whether a message fills it by what it carries besides its fields."""


@dataclass(frozen=True, slots=True)
class _Version:
    """How one landing version reads rows."""

    name: str
    columns: tuple[_ColumnParser, ...]

    @property
    def reads_fields(self) -> bool:
        return any(not each.is_of_message for each in self.columns)

    @property
    def reads_value(self) -> bool:
        return any(each.is_of_message and each.name == "__value" for each in self.columns)


@dataclass(frozen=True, slots=True)
class _ReadLine:
    """A line as far as every version reads it the same."""

    row: Mapping[str, object]
    message: Message | None = None
    fault: str | None = None
    """Why it has no fields."""

    def fault_of(self, version: _Version) -> str | None:
        """Why a version cannot read it: of a message, it may need no fields."""
        if self.message is None or version.reads_fields:
            return self.fault
        return self.message.problem if version.reads_value else None


class RowParser:
    """Parses rows for the landings of one table."""

    def __init__(self, landings: Sequence[Landing]):
        self._versions = [
            _Version(landing.version, tuple(_column_parser(each) for each in landing.columns if each.path))
            for landing in landings
        ]
        has_documents = any(has_json(each.type) for landing in landings for each in landing.columns)
        self._decode = decode_row_with_documents if has_documents else decode_row

    def parse(self, line: bytes, condemned: Mapping[str, str] = NOT_CONDEMNED) -> ParsedRow:
        """The values for every version that accepts the line, and the reasons of every version that rejects it.
        `condemned` has the reasons of versions that must reject it although its values fit."""
        read = self._read(line)
        values: dict[str, object] = {}
        rejects = []
        for version in self._versions:
            fitted: dict[str, object] = {}
            fault = read.fault_of(version) if read.fault is not None else None
            reasons = (fault,) if fault is not None else _convert_columns(read, version.columns, fitted)
            if version.name in condemned and fault is None:
                reasons = (*reasons, condemned[version.name])
            if reasons:
                rejects.append((version.name, reasons))
            else:
                values.update(fitted)
        return ParsedRow(values if len(rejects) < len(self._versions) else None, tuple(rejects))

    def _read(self, line: bytes) -> _ReadLine:
        message = None
        try:
            message = read_message(line)
            if message is None:
                return _ReadLine(self._decode(line))
            if message.refused is not None or message.value is None:
                return _ReadLine({}, message, message.refused)
            return _ReadLine(self._decode(message.value), message)
        except InvalidRow as error:
            return _ReadLine({}, message, str(error))


def _convert_columns(read: _ReadLine, columns: Sequence[_ColumnParser], values: dict[str, object]) -> tuple[str, ...]:
    """Convert the columns of a row into `values`. Returns the reasons why columns do not fit."""
    reasons: list[str] = []
    row, message = read.row, read.message
    for column in columns:
        try:
            value = column.look_up(message.columns if message is not None and column.is_of_message else row)
            if value is not None and value is not _MISSING:
                values[column.physical] = column.convert(value)
            elif column.required:
                reasons.append(_reason(column, "is absent and has no default"))
            else:
                values[column.physical] = None
                if column.flag is not None and value is _MISSING:
                    values[column.flag] = True
        except InvalidValue as error:
            reasons.append(_reason(column, str(error)))
        except (MemoryError, OSError):  # the machine's fault, and over when the step is run again
            raise
        except Exception as error:
            reasons.append(_reason(column, f"the value cannot be read as {column.type}: {error!r}"))
    return tuple(reasons)


def _reason(column: _ColumnParser, text: str) -> str:
    """A reason that can be stored: half of a surrogate pair, which it may quote, is no text."""
    whole = f"{column.name}: {text}".encode(errors="backslashreplace").decode()
    return whole if len(whole) <= LONGEST_REASON else whole[: LONGEST_REASON - 1] + "…"


class _Missing:
    """Stands for the value of a path that the row does not have."""


_MISSING = _Missing()


def _column_parser(column: LandingColumn) -> _ColumnParser:
    may_be_null = is_nullable(column.type)
    return _ColumnParser(
        column.name,
        column.type,
        column.physical,
        _path_getter(parse_json_path(column.path or "$")),
        value_converter(column.type),
        required=not may_be_null and column.default is None,
        flag=ABSENT + column.physical if may_be_null and column.default is not None else None,
        is_of_message=column.name in MESSAGE_COLUMNS and column.path == path_of_key(column.name),
    )


def _path_getter(parts: tuple[str | None, ...]) -> Callable[[Mapping[str, object]], object]:
    match parts:
        case ():
            return lambda row: row
        case (str(key),):
            return lambda row: row.get(key, _MISSING)
        case _:
            return lambda row: _follow_path(row, parts)


def _follow_path(value: object, parts: tuple[str | None, ...]) -> object:
    for position, part in enumerate(parts):
        if part is None:
            if not isinstance(value, list):
                return _MISSING if value is None or value is _MISSING else value
            rest = parts[position + 1 :]
            found = (_follow_path(each, rest) for each in value)
            return [None if each is _MISSING else each for each in found]
        if not isinstance(value, Mapping):
            return _MISSING
        value = value.get(part, _MISSING)
    return value
