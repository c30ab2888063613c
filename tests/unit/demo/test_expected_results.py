"""The independent recompute, on rows small enough to check by hand."""

from __future__ import annotations

from penstock.demo import expected_results
from penstock.demo.nyc_flights import Row

FLIGHTS: tuple[Row, ...] = (
    {
        "carrier": "UA",
        "flight": "15",
        "origin": "EWR",
        "dest": "IAH",
        "tailnum": "N1",
        "dep_delay": 2,
        "arr_delay": 5,
        "distance": 100,
        "air_time": 60,
        "time_hour": "2013-01-31T23:00:00Z",
    },
    {
        "carrier": "UA",
        "flight": "16",
        "origin": "EWR",
        "dest": "IAH",
        "distance": 50,
        "time_hour": "2013-02-01T00:00:00Z",
    },
    {
        "carrier": "UA",
        "flight": "17",
        "origin": "JFK",
        "dest": "IAH",
        "tailnum": "N1",
        "dep_delay": -1,
        "arr_delay": 0,
        "distance": 10,
        "air_time": 30,
        "time_hour": "2013-01-31T05:00:00Z",
    },
)


def test_days_and_months() -> None:
    days = expected_results.delays_and_distance(expected_results.carriers_by_day(FLIGHTS))
    assert days[("UA", "2013-01-31")] == (2, 0.5, 2.0, 1, 110)
    assert days[("UA", "2013-02-01")] == (1, None, None, 0, 50)
    months = expected_results.delays(expected_results.carriers_by_month(FLIGHTS))
    assert months == {("UA", "2013-01-01"): (2, 0.5, 2.0, 1), ("UA", "2013-02-01"): (1, None, None, 0)}


def test_routes_use_arrival_delays() -> None:
    routes = expected_results.delays(expected_results.routes(FLIGHTS))
    assert routes == {("EWR", "IAH"): (2, 5.0, 5.0, 1), ("JFK", "IAH"): (1, 0.0, 0.0, 1)}


def test_version_2_has_numbers_and_air_times_only_after_the_cut() -> None:
    columns = expected_results.FLIGHTS_2
    lines = [
        dict(zip(columns, line, strict=True)) for line in expected_results.landed_lines_of_version_2(FLIGHTS, cut=1)
    ]
    assert [line["flight"] for line in lines] == [15, 16, 17]
    assert [line["air_time"] for line in lines] == [None, None, 30]
    assert lines[0]["time_hour"] == "2013-01-31 23:00:00"
    assert FLIGHTS[0]["air_time"] == 60, "the rows of the CSV are not changed"


def test_weather() -> None:
    rows: list[Row] = [
        {"origin": "EWR", "temp": 10.0, "visib": 9.0, "time_hour": "2013-01-01T06:00:00Z"},
        {"origin": "EWR", "visib": 3.0, "wind_gust": 20.0, "time_hour": "2013-01-01T07:00:00Z"},
    ]
    assert expected_results.group_weather(rows, lambda row: (str(row["origin"]),)) == {("EWR",): (2, 10.0, 3.0, 20.0)}
