"""The posts carry each row of the CSV once, in order, under keys of their own."""

from __future__ import annotations

from penstock.demo.nyc_flights import Row, posts, read_flights, read_weather


def test_the_real_rows() -> None:
    flights, weather = read_flights(), read_weather()
    assert (len(flights), len(weather)) == (336_776, 26_115)
    assert all(isinstance(row["flight"], str) for row in flights)
    assert "NA" not in {value for row in weather for value in row.values()}
    assert [row["time_hour"] for row in flights] == sorted(str(row["time_hour"]) for row in flights)


def test_posts_hold_every_row_once() -> None:
    flights: tuple[Row, ...] = tuple({"n": number} for number in range(12_345))
    weather: tuple[Row, ...] = tuple({"w": number} for number in range(777))
    plan = posts(flights, weather)
    assert tuple(row for post in plan if post.name == "flights" for row in post.rows) == flights
    assert tuple(row for post in plan if post.name == "weather" for row in post.rows) == weather
    assert len({post.key for post in plan}) == len(plan)
    assert plan[-1].flights == len(flights)
