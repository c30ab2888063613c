"""Where the values of a file's columns stand in a JSON row of a data source.

In: the landing of a data source and the names of a file's columns. Out: `RowPlacement`. Invariant: a value that is
placed is found again by the JSON path of its column; a row that cannot be read becomes a text, which is no row: it goes
to the quarantine with what it holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import orjson

from penstock.errors import InvalidRequest, did_you_mean
from penstock.model.json_path import parse_json_path, place_value
from penstock.model.manifest import Landing, LandingColumn
from penstock.model.types import Type

Path = tuple[str | None, ...]
LONGEST_SHOWN = 2**20
"""The most characters that the quarantine has of a row that cannot be written."""
ABSENT = object()
"""Stands for a value that a row does not have."""


@dataclass(frozen=True, slots=True)
class PlacedColumn:
    """A column of a data source that a file has."""

    name: str
    type: Type
    path: Path
    """The keys to its value; None for the elements of an array."""
    at: int
    """Its position in the file."""


@dataclass(frozen=True, slots=True)
class RowPlacement:
    """The columns of a file that its data source has."""

    columns: tuple[PlacedColumn, ...]

    def row(self, values: Sequence[object]) -> bytes:
        """The JSON row of the values of `columns`, in their order."""
        found: dict[str, object] = {}
        for column, value in zip(self.columns, values, strict=True):
            if value is not ABSENT:
                place_value(found, column.path, value)
        try:
            return orjson.dumps(found)
        except orjson.JSONEncodeError:  # nested deeper than JSON is written
            return unreadable_row(str([*values])[:LONGEST_SHOWN])


def unreadable_row(text: str) -> bytes:
    """A line for a row that cannot be read: it is rejected, and its text is in the quarantine."""
    return orjson.dumps(text.encode(errors="backslashreplace").decode())


def place_columns(
    landing: Landing, names: Sequence[str], data_source: str, others: Sequence[Landing] = ()
) -> RowPlacement:
    """The columns of a file by name; those that no running version has are passed over. `others` are the landings of
    other versions than live, whose columns a file may have already. Raises InvalidRequest if none of live's is known,
    or two have one name."""
    known = {column.name: column for column in landing.columns if column.path}
    twice = next((name for name in names if name in known and names.count(name) > 1), None)
    if twice is not None:
        raise InvalidRequest(f"the file has the column `{twice}` twice")
    found = [_placed(known[name], at) for at, name in enumerate(names) if name in known]
    if not found:
        first = names[0] if names else ""
        message = f"no column of the file is one of `{data_source}`: it has {', '.join(names[:10]) or 'none'}"
        raise InvalidRequest(message, hint=did_you_mean(first, known))
    _check_paths(found)
    for each in _columns_of_others(others, names):
        if not any(_is_inside(each.path, one.path) or _is_inside(one.path, each.path) for one in found):
            found.append(each)
    return RowPlacement(tuple(found))


def _columns_of_others(others: Sequence[Landing], names: Sequence[str]) -> Iterator[PlacedColumn]:
    """The columns of a file as other versions read them."""
    for landing in others:
        for column in landing.columns:
            if column.path and names.count(column.name) == 1 and parse_json_path(column.path)[:1] not in ((), (None,)):
                yield _placed(column, names.index(column.name))


def _placed(column: LandingColumn, at: int) -> PlacedColumn:
    return PlacedColumn(column.name, column.type, parse_json_path(column.path or "$"), at)


def all_columns(landing: Landing) -> list[str]:
    """The names of the columns that a row can fill, in the order of the schema."""
    return [column.name for column in landing.columns if column.path]


def _check_paths(columns: Sequence[PlacedColumn]) -> None:
    """Raises InvalidRequest for a column whose value is a part of another's, since a file has them apart."""
    for column in columns:
        other = next((each for each in columns if each is not column and _is_inside(each.path, column.path)), None)
        if other is not None or not column.path or column.path[0] is None:
            message = f"the column `{column.name}` is read from a JSON value that holds other columns"
            raise InvalidRequest(message, hint="send the rows as NDJSON, or leave that column out of the file")


def _is_inside(path: Path, around: Path) -> bool:
    return path[: len(around)] == around
