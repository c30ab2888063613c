"""Form is no change; anything else is."""

from __future__ import annotations

import pytest

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.plan.diff.query_equality import is_same_pipe, is_same_sql, is_same_text, normalize_sql


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("SELECT a,b FROM t", "select `a`, b  -- both\n from t"),
        ("toDate(ts) + INTERVAL 90 DAY", "toDate( ts )+interval 90 day"),
        ("* EXCEPT (a), b + 1 AS c", "* EXCEPT(a), b+1 c"),
        ("not sql (", "not   sql ("),
        ("'it is' , \"b\"", '\'it is\',\n"b" -- not "c"'),
    ],
)
def test_form_is_no_change(one: str, other: str) -> None:
    assert normalize_sql(one) == normalize_sql(other)
    assert is_same_sql(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a + 1", "a + 2"),
        ("'a'", "'A'"),
        ("'a  b'", "'a b'"),
        ("'a'", '"a"'),
        ("Date", "date"),
        ("f(a)", "f(A)"),
        ("a", "'a'"),
        ("SELECT a AS b", "SELECT a AS c"),
    ],
)
def test_content_is(one: str, other: str) -> None:
    assert normalize_sql(one) != normalize_sql(other)
    assert not is_same_sql(one, other)


def test_none_is_equal_to_none_only() -> None:
    text = Text("1", Location("a"))
    assert is_same_text(None, None)
    assert is_same_text(text, Text("1 ", Location("b", 3)))
    assert not is_same_text(text, None)
    assert not is_same_text(None, text)


TABLE = {"t.datasource": "SCHEMA >\n    a String\n"}
FIRST = "NODE first\nSQL >\n    SELECT a FROM t\n\n"


@pytest.mark.parametrize(
    ("last", "same"),
    [
        ("SELECT a FROM first WHERE a = {{String(b)}}", True),
        ("SELECT a FROM {{table(String(b, 't'))}}", False),
        ("SELECT a, 'other' AS c FROM first WHERE a = {{String(b)}}", False),
    ],
    ids=["nobody reads it", "a call may name it", "its new name is in the SQL"],
)
def test_the_name_of_the_last_node_of_a_template_counts_if_it_can_be_read(last: str, same: bool) -> None:
    def project(name: str) -> Project:
        pipe = f"{FIRST}NODE {name}\nSQL >\n    %\n    {last}\nTYPE endpoint\n"
        return load_files({**TABLE, "p.pipe": pipe}).project

    assert is_same_pipe(ProjectQueries(project("one")), ProjectQueries(project("other")), "p") == same
    renamed = load_files({**TABLE, "p.pipe": FIRST.replace("first", "one") + f"NODE x\nSQL >\n    %\n    {last}\n"})
    assert not is_same_pipe(ProjectQueries(project("x")), ProjectQueries(renamed.project), "p")


HANDLED = (
    "NODE n\nSQL >\n    SELECT 1 AS nothing\nPYTHON >\n    HANDLER = lambda client: [{'a': 1}]\n"
    "RETURNS >\n    `a` UInt8\nTYPE endpoint\n"
)


@pytest.mark.parametrize(
    ("was", "written", "same"),
    [
        ("'a': 1", "'a': 2", False),
        ("`a` UInt8", "`a` UInt16", False),
        ("PYTHON >\n    HANDLER = lambda client: [{'a': 1}]\nRETURNS >\n    `a` UInt8\n", "", False),
        ("SELECT 1", "SELECT  1", True),
    ],
)
def test_the_function_of_an_endpoint_counts(was: str, written: str, same: bool) -> None:
    one, other = (load_files({"e.pipe": text}).project for text in (HANDLED, HANDLED.replace(was, written)))
    assert is_same_pipe(ProjectQueries(one), ProjectQueries(other), "e") is same
    assert is_same_pipe(ProjectQueries(other), ProjectQueries(one), "e") is same
