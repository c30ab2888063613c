"""`sql(…)`: what its parts become, what it refuses, and that a value is read back as exactly that value."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from enum import Enum
from ipaddress import IPv4Address
from pathlib import Path
from uuid import UUID

import chdb
import pandas  # noqa: TID251 what people pass
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

import penstock.sql
from penstock import Api, Key, OlapConfig, OlapTable, View
from penstock.api import sql
from penstock.api.objects.sql_literals import sql_literal
from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.plan.project_check import check_loaded
from penstock.sql.compile import compile_expression
from python_projects import read_project, shown

EVIL = ("it's", "\\", "\\'", "a'; DROP TABLE x --", "/* ", "{{String(x)}}", "{% end %}", "{page}", "# x")


class Event(BaseModel):
    id: Key[int]
    page: str


class Kind(Enum):
    first = "first"


events = OlapTable[Event]("events", OlapConfig(version="0.1"))


def test_each_kind_of_part_stands_as_what_it_is() -> None:
    home = sql("{page} = {path}", page=events.columns.page, path="/")
    made = sql(
        "SELECT {events.id}, '{id}' -- {id}\nFROM {events} WHERE {home} AND id > {n}", events=events, home=home, n=-1
    )
    assert made == "SELECT {events.id}, '{id}' -- {id}\nFROM events_0_1 WHERE `page` = '/' AND id > (-1)"
    assert f"SELECT {events.columns.page:col} FROM {events}" == "SELECT `page` FROM events_0_1"
    assert sql("SELECT {id:col} FROM {events:table}", id=events.columns["id"], events=events).parameters == frozenset()


def test_a_name_that_is_left_is_a_parameter_also_of_a_part() -> None:
    condition = sql("page = {page} AND {other}", other=sql("id = {id}"))
    assert sql("SELECT 1 FROM {events} WHERE {it}", events=events, it=condition).parameters == {"page", "id"}


def test_the_package_of_that_name_is_the_same_function() -> None:
    """`from penstock import sql` gives it."""
    assert penstock.sql("SELECT {n}", n=1) == sql("SELECT {n}", n=1)  # type: ignore[operator]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sql("SELECT '{n}'", n=1), "does not use `n`"),
        (lambda: sql("SELECT {nn}", n=1), "did you mean `nn`"),
        (lambda: sql("SELECT {{n}}", n=1), "template of its own"),
        (lambda: sql("%\nSELECT {n}", n=1), "template of its own"),
        (lambda: sql("SELECT {n}", n={1: 2}), "a dict is no value of SQL"),
        (lambda: sql("SELECT {n}", n=2**64), "more than 64 bits"),
        (lambda: sql("SELECT {n}", n=float("nan")), "no literal"),
        (lambda: sql("SELECT {n}", n=()), "empty tuple"),
        (lambda: sql("SELECT {n}", n="\ud800"), "surrogate"),
        (lambda: sql("SELECT {n}", n=dt.date(1800, 1, 1)), "no time between 1900 and 2299"),
        (lambda: sql("SELECT {n}", n=dt.datetime(1, 1, 1, tzinfo=dt.timezone.utc)), "no time between"),
        (lambda: sql("SELECT {n}", n=pandas.NaT), "NaT is no time"),
        (lambda: sql("SELECT {n}", n=pandas.Timestamp(1)), "has nanoseconds"),
        (lambda: sql(1), "must be a str"),
        (lambda: View("v", sql("SELECT {n} FROM {t}", t=events)), "select_statement of View 'v' has no part `n`"),
        (lambda: View("w", "SELECT 1 FROM n", nodes={"n": sql("SELECT {n}")}), "node 'n' of View 'w' has no part `n`"),
        (lambda: Api[None, Event]("a", sql=sql("SELECT {n}")), "SQL of Api 'a' has no part `n`"),
    ],
)
def test_what_cannot_be_is_refused(make: object, message: str) -> None:
    with pytest.raises(TypeError, match=message.replace("(", r"\(")):
        make()  # type: ignore[operator]


def test_an_unknown_column_is_told_with_the_nearest_name() -> None:
    with pytest.raises(AttributeError, match=r"`events_0_1` has no column `pages`: did you mean `page`"):
        assert events.columns.pages


def back(value: object) -> object:
    return json.loads(chdb.query(f"SELECT {sql_literal(value)} AS x", "JSONEachRow").bytes())["x"]


VALUES = {
    "true": (True, True),
    "a big number": (2**64 - 1, 2**64 - 1),
    "below zero": (-(2**63), -(2**63)),
    "a fraction": (-0.5, -0.5),
    "a decimal": (Decimal("-1.50"), -1.5),
    "a time": (dt.datetime(1960, 1, 2, 3, 4, 5, 6), "1960-01-02 03:04:05.000006"),
    "a time of a zone": (
        dt.datetime(2026, 1, 2, 3, tzinfo=dt.timezone(dt.timedelta(hours=1))),
        "2026-01-02 02:00:00.000000",
    ),
    "a day": (dt.date(2026, 1, 2), "2026-01-02"),
    "an early day": (dt.date(1900, 1, 2), "1900-01-02"),
    "an enum": (Kind.first, "first"),
    "an id": (UUID(int=7), str(UUID(int=7))),
    "an address": (IPv4Address("10.0.0.1"), "10.0.0.1"),
    "a list": (["a'", "b"], ["a'", "b"]),
    "nothing": (None, None),
}


@pytest.mark.parametrize(("value", "expected"), VALUES.values(), ids=VALUES)
def test_a_value_is_read_back(value: object, expected: object) -> None:
    assert back(value) == expected


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=20) | st.sampled_from(EVIL))
@settings(max_examples=150, deadline=None)
def test_a_text_is_one_literal_for_clickhouse_and_here(text: str) -> None:
    literal = sql_literal(text)
    assert not any(mark in literal for mark in ("{{", "{%", "{#", "\n"))
    assert back(text) == text
    plain = "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    assert _compiled(literal) == _compiled(plain)


def _compiled(text: str) -> str:
    return compile_expression(Text(text, Location("x")), ()).sql


PROJECT = '''from penstock import Api, Key, OlapConfig, OlapTable, View, sql
from pydantic import BaseModel


class Event(BaseModel):
    id: Key[int]
    page: str


class Search(BaseModel):
    page: str
    most: int = 10


events = OlapTable[Event]("events", OlapConfig(version="0.1"))
HOME = sql(
    """
    SELECT {id}
    FROM {events}
    WHERE {page} = {home}
    """,
    id=events.columns.id,
    page=events.columns.page,
    events=events,
    home="it's {{x}}",
)
home = View("home", select_statement=HOME, base_tables=[events])
search = Api[Search, Event](
    "search", sql=sql("SELECT id, page FROM {events} WHERE page = {page} LIMIT {most}", events=events)
)
'''


def test_views_and_endpoints_take_it(tmp_path: Path) -> None:
    read = read_project(tmp_path, PROJECT)
    assert shown(read) == []
    view, api = read.loaded.project.pipe("home"), read.loaded.project.pipe("search")
    assert view is not None
    assert view.nodes[0].sql.text.strip().splitlines()[2] == "WHERE `page` = 'it\\'s \\x7B{x}}'"
    assert api is not None
    assert "{{String(page, required=True)}} LIMIT {{Int64(most, 10)}}" in api.nodes[0].sql.text
    assert "FROM events_0_1" in api.nodes[0].sql.text


def test_a_fault_in_it_is_at_its_line(tmp_path: Path) -> None:
    read = read_project(tmp_path, PROJECT.replace("WHERE {page} =", "WHERE {page} = foo(id) AND {page} ="))
    (found,) = read.places.problems(check_loaded(read.loaded).errors)
    assert (found.code, str(found.location)) == ("unknown-function", "app/main.py:28:5")
