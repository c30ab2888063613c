"""Parameters are bound: what a value is in Python decides what it is in SQL, and no value becomes SQL."""

from __future__ import annotations

import ipaddress
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from uuid import UUID

import pandas  # noqa: TID251 what a program may give
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st

from penstock.client import ClientError
from penstock.client.requests import query_request
from penstock.client.sql_parameters import bind_parameters
from unit.template.helpers import sql


class Colour(Enum):
    RED = "red"


def rendered(text: str, values: dict[str, object]) -> str:
    """The SQL that the server makes of the template and the texts."""
    bound = bind_parameters(text, values)
    return sql(bound.text.removeprefix("%"), bound.values).strip()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("it's", "'it\\'s'"),
        (True, "true"),
        (7, "toInt64('7')"),
        (2**64 - 1, "toUInt64('18446744073709551615')"),
        (Colour.RED, "'red'"),
        (None, "NULL"),
        (Decimal("1.50"), "toDecimal128('1.50', 2)"),
        (Decimal("1E+3"), "toDecimal128('1000', 0)"),
        (date(2024, 1, 2), "toDate32('2024-01-02')"),
        (UUID(int=1), f"toUUID('{UUID(int=1)}')"),
        (ipaddress.IPv4Address("1.2.3.4"), "toIPv4('1.2.3.4')"),
        (datetime(2024, 1, 2, 3, 4, 5), "'2024-01-02 03:04:05'"),
        (
            datetime(2024, 1, 2, 3, 4, 5, 6, timezone(timedelta(hours=1))),
            "toDateTime64('2024-01-02 02:04:05.000006', 6, 'UTC')",
        ),
        (datetime(2024, 1, 2, 3, 4, 5, 6), "'2024-01-02 03:04:05.000006'"),
        (pandas.Timestamp("2024-01-02 03:04:05.000000007"), "'2024-01-02 03:04:05.000000007'"),
        (
            pandas.Timestamp("2024-01-02 03:04:05.123456789", tz="Etc/GMT-1"),
            "toDateTime64('2024-01-02 02:04:05.123456789', 9, 'UTC')",
        ),
        (datetime(2024, 1, 2, tzinfo=timezone.utc), "toDateTime64('2024-01-02 00:00:00.000000', 6, 'UTC')"),
        (pandas.NaT, "NULL"),
        ([1, "a"], "[toInt64('1'), 'a']"),
        ((1, 2), "(toInt64('1'), toInt64('2'))"),
    ],
)
def test_a_value_has_the_type_that_it_has_in_python(value: object, expected: str) -> None:
    assert rendered("SELECT {a}", {"a": value}) == f"SELECT {expected}"


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0")))
def test_a_text_is_one_literal_whatever_it_is(text: str) -> None:
    _, literal = sqlglot.tokenize(rendered("SELECT {a}", {"a": text}), read="clickhouse")
    assert literal.text == text


def test_braces_in_quotes_and_comments_stay() -> None:
    text = "SELECT '{a}', \"{a}\", `{a}`, {a} -- {a}\n/* {a} */ + {a}"
    assert rendered(text, {"a": 1}).count("{a}") == 5


def test_a_parameter_is_bound_once_and_a_long_list_is_no_trouble() -> None:
    assert len(bind_parameters("SELECT {a}, {a}", {"a": 1}).values) == 1
    found = rendered("SELECT 1 WHERE n IN {n}", {"n": tuple(range(3_000))})
    assert found.endswith("toInt64('2999'))")


@pytest.mark.parametrize(
    ("text", "values", "message"),
    [
        ("SELECT {pge}", {"page": 1}, "the parameter `pge` is not given"),
        ("SELECT '{page}'", {"page": 1}, "does not use the parameter `page`"),
        ("SELECT {{page}}", {"page": 1}, "has marks of a template"),
        ("SELECT {a}", {"a": 2**64}, "more than 64 bits"),
        ("SELECT {a}", {"a": Decimal("NaN")}, "NaN is no Decimal"),
        ("SELECT {a}", {"a": ()}, "an empty tuple"),
        ("SELECT {a}", {"a": datetime(2024, 10, 27, 2, 30, fold=1)}, "give it its zone"),
        ("SELECT {a}", {"a": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, "before or after the years"),
        ("SELECT {a}", {"a": b"x"}, "a bytes is no value of a parameter"),
        ("SELECT {a}", {"a": "\ud800"}, "half of a surrogate pair"),
    ],
)
def test_what_cannot_be_bound(text: str, values: dict[str, object], message: str) -> None:
    with pytest.raises(ClientError, match=message):
        bind_parameters(text, values)


@pytest.mark.parametrize(
    ("text", "parameters", "message"),
    [
        ("", None, "not empty"),
        ("% SELECT {{Int8(q)}}", {"q": 1}, "no parameter is called `q`"),
        ("% SELECT {{String(a)}}", {"a": object()}, "a parameter cannot be sent: a: a object is no value"),
        ("SELECT '\ud800'", None, "the query cannot be sent"),
    ],
)
def test_queries_that_cannot_be_sent(text: str, parameters: dict[str, object] | None, message: str) -> None:
    with pytest.raises(ClientError, match=message):
        query_request(text, parameters, None)
