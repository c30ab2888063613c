"""The reasons of a quarantine are counted without the values that they are about, and keep all their other words."""

from __future__ import annotations

import re

import pytest

from penstock.deploy.ingest.quarantine import VALUE
from penstock.flow.landing.row_parser import RowParser
from penstock.model.manifest import Landing, LandingColumn
from penstock.parse.column_types import parse_type


@pytest.mark.parametrize(
    ("of", "value", "reason"),
    [
        ("UInt8", "300", "c: … is outside UInt8 (0 to 255)"),
        ("UInt8", '"is not a number"', "c: … is not a UInt8"),
        ("DateTime", '"2024 is not a day"', "c: … is not a time (expected YYYY-MM-DD hh:mm:ss)"),
        ("Tuple(Int8, Int8)", "[1, 2, 3]", "c: … values where 2 were expected"),
        ("Array(Int8)", '{"where": "is not"}', "c: … where an array was expected"),
        ("Decimal(9, 2)", "1.555", "c: … has more than 2 digits after the point"),
        ("FixedString(2)", f'"{"x" * 90}"', "c: … is longer than 2 bytes"),
        ("FixedString(2)", '"' + "x" * 55 + '\\"yyyyyyyyy"', "c: … is longer than 2 bytes"),
        ("Enum8('a' = 1)", '"b"', "c: … is not one of a"),
        ("Int8", "null", "c: is absent and has no default"),
        ("JSON(p Int64)", '{"p": "some is no text"}', 'c: "p": … is no Int64'),
    ],
)
def test_the_value_is_left_out(of: str, value: str, reason: str) -> None:
    assert shown(of, f'{{"c": {value}}}') == reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '"1;2;3"',
            "not a JSON object but a text; of CSV: a record that has too many or too few values, or is not UTF-8",
        ),
        ("[1]", "not a JSON object"),
    ],
)
def test_a_reason_about_the_row_is_whole(line: str, reason: str) -> None:
    assert shown("Int8", line) == reason


def shown(of: str, line: str) -> str:
    landing = Landing("s", "c__d1", "v1", (LandingColumn("c", "c", parse_type(of), "$.c"),))
    [(_, [told])] = RowParser((landing,)).parse(line.encode()).rejects
    return re.sub(VALUE, lambda found: f"{found[1] or ''}{found[2] or ''}… {found[3]}", told)
