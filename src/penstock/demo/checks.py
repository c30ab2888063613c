"""Every table and endpoint of both versions, queried over HTTP and compared with the expected results.

In: the rows of the CSV files and a client. Out: a `ResultCheck` for each table and endpoint of each version.
Invariant: the list names every table and endpoint of the example.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.demo import expected_results
from penstock.demo.client import Answer, DemoClient
from penstock.demo.comparison import ResultDifference, RoundedValue, compare_answers, compare_groups, compare_rows
from penstock.demo.expected_results import Cell, Groups, Key, Line, date_text
from penstock.demo.nyc_flights import Row

MONTHS = range(1, 13)
STATES = (
    "countMerge(flights) AS flights, avgMerge(avg_delay) AS delay, maxMerge(max_delay) AS most, "
    "uniqMerge(planes) AS planes"
)
WEATHER_STATES = (
    "countMerge(hours) AS hours, avgMerge(avg_temp) AS temp, minMerge(min_visib) AS visib, maxMerge(max_gust) AS gust"
)


@dataclass(frozen=True, slots=True)
class ResultCheck:
    """The comparison of one table or endpoint of one version."""

    name: str
    version: int
    difference: ResultDifference


@dataclass(frozen=True, slots=True)
class PipelineVersion:
    """A version of the example: which deployment answers for it and which way its tables differ."""

    number: int
    deployment: str
    distance: bool


OLD, NEW = PipelineVersion(1, "previous", distance=False), PipelineVersion(2, "live", distance=True)


class ExpectedGroups:
    """The expected groups, computed once from the CSV for both versions."""

    def __init__(self, flights: Sequence[Row], weather: Sequence[Row]):
        self.flights, self.weather = flights, weather
        self.days = expected_results.carriers_by_day(flights)
        self.months = expected_results.carriers_by_month(flights)
        self.hours = expected_results.routes_by_hour(flights)
        self.carriers = expected_results.carriers(flights)
        self.routes = expected_results.routes(flights)
        self.by_month: dict[int, list[int]] = {month: [] for month in MONTHS}
        for index, row in enumerate(flights):
            self.by_month[int(row["month"])].append(index)


def check_all(client: DemoClient, known: ExpectedGroups, cut: int) -> Iterator[ResultCheck]:
    """Every check of both versions, each as soon as it is done. `cut`: flights landed before version 2."""
    for version in (OLD, NEW):
        ask = _DeploymentQueries(client, version.deployment)
        for name, compare in _named_checks(ask, known, version, cut):
            yield ResultCheck(name, version.number, compare())


def find_cutover(client: DemoClient, flights: Sequence[Row], earliest: int, latest: int) -> int | None:
    """How many flights version 2 took over from version 1: the number that explains the air times
    it holds. None if no number between what was posted before and after the switch does."""
    answer = client.sql("SELECT countIf(air_time IS NOT NULL) AS known FROM flights", "live")
    known = int(answer[0]["known"])
    after = sum("air_time" in row for row in flights[latest:])
    for cut in range(latest, earliest - 1, -1):
        if after == known:
            return cut
        after += cut > 0 and "air_time" in flights[cut - 1]
    return None


class _DeploymentQueries:
    """Queries of one deployment, with their rows as tuples."""

    def __init__(self, client: DemoClient, deployment: str):
        self._client, self._deployment = client, deployment

    def lines(self, sql: str) -> list[Line]:
        return _answer_lines(self._client.sql(sql, self._deployment))

    def groups(self, sql: str, keys: int) -> dict[Key, Line]:
        return {tuple(map(str, line[:keys])): line[keys:] for line in self.lines(sql)}

    def endpoint(self, name: str) -> list[Line]:
        return _answer_lines(self._client.endpoint(name, self._deployment))


def _answer_lines(answer: Answer) -> list[Line]:
    return [tuple(row.values()) for row in answer]


def _named_checks(
    ask: _DeploymentQueries, known: ExpectedGroups, version: PipelineVersion, cut: int
) -> Iterator[tuple[str, Callable[[], ResultDifference]]]:
    yield "flights", lambda: _check_flights(ask, known, version, cut)
    yield "flights_quarantine", lambda: _check_is_empty(ask, "flights_quarantine")
    yield "carrier_daily", lambda: _check_carrier_daily(ask, known, version)
    yield "carrier_monthly", lambda: _check_carrier_monthly(ask, known)
    yield "route_hourly", lambda: _check_route_hourly(ask, known)
    yield "weather", lambda: _check_weather(ask, known)
    yield "weather_quarantine", lambda: _check_is_empty(ask, "weather_quarantine")
    yield "weather_daily", lambda: _check_weather_daily(ask, known)
    yield "top_carriers.json", lambda: _check_top_carriers(ask, known, version)
    yield "route_delays.json", lambda: _check_route_delays(ask, known)
    yield "monthly.json", lambda: _check_monthly(ask, known)
    yield "weather_summary.json", lambda: _check_weather_summary(ask, known)


def _check_flights(
    ask: _DeploymentQueries, known: ExpectedGroups, version: PipelineVersion, cut: int
) -> ResultDifference:
    columns = expected_results.FLIGHTS_1 if version is OLD else expected_results.FLIGHTS_2
    before = version is OLD
    rows = (
        expected_results.landed_lines(known.flights, columns)
        if before
        else expected_results.landed_lines_of_version_2(known.flights, cut)
    )
    every = list(rows)
    total = ResultDifference()
    for month in MONTHS:
        found = ask.lines(f"SELECT {', '.join(columns)} FROM flights WHERE month = {month}")
        total += compare_rows([every[index] for index in known.by_month[month]], found)
    return total


def _check_is_empty(ask: _DeploymentQueries, table: str) -> ResultDifference:
    rows = int(ask.lines(f"SELECT count() AS rows FROM {table}")[0][0] or 0)
    return ResultDifference(rows=rows, differing=rows)


def _check_carrier_daily(ask: _DeploymentQueries, known: ExpectedGroups, version: PipelineVersion) -> ResultDifference:
    distance = ", sumMerge(distance) AS distance" if version.distance else ""
    found = ask.groups(f"SELECT carrier, date, {STATES}{distance} FROM carrier_daily GROUP BY carrier, date", 2)
    return compare_groups(_expected_states(known.days, version), found)


def _check_carrier_monthly(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    sql = f"SELECT carrier, month_start, {STATES} FROM carrier_monthly GROUP BY carrier, month_start"
    return compare_groups(expected_results.delays(known.months), ask.groups(sql, 2))


def _check_route_hourly(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    found: dict[Key, Line] = {}
    for month in MONTHS:
        where = f"FROM route_hourly WHERE toMonth(hour_start) = {month}"
        found |= ask.groups(f"SELECT origin, dest, hour_start, {STATES} {where} GROUP BY origin, dest, hour_start", 3)
    return compare_groups(expected_results.delays(known.hours), found)


def _check_weather(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    found = ask.lines(f"SELECT {', '.join(expected_results.WEATHER)} FROM weather")
    return compare_rows(expected_results.landed_lines(known.weather, expected_results.WEATHER), found)


def _check_weather_daily(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    sql = f"SELECT origin, date, {WEATHER_STATES} FROM weather_daily GROUP BY origin, date"
    wanted = expected_results.group_weather(known.weather, lambda row: (str(row["origin"]), date_text(row)))
    return compare_groups(wanted, ask.groups(sql, 2))


def _check_top_carriers(ask: _DeploymentQueries, known: ExpectedGroups, version: PipelineVersion) -> ResultDifference:
    states = _expected_states(known.carriers, version)
    order = sorted(known.carriers, key=lambda key: (-known.carriers[key].rows, key))
    wanted = [_with_rounded_column((*key, *states[key]), 2, 2) for key in order[:10]]
    return compare_answers(wanted, ask.endpoint("top_carriers"))


def _check_route_delays(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    order = sorted(known.routes, key=lambda key: (-known.routes[key].rows, key))
    groups = ((key, known.routes[key]) for key in order[:20])
    wanted = [_with_rounded_column((*key, one.rows, one.mean, one.most), 3, 2) for key, one in groups]
    return compare_answers(wanted, ask.endpoint("route_delays"))


def _check_monthly(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    lines = [(*key, one.rows, one.mean, len(one.names)) for key, one in known.months.items()]
    lines.sort(key=lambda line: (line[1], line[0]))
    return compare_answers([_with_rounded_column(line, 3, 2) for line in lines], ask.endpoint("monthly"))


def _check_weather_summary(ask: _DeploymentQueries, known: ExpectedGroups) -> ResultDifference:
    groups = expected_results.group_weather(known.weather, lambda row: (str(row["origin"]),))
    lines = [(*key, *line) for key, line in sorted(groups.items())]
    return compare_answers([_with_rounded_column(line, 2, 1) for line in lines], ask.endpoint("weather_summary"))


def _expected_states(groups: Groups, version: PipelineVersion) -> Mapping[Key, Line]:
    return expected_results.delays_and_distance(groups) if version.distance else expected_results.delays(groups)


def _with_rounded_column(line: Sequence[Cell], column: int, digits: int) -> list[Cell | RoundedValue]:
    """The line, with the column that the endpoint rounds."""
    value = line[column]
    assert not isinstance(value, str)
    return [*line[:column], RoundedValue(value, digits), *line[column + 1 :]]
