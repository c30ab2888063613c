"""What every table and endpoint must hold, computed from the CSV files in plain Python.

In: the rows of the CSV files. Out: the expected rows of each table and endpoint, for both versions. Invariant: shares
no code with Penstock: only loops, sets and sums.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.demo.nyc_flights import Row

Cell: TypeAlias = "str | int | float | None"
Line: TypeAlias = "tuple[Cell, ...]"
Key: TypeAlias = "tuple[str, ...]"

WEATHER = (
    "origin",
    "year",
    "month",
    "day",
    "hour",
    "temp",
    "dewp",
    "humid",
    "wind_dir",
    "wind_speed",
    "wind_gust",
    "precip",
    "pressure",
    "visib",
    "time_hour",
)
FLIGHTS_1 = (
    "year",
    "month",
    "day",
    "dep_time",
    "sched_dep_time",
    "dep_delay",
    "arr_time",
    "sched_arr_time",
    "arr_delay",
    "carrier",
    "flight",
    "tailnum",
    "origin",
    "dest",
    "distance",
    "hour",
    "minute",
    "time_hour",
)
FLIGHTS_2 = (*FLIGHTS_1, "air_time")


@dataclass(slots=True)
class FlightGroup:
    """One group of a materialized view: what its states add up to."""

    rows: int = 0
    values: list[float] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    total: int = 0

    @property
    def mean(self) -> float | None:
        return sum(self.values) / len(self.values) if self.values else None

    @property
    def most(self) -> float | None:
        return max(self.values, default=None)


Groups: TypeAlias = "dict[Key, FlightGroup]"


def hour_text(row: Row) -> str:
    """2013-01-01T10:00:00Z as ClickHouse writes a DateTime."""
    return str(row["time_hour"]).replace("T", " ").rstrip("Z")


def date_text(row: Row) -> str:
    return hour_text(row)[:10]


def landed_lines(rows: Iterable[Row], columns: Sequence[str]) -> Iterable[Line]:
    """The rows as a landing table holds them."""
    for row in rows:
        cells = dict(row) | {"time_hour": hour_text(row)}
        yield tuple(cells.get(column) for column in columns)


def landed_lines_of_version_2(flights: Sequence[Row], cut: int) -> Iterable[Line]:
    """Version 2 of `flights`: numbers for flights, and air times only after the cut, because the
    rows before it were landed by version 1, which had no such column."""
    for index, row in enumerate(flights):
        changed = row | {"flight": int(row["flight"])}
        if index < cut:
            changed.pop("air_time", None)
        yield from landed_lines([changed], FLIGHTS_2)


def group_rows(rows: Iterable[Row], key: Callable[[Row], Key], delay: str) -> Groups:
    """The rows of each key, with the values of one column that may be absent."""
    groups: Groups = {}
    for row in rows:
        one = groups.setdefault(key(row), FlightGroup())
        one.rows += 1
        one.total += int(row.get("distance", 0))
        if delay in row:
            one.values.append(float(row[delay]))
        if "tailnum" in row:
            one.names.add(str(row["tailnum"]))
    return groups


def carriers_by_day(flights: Iterable[Row]) -> Groups:
    return group_rows(flights, lambda row: (str(row["carrier"]), date_text(row)), "dep_delay")


def carriers_by_month(flights: Iterable[Row]) -> Groups:
    return group_rows(flights, lambda row: (str(row["carrier"]), date_text(row)[:7] + "-01"), "dep_delay")


def carriers(flights: Iterable[Row]) -> Groups:
    return group_rows(flights, lambda row: (str(row["carrier"]),), "dep_delay")


def routes_by_hour(flights: Iterable[Row]) -> Groups:
    return group_rows(flights, lambda row: (str(row["origin"]), str(row["dest"]), hour_text(row)), "arr_delay")


def routes(flights: Iterable[Row]) -> Groups:
    return group_rows(flights, lambda row: (str(row["origin"]), str(row["dest"])), "arr_delay")


@dataclass(slots=True)
class WeatherGroup:
    """One group of the weather."""

    hours: int = 0
    temps: list[float] = field(default_factory=list)
    visibs: list[float] = field(default_factory=list)
    gusts: list[float] = field(default_factory=list)

    def line(self) -> Line:
        mean = sum(self.temps) / len(self.temps) if self.temps else None
        return (self.hours, mean, min(self.visibs), max(self.gusts, default=None))


def group_weather(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, Line]:
    groups: dict[Key, WeatherGroup] = {}
    for row in rows:
        one = groups.setdefault(key(row), WeatherGroup())
        one.hours += 1
        one.visibs.append(float(row["visib"]))
        if "temp" in row:
            one.temps.append(float(row["temp"]))
        if "wind_gust" in row:
            one.gusts.append(float(row["wind_gust"]))
    return {key: one.line() for key, one in groups.items()}


def delays(groups: Groups) -> dict[Key, Line]:
    """count, average, maximum, planes."""
    return {key: (one.rows, one.mean, one.most, len(one.names)) for key, one in groups.items()}


def delays_and_distance(groups: Groups) -> dict[Key, Line]:
    """count, average, maximum, planes, distance."""
    return {key: (one.rows, one.mean, one.most, len(one.names), one.total) for key, one in groups.items()}
