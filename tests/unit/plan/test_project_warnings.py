"""Dead ends, and views that are hardly meant: each with its place, and none where all is well."""

from __future__ import annotations

import pytest

from penstock.errors import Problem
from penstock.parse.project_loader import load_files
from penstock.plan.project_warnings import project_warnings

ROW = "SCHEMA >\n    id String,\n    n UInt16,\n    at DateTime,\n    note String DEFAULT 'x'\n"
FILES = {
    "t.datasource": ROW,
    "o.datasource": ROW,
    "gone_0_1.datasource": ROW,
    "gone_0_2.datasource": ROW,
    "passing.datasource": ROW + "ENGINE Null\n",
    "unread.pipe": "NODE n\nSQL >\n    SELECT id FROM t\n",
    "read.pipe": "NODE n\nSQL >\n    SELECT id FROM t\n",
    "e.pipe": "NODE n\nSQL >\n    SELECT id FROM read\nTYPE endpoint\n",
}
NAMES = [path.partition(".")[0] for path in FILES]


def warned(sql: str) -> list[Problem]:
    """The warnings of a view from `t` into `o`."""
    view = f"NODE n\nSQL >\n    {sql}\nTYPE materialized\nDATASOURCE o\n"
    loaded = load_files({"t.datasource": ROW, "o.datasource": ROW, "m.pipe": view})
    return list(project_warnings(loaded, ["m"]))


def test_dead_ends() -> None:
    found = project_warnings(load_files(FILES), NAMES)
    assert [(str(each.location), each.message) for each in found] == [
        ("unread.pipe:1:1", "nothing reads `unread`"),
        ("passing.datasource:1:1", "`passing` keeps no rows, and nothing reads those that arrive"),
        ("o.datasource:1:1", "nothing of the project feeds or reads `o`"),
        ("gone_0_1.datasource:1:1", "nothing of the project feeds or reads the version 0.1 of `gone`"),
    ]
    assert {(each.code, each.level) for each in found} == {("dead-end", "warning")}
    assert project_warnings(load_files(FILES), ["t", "e", "read"]) == ()
    assert project_warnings(load_files({"o.datasource": ROW}), ["o"]) == (), "a table alone is where one begins"
    granted = {**FILES, "o.datasource": f"TOKEN sender APPEND\n{ROW}"}
    assert project_warnings(load_files(granted), ["o"]) == ()
    assert project_warnings(load_files({**FILES, "bad.datasource": "SCHEMA >\n    id Strin\n"}), NAMES) == ()


def test_the_newest_version_may_be_used_by_calls_only_if_no_other_one_is_used() -> None:
    read = {"e.pipe": "NODE n\nSQL >\n    SELECT id FROM gone_0_1\nTYPE endpoint\n"}
    versions = {"gone_0_1.datasource": ROW, "gone_0_2.datasource": ROW}
    (found,) = project_warnings(load_files({**versions, **read}), ["gone_0_1", "gone_0_2", "e"])
    assert found.message == "nothing of the project feeds or reads the version 0.2 of `gone`"


def test_a_parameter_that_every_call_has_for_itself() -> None:
    sql = "SELECT id FROM t WHERE id = {{String(token)}} AND note = {{String(note, 'x')}}"
    loaded = load_files({"t.datasource": ROW, "e.pipe": f"NODE n\nSQL >\n    %\n    {sql}\nTYPE endpoint\n"})
    (found,) = project_warnings(loaded, ["e"])
    assert (found.code, found.level, str(found.location)) == ("invalid-parameter", "warning", "e.pipe:1:1")
    assert found.message == "every call has a parameter `token` of its own, which `e` does not get"
    assert project_warnings(loaded, ["t"]) == ()


@pytest.mark.parametrize(
    ("sql", "code", "message"),
    [
        ("SELECT id, n FROM t", "differs-from-model", "the SELECT does not give `at` of `o`"),
        ("SELECT id, id AS n, at FROM t", "differs-from-model", "the SELECT gives `n` as String, which is stored as"),
        ("SELECT id, n, now() AS at FROM t", "unrepeatable-view", "`m` depends on the clock or on chance"),
        ("SELECT id, toUInt16(rand() % 9) AS n, at FROM t", "unrepeatable-view", "`m` depends on the clock"),
        ("SELECT id, n, at FROM t LIMIT 3", "unrepeatable-view", "`m` has a LIMIT"),
    ],
)
def test_a_view_that_is_hardly_meant(sql: str, code: str, message: str) -> None:
    (found,) = warned(sql)
    assert (found.code, found.level, str(found.location)) == (code, "warning", "m.pipe:3:5")
    assert found.message.startswith(message)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, n, at FROM t",
        "SELECT id, toInt64(n) AS n, at, 'now() LIMIT 3' AS note FROM t",
        "SELECT id, count() AS n, max(at) AS at FROM t GROUP BY id",
        "SELECT id, n, at, no FROM t",  # does not compile: that is a problem of its own
    ],
)
def test_a_view_that_gives_its_model(sql: str) -> None:
    assert warned(sql) == []
