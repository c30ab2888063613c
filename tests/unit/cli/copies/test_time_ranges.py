from __future__ import annotations

import pytest

from penstock.cli.commands.copies.time_ranges import RangeUnit, divide_time, find_parameters
from penstock.cli.errors import WrongUsage


def shown(start: str, end: str, unit: str) -> list[str]:
    return [str(each) for each in divide_time(start, end, RangeUnit(unit))]


def test_ranges_follow_each_other_along_the_calendar() -> None:
    assert shown("2024-02-28", "2024-03-02", "day") == [
        "2024-02-28 to 2024-02-29",
        "2024-02-29 to 2024-03-01",
        "2024-03-01 to 2024-03-02",
    ]
    assert shown("2023-12-01", "2024-02-01", "month") == ["2023-12-01 to 2024-01-01", "2024-01-01 to 2024-02-01"]
    assert shown("2024-01-01", "2024-01-15", "week") == ["2024-01-01 to 2024-01-08", "2024-01-08 to 2024-01-15"]
    assert shown("2024-01-01T23:00+02:00", "2024-01-01 23:00:00", "hour") == [
        "2024-01-01 21:00:00 to 2024-01-01 22:00:00",
        "2024-01-01 22:00:00 to 2024-01-01 23:00:00",
    ]


@pytest.mark.parametrize(
    ("start", "end", "unit", "message"),
    [
        ("2024-01-02", "2024-01-02", "day", "is not before"),
        ("2024-01-03", "2024-01-02", "day", "is not before"),
        ("2024-01-02 12:00:00", "2024-01-04", "day", "is not the start of a day"),
        ("2024-01-02", "2024-02-01", "month", "is not the start of a month"),
        ("2024-01-01", "2024-01-09", "week", "is not the start of a week"),
        ("yesterday", "2024-01-09", "day", "--from takes a time"),
        ("2024-01-01", "9999-01-01", "day", "from 1970 to 2149"),
        ("1970-01-01", "2149-01-01", "hour", "more than 100,000 ranges"),
    ],
)
def test_a_range_is_the_same_whoever_asks_for_it(start: str, end: str, unit: str, message: str) -> None:
    with pytest.raises(WrongUsage, match=message):
        divide_time(start, end, RangeUnit(unit))


def declared(**types: str) -> list[dict]:
    return [{"name": name, "type": of} for name, of in types.items()]


@pytest.mark.parametrize(
    ("types", "unit", "expected"),
    [
        ({"start": "Date", "end": "Date"}, "day", {"start": "2024-05-01", "end": "2024-05-02"}),
        (
            {"date_from": "DateTime", "date_to": "DateTime64"},
            "day",
            {"date_from": "2024-05-01 00:00:00", "date_to": "2024-05-02 00:00:00"},
        ),
        ({"start": "String", "end": "String", "day": "Date"}, "day", {"start": "2024-05-01", "end": "2024-05-02"}),
        ({"day": "Date", "site": "String"}, "day", {"day": "2024-05-01"}),
        ({"month": "Date"}, "month", {"month": "2024-05-01"}),
        ({"hour": "DateTime"}, "hour", {"hour": "2024-05-01 00:00:00"}),
    ],
)
def test_the_parameters_of_a_range_are_found_by_usual_names(types: dict, unit: str, expected: dict) -> None:
    of = RangeUnit(unit)
    [part, *_] = divide_time("2024-05-01", "2024-06-01" if unit == "month" else "2024-05-02", of)
    assert find_parameters(declared(**types), of, None, None).values(part, of) == expected


def test_given_names_win_and_unclear_ones_are_refused() -> None:
    [part] = divide_time("2024-05-01", "2024-05-02", RangeUnit.day)
    found = find_parameters(declared(a="Date", b="Date", start="Date", end="Date"), RangeUnit.day, "a", "b")
    assert found.values(part, RangeUnit.day) == {"a": "2024-05-01", "b": "2024-05-02"}
    for types, unit, start, end, message in (
        ({"a": "Date"}, "day", None, None, "it is not clear"),
        ({}, "day", None, None, "it is not clear"),
        ({"day": "Date"}, "month", None, None, "it is not clear"),
        ({"a": "Date"}, "day", "b", None, "no parameter `b`"),
        ({"a": "Date"}, "day", None, "a", "needs --from-param"),
        ({"start": "Date", "end": "Date"}, "hour", None, None, "`start` is a day"),
    ):
        with pytest.raises(WrongUsage, match=message):
            find_parameters(declared(**types), RangeUnit(unit), start, end)
