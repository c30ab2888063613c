"""Types as a person writes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.postgres.migration.type_texts import read_type, spelt_type

ANY_INTERVAL = 0x7FFF << 16
SPELT = [
    ("character varying", 84, "varchar(80)"),
    ("character varying", -1, "varchar"),
    ("character varying[]", 84, "varchar(80)[]"),
    ("character", 6, "char(2)"),
    ("character", -1, "bpchar"),
    ("numeric", ((10 << 16) | 2) + 4, "numeric(10,2)"),
    ("numeric", (10 << 16) + 4, "numeric(10)"),
    ("numeric", ((3 << 16) | (-2 & 0x7FF)) + 4, "numeric(3,-2)"),
    ("numeric", -1, "numeric"),
    ("timestamp with time zone", 3, "timestamptz(3)"),
    ("time without time zone", -1, "time"),
    ("interval", ANY_INTERVAL | 3, "interval(3)"),
    ("bit", 8, "bit(8)"),
    ("bigint", -1, "bigint"),
    ('"char"', -1, '"char"'),
    ('public."a(3)"', -1, 'public."a(3)"'),
]


@pytest.mark.parametrize(("name", "typmod", "text"), SPELT)
def test_a_type_and_its_text(name: str, typmod: int, text: str) -> None:
    assert spelt_type(name, typmod) == text
    assert read_type(text) == (name, typmod)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("VARCHAR ( 80 )", ("character varying", 84)),
        ("decimal(10, 2)", ("numeric", ((10 << 16) | 2) + 4)),
        ("timestamp(3) with time zone", ("timestamp with time zone", 3)),
        ("int", ("integer", -1)),
        ("char", ("character", 5)),
        ("BIGINT", ("bigint", -1)),
        ("Double   Precision", ("double precision", -1)),
        ("bit", ("bit", 1)),
        ("int[3][]", ("integer[]", -1)),
        ("numeric(10,2) ARRAY[3]", ("numeric[]", ((10 << 16) | 2) + 4)),
        ("float(24)", ("real", -1)),
        ("Public.Mood []", ("public.mood[]", -1)),
        ('public."My  Mood"', ('public."My  Mood"', -1)),
        ("numeric(10,2000)", None),
        ("numeric(0)", None),
        ("varchar(0)", None),
        ("timestamp(7)", None),
        ("int(3)", None),
        ("float(54)", None),
        ("serial", None),
        ("timestamp with time zone(3)", None),
        ("public.geometry(Point,4326)", None),
        ("interval day to second", None),
        ("vector", None),
        ("vector(3)", None),
        ("varchar(80, 2)", None),
    ],
)
def test_other_texts_of_a_type(text: str, found: tuple[str, int] | None) -> None:
    assert read_type(text) == found


@pytest.mark.parametrize(("name", "typmod"), [("public.geometry", 1107460), ("interval", 1), ("vector", 3)])
def test_what_no_text_says(name: str, typmod: int) -> None:
    assert spelt_type(name, typmod) is None


@given(name=st.sampled_from([name for name, _, _ in SPELT]), typmod=st.integers(-1, 2**31 - 1))
def test_what_is_spelt_is_read_as_the_same_type(name: str, typmod: int) -> None:
    text = spelt_type(name, typmod)
    assert text is None or read_type(text) == (name, typmod)
