"""Made rows for a data source: as many as asked for, each of which lands.

In: a data source, a seed and the latest time. Out: rows as JSON objects, in the places that the columns' paths name.
Invariant: the same seed and latest time give the same rows, and the first rows of more are those of fewer; a data
source to which no such row can be posted is refused with the place of its column.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from penstock.cli.commands.project_tests.mock_values import NULL_SHARE, RowDraw, mock_value
from penstock.cli.commands.project_tests.plausible_texts import plausible_document
from penstock.errors import InvalidProject, Problem
from penstock.model import types as t
from penstock.model.datasource import Column, DataSource
from penstock.model.json_path import parse_json_path

SPAN_SECONDS = 30 * 86_400
"""The times of rows are in as many seconds before the latest."""
TTL_SPAN_SECONDS = 86_400
_LONGEST_LIST = 3


@dataclass(slots=True)
class _Place:
    """A place in a row: the columns that are read from it, and the places below."""

    columns: list[tuple[Column, t.Type]] = field(default_factory=list)
    """Each with its type there: that of an element inside of a list."""
    keys: dict[str, _Place] = field(default_factory=dict)
    elements: _Place | None = None


class MockRows:
    """Makes rows of one data source. Raises InvalidProject if none would land."""

    def __init__(self, source: DataSource, seed: int, until: dt.datetime):
        self._source = source
        self._seed = seed
        self._until = until
        self._span = SPAN_SECONDS if source.engine.ttl is None else TTL_SPAN_SECONDS
        self._root = _build_places(source)
        self._check_root()
        self._check(self._root)

    def rows(self, count: int) -> Iterator[dict[str, object]]:
        """The first rows."""
        for number in range(count):
            random = Random(f"{self._source.name}:{self._seed}:{number}")
            moment = self._until - dt.timedelta(seconds=random.randint(1, self._span))
            yield self._row(RowDraw(number, random, moment))

    def _row(self, draw: RowDraw) -> dict[str, object]:
        made = self._value(self._root, draw)
        # A text that is read from the whole row takes any.
        return made if isinstance(made, dict) else plausible_document(draw.random)

    def _value(self, place: _Place, draw: RowDraw) -> object:
        if place.keys:
            return {key: self._value(below, draw) for key, below in place.keys.items()}
        if place.elements is not None:
            return [self._value(place.elements, draw) for _ in range(draw.random.randint(0, _LONGEST_LIST))]
        may_be_null = place is not self._root and all(t.is_nullable(of) for _, of in place.columns)
        if may_be_null and draw.random.random() < NULL_SHARE:
            return None
        column, of = self._strictest(place.columns)
        return self._of_engine(column, of, draw)

    def _of_engine(self, column: Column, of: t.Type, draw: RowDraw) -> object:
        """The value of a column; the engine allows few for some columns."""
        if column.name == self._source.engine.sign:
            return 1
        if column.name == self._source.engine.is_deleted:
            return 0
        return mock_value(column.name, of, draw)

    def _check_root(self) -> None:
        """Raises InvalidProject if a column that is read from the whole row does not take an object."""
        if self._root.elements is not None:
            raise self._refusal(self._first_column(self._root), "its path leads into a list, and a row is an object")
        for column, of in self._root.columns:
            plain = t.unwrap_type(of)
            has_names = isinstance(plain, t.Tuple) and all(name for name, _ in plain.fields)
            if not (has_names or isinstance(plain, (t.String, t.Json, t.Map))):
                raise self._refusal(column, "it is read from the whole row, which is an object")

    def _check(self, place: _Place) -> None:
        """Raises InvalidProject where no value fits all columns of a place."""
        if place.keys or place.elements is not None:
            for column, of in place.columns:
                takes_all = isinstance(t.unwrap_type(of), t.String)
                takes_object = isinstance(t.unwrap_type(of), t.Json) and place.elements is None
                if not (takes_all or takes_object):
                    raise self._refusal(column, "other columns are read from inside of its value")
            if place.keys and place.elements is not None:
                raise self._refusal(self._first_column(place), "its path leads into a list that is an object elsewhere")
        elif place.columns:
            self._strictest(place.columns)
        for below in (*place.keys.values(), *filter(None, [place.elements])):
            self._check(below)

    def _first_column(self, place: _Place) -> Column:
        found = place
        while not found.columns:
            found = next(iter(found.keys.values())) if found.keys else found.elements or found
        return found.columns[0][0]

    def _strictest(self, columns: Sequence[tuple[Column, t.Type]]) -> tuple[Column, t.Type]:
        """The column whose values all columns of a place accept."""
        plain = {column.name: t.unwrap_type(of) for column, of in columns}
        limited = [each for each in columns if not isinstance(plain[each[0].name], t.String)]
        if not limited:
            return columns[0]
        kinds = {plain[column.name] for column, _ in limited}
        if len(kinds) == 1:
            return limited[0]
        if all(isinstance(kind, t.Int) for kind in kinds):
            return min(limited, key=lambda each: self._width(plain[each[0].name]))
        column, _ = limited[1]
        raise self._refusal(column, f"`{limited[0][0].name} {limited[0][1]}` is read from the same place")

    @staticmethod
    def _width(of: t.Type) -> int:
        assert isinstance(of, t.Int)
        return of.high

    def _refusal(self, column: Column, cause: str) -> InvalidProject:
        message = f"no row can be made for `{column.name} {column.type}`: {cause}"
        hint = "write rows by hand, or give the columns paths of their own"
        return InvalidProject(
            f"no rows can be made for {self._source.name}",
            [Problem("no-mock-rows", message, column.location, hint)],
        )


def _build_places(source: DataSource) -> _Place:
    root = _Place()
    for column in source.columns:
        path = source.path_of(column)
        if path is None:
            continue
        _refuse_state(source, column)
        place, of = root, column.type
        for part in parse_json_path(path):
            if part is None:
                place.elements, of = place.elements or _Place(), _element_type(source, column, of)
                place = place.elements
            else:
                place = place.keys.setdefault(part, _Place())
        place.columns.append((column, of))
    return root


def _refuse_state(source: DataSource, column: Column) -> None:
    if not t.has_part(column.type, t.AggregateFunction):
        return
    message = f"`{column.name}` holds the state of an aggregate, which no posted row can have"
    hint = "post rows to the data source that its materialized view reads"
    raise InvalidProject(
        f"no rows can be posted to {source.name}", [Problem("no-mock-rows", message, column.location, hint)]
    )


def _element_type(source: DataSource, column: Column, of: t.Type) -> t.Type:
    match t.unwrap_type(of):
        case t.Array(inner):
            return inner
        case _:
            message = f"`{column.name} {column.type}` is read from elements of a list, and is no Array"
            raise InvalidProject(
                f"no rows can be made for {source.name}",
                [Problem("no-mock-rows", message, column.location, "make it an Array, or take [:] from its path")],
            )
