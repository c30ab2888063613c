"""Includes and their errors, and lines that a conversion leaves as they are."""

from __future__ import annotations

import pytest

from penstock.errors import Problem
from penstock.parse.classic.conversion import convert_files
from penstock.parse.classic.includes import IncludeFiles, expand_includes
from penstock.parse.project_loader import load_files

WORDS = ("INCLUDE", "NODE", "SQL", "TYPE")


def expanded(**files: str) -> tuple[str, list[str]]:
    problems: list[Problem] = []
    texts = {path.replace("__", "/").replace("_", "."): text for path, text in files.items()}
    files_found = IncludeFiles(texts, {"env": "b", "folder": "a"})
    return expand_includes("a/x.pipe", files_found, WORDS, problems), [str(problem) for problem in problems]


NAMES = """
b.incl ./b.incl "b.incl" 'b.incl' a/b.incl ../a/b.incl elsewhere/b.incl ${env}.incl "../${folder}/$env.incl"
"""


@pytest.mark.parametrize("name", NAMES.split())
def test_a_file_is_found_by_its_place_or_its_name(name: str) -> None:
    assert expanded(a__x_pipe=f"INCLUDE {name}\nTYPE t\n", a__b_incl="NODE b\n") == ("NODE b\nTYPE t\n", [])


def test_values_take_the_place_of_their_names() -> None:
    text = 'INCLUDE "b.incl" "one=1 + 1" two=x\n'
    assert expanded(a__x_pipe=text, a__b_incl="SQL >\n  $one ${two} $three $$ 5$\n") == (
        "SQL >\n  1 + 1 x $three $ 5$\n",
        [],
    )


def test_an_include_in_an_include() -> None:
    files = {"a__x_pipe": "INCLUDE b.incl\n", "a__b_incl": "NODE b\nINCLUDE ../c.incl\n", "c_incl": "SQL >\n  1\n"}
    assert expanded(**files) == ("NODE b\nSQL >\n  1\n", [])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("c.incl", "a/x.pipe:2:9: there is no file `c.incl` to include (did you mean `a/b.incl`?)"),
        (
            "${stage}/$env/${zone}.incl",
            "a/x.pipe:2:9: which file `${stage}/b/${zone}.incl` is depends on the environment "
            "(run `stage=… zone=… penstock migrate`, or write the name of the file)",
        ),
        ("b.incl", "a/b.incl:1:9: `a/b.incl` includes itself (remove the INCLUDE)"),
        ("'b.incl", "a/x.pipe:2:9: there is no file `` to include "),
    ],
)
def test_an_include_that_stays(name: str, said: str) -> None:
    text = f"NODE a\nINCLUDE {name}\n"
    found, [problem] = expanded(a__x_pipe=text, a__b_incl="INCLUDE b.incl\n")
    assert "INCLUDE" in found
    assert problem.startswith(said)


@pytest.mark.parametrize(
    "text",
    [
        "NODE a\nSQL >\n    SELECT 1\n\n\n\nTYPE endpoint   \n",
        "NODE a\r\nSQL >\r\nSELECT version\r\n, 1\r\nTYPE materialized\r\nDATASOURCE t",
        "",
        "NODE a\nSQL >\n    SELECT 1 FROM b__v2\n",
    ],
)
def test_a_file_of_today_stays_as_it_is(text: str) -> None:
    converted = convert_files({"x.pipe": text, "t.datasource": "SCHEMA >\n  a Int8"})
    assert (converted.files["x.pipe"], converted.missing) == (text, ())


def test_a_target_keeps_its_own_engine() -> None:
    pipe = "NODE a\nSQL >\n    SELECT 1 AS a\nTYPE materialized\nDATASOURCE t\nENGINE SummingMergeTree\n"
    same, other = "SCHEMA >\n  a Int8\nENGINE SummingMergeTree\n", "SCHEMA >\n  a Int8\nENGINE MergeTree\n"
    assert convert_files({"x.pipe": pipe, "t.datasource": same}).problems == ()
    converted = convert_files({"x.pipe": pipe, "t.datasource": other})
    assert converted.files["t.datasource"] == other
    assert [(each.level, each.message) for each in converted.problems] == [
        ("warning", "`t` keeps the ENGINE of its file; x.pipe said ENGINE SummingMergeTree")
    ]


def test_a_version_in_a_name_goes_where_only_the_name_is_a_resource() -> None:
    files = {
        "x.pipe": "NODE a\nSQL >\n    SELECT * FROM t__v3 JOIN u__v1 USING a -- t__v3\nTYPE endpoint\n",
        "t.datasource": "SCHEMA >\n  a Int8",
        "u.datasource": "SCHEMA >\n  a Int8",
        "u__v1.datasource": "SCHEMA >\n  a Int8",
    }
    assert "FROM t JOIN u__v1 USING a -- t\n" in convert_files(files).files["x.pipe"]


def test_a_pipe_between_two_versions_is_left_to_a_person() -> None:
    pipe = "VERSION 1\nNODE a\nSQL >\n    SELECT *, 1 AS b FROM t__v2\nTYPE materialized\nDATASOURCE t__v3\n"
    converted = convert_files({"x.pipe": pipe, "t.datasource": "SCHEMA >\n  a Int8"})
    assert converted.files["x.pipe"] == pipe
    assert [(each.level, str(each.location), each.hint) for each in converted.problems] == [
        ("error", "x.pipe:3:1", "remove the file")
    ]


def test_what_belongs_to_the_engine_join_is_one_error() -> None:
    text = 'SCHEMA >\n    `id` UInt32\nENGINE "Join"\nENGINE_JOIN_STRICTNESS "ANY"\nENGINE_KEY_COLUMNS "id"\n'
    problems = load_files({"rates.datasource": text}).problems
    assert [problem.message for problem in problems if problem.level == "error"] == ["unknown engine `Join`"]
    assert sum("no engine Join" in problem.message for problem in problems) == 2
