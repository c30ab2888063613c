"""Directives: lines, blocks, comments, quotes, and the place of every value."""

from __future__ import annotations

import pytest

from penstock.errors import Problem
from penstock.parse.datafile import Entry, parse_datafile, split_items, split_words

KEYWORDS = ("SCHEMA", "SQL", "ENGINE", "DESCRIPTION", "TYPE", "TOKEN", "ENGINE_SORTING_KEY")


def read(text: str) -> tuple[Entry, ...]:
    problems: list[Problem] = []
    found = parse_datafile(text, "x.pipe", KEYWORDS, problems)
    assert problems == []
    return found.entries


def place(entry: Entry) -> tuple[int, int]:
    return entry.value.location.line, entry.value.location.column


@pytest.mark.parametrize(
    ("text", "value", "column"),
    [
        ("ENGINE MergeTree", "MergeTree", 8),
        ("engine   MergeTree  ", "MergeTree", 10),
        ("ENGINE\tMergeTree", "MergeTree", 8),
        ('ENGINE "MergeTree"', "MergeTree", 9),
        ("ENGINE ' MergeTree '", "MergeTree", 10),
        ("ENGINE MergeTree # why", "MergeTree", 8),
        ('ENGINE "MergeTree" # why', "MergeTree", 9),
        ("ENGINE 'a # b'", "a # b", 9),
        ("ENGINE a#b", "a#b", 8),
        ("ENGINE 'a' || 'b'", "'a' || 'b'", 8),
        ("  ENGINE MergeTree", "MergeTree", 10),
        ('ENGINE ""', "", 9),
        ("ENGINE", "", 7),
        ("\ufeffENGINE MergeTree", "MergeTree", 8),
    ],
)
def test_line(text: str, value: str, column: int) -> None:
    (entry,) = read(text)
    assert (entry.keyword, entry.value.text, place(entry), entry.is_block) == ("ENGINE", value, (1, column), False)


def test_block() -> None:
    sql, kind = read("# head\nSQL > # the query\n\n    SELECT 1\n\n      + 2\n\nTYPE endpoint")
    assert sql.is_block
    assert sql.value.text == "SELECT 1\n\n  + 2"
    assert (sql.location.line, place(sql)) == (2, (4, 5))
    assert str(sql.value.at(3, 3)) == "x.pipe:6:7"
    assert (kind.keyword, place(kind)) == ("TYPE", (8, 6))


def test_first_line_of_a_block_may_be_the_deepest() -> None:
    (sql,) = read("SQL >\n        SELECT\n    1")
    assert sql.value.text == "    SELECT\n1"
    assert str(sql.value.at(1, 5)) == "x.pipe:2:9"
    assert str(sql.value.at(2, 1)) == "x.pipe:3:5"


def test_tabs_are_characters() -> None:
    (sql,) = read("SQL >\n\tSELECT\n\t\t1")
    assert sql.value.text == "SELECT\n\t1"
    assert str(sql.value.at(2, 2)) == "x.pipe:3:3"


def test_tabs_and_spaces_share_no_indent() -> None:
    (sql,) = read("SQL >\n\tSELECT\n    1")
    assert sql.value.text == "\tSELECT\n    1"
    assert place(sql) == (2, 1)


def test_windows_lines() -> None:
    sql, kind = read("SQL >\r\n    SELECT\r\n    1\r\nTYPE endpoint\r\n")
    assert sql.value.text == "SELECT\n1"
    assert kind.value.text == "endpoint"


def test_block_of_an_indented_directive_ends_with_its_indent() -> None:
    sql, kind = read("  SQL >\n    SELECT 1\n  TYPE endpoint")
    assert (sql.value.text, kind.value.text) == ("SELECT 1", "endpoint")


def test_unindented_sql_is_sql() -> None:
    sql, kind = read("SQL >\nSELECT a\n-- why\nFROM b\n)\nTYPE endpoint")
    assert sql.value.text == "SELECT a\n-- why\nFROM b\n)"
    assert kind.keyword == "TYPE"


@pytest.mark.parametrize(
    "block",
    [
        "SCHEMA >\nid String `json:$.id`,\n`type` String DEFAULT 'x',\n",
        "SQL >\nselect (\n  1) as a,\narrayJoin([1]) as b,\ntokens\n, x .1\nfrom t\nTYPES\n",
        "SQL >\nWITH NODES AS (SELECT 1)\nSELECT 1,\nTYPES.a\nFROM\nNODES n\n",
        "SQL >\n%\n{% if defined(x) %}\nSELECT 1\n{% end %}\n",
        "SQL>\nSELECT 1\n",
        "DESCRIPTION >\nUnindented prose, and\nEngines of growth: SQL, Types\n",
    ],
)
def test_a_block_ends_at_the_next_keyword_only(block: str) -> None:
    first, kind = read(f"{block}TYPE endpoint\n")
    assert first.value.text == block.split("\n", 1)[1].rstrip()
    assert (kind.keyword, kind.value.text) == ("TYPE", "endpoint")


@pytest.mark.parametrize(
    "keyword", ["type endpoint", "Type endpoint", "TYPE  endpoint", 'TYPE "endpoint"', "TYPE\tendpoint"]
)
def test_a_keyword_in_any_spelling_ends_a_block(keyword: str) -> None:
    sql, kind = read(f"SQL >\nSELECT 1\n{keyword}")
    assert (sql.value.text, kind.keyword, kind.value.text) == ("SELECT 1", "TYPE", "endpoint")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SCHEMA >\n    a Int8\nENGIN MergeTree", "ENGIN"),
        ("SCHEMA >\n    a Int8\nENGINE_SORTINGKEY a, b", "ENGINE_SORTINGKEY"),
        ("SQL >\n    SELECT 1 FROM t\nTYP endpoint", "TYP"),
        ("SQL >\nSELECT f(1)\nTYP endpoint", "TYP"),
    ],
)
def test_a_misspelt_keyword_ends_a_block_where_the_block_cannot_go_on(text: str, word: str) -> None:
    problems: list[Problem] = []
    parse_datafile(text, "x", KEYWORDS, problems)
    assert [problem.message for problem in problems] == [f"unknown keyword `{word}`"]


def test_a_block_that_begins_in_the_line_of_its_directive() -> None:
    sql, text = read("SQL > SELECT a -- why\n    FROM b\nDESCRIPTION > First # not this\n    second\n    # Heading")
    assert sql.value.text == "SELECT a -- why\nFROM b"
    assert [str(sql.value.at(1, 8)), str(sql.value.at(2, 6))] == ["x.pipe:1:14", "x.pipe:2:10"]
    assert text.value.text == "First\nsecond\n# Heading"


def test_lines_that_begin_with_a_hash_are_no_sql() -> None:
    (sql,) = read("SQL >\n    #SELECT 1\n    SELECT 2\n    # WHERE\n      #x\n    + 1")
    assert sql.value.text == "SELECT 2\n\n\n+ 1"


@pytest.mark.parametrize("indent", ["", " ", "    ", "\t", "\t\t", "  \t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", " ", "\n", "  \n\n"])
def test_any_indentation_and_line_end_of_a_block_is_the_same(indent: str, newline: str, end: str) -> None:
    lines = ["\ufeffSCHEMA >", f"{indent}`a` String,", f"{indent}b Int8", "TYPE endpoint", "SQL >", f"{indent}SELECT 1"]
    schema, kind, sql = read(newline.join(lines) + end)
    assert [schema.value.text, kind.value.text, sql.value.text.rstrip()] == [
        "`a` String,\nb Int8",
        "endpoint",
        "SELECT 1",
    ]


def test_unindented_comment_is_no_part_of_a_block() -> None:
    sql, kind = read("SQL >\n    SELECT 1\n# why\n    + 2\n# end\nTYPE endpoint")
    assert sql.value.text == "SELECT 1\n\n+ 2"
    assert kind.keyword == "TYPE"


def test_empty_block() -> None:
    schema, kind = read("SCHEMA >\nTYPE endpoint")
    assert (schema.value.text, schema.is_block, place(schema)) == ("", True, (1, 8))
    assert kind.keyword == "TYPE"


def test_unknown_keyword_takes_its_block_with_it() -> None:
    problems: list[Problem] = []
    found = parse_datafile("SCHEM >\n    a Int8\nENGINE x\nENGINES y", "x.pipe", KEYWORDS, problems)
    assert [entry.keyword for entry in found.entries] == ["ENGINE"]
    assert [str(problem) for problem in problems] == [
        "x.pipe:1:1: unknown keyword `SCHEM` (did you mean `SCHEMA`?)",
        "x.pipe:4:1: unknown keyword `ENGINES` (did you mean `ENGINE`?)",
    ]


def test_words_and_items_have_places() -> None:
    token, tags = read('TOKEN "my app" \'READ\'\nDESCRIPTION >\n    a, "b"\n    c')
    assert [(word.text, str(word.location)) for word in split_words(token.value)] == [
        ("my app", "x.pipe:1:8"),
        ("READ", "x.pipe:1:17"),
    ]
    assert [(item.text, str(item.location)) for item in split_items(tags.value)] == [
        ("a", "x.pipe:3:5"),
        ("b", "x.pipe:3:9"),
        ("c", "x.pipe:4:5"),
    ]


def test_a_block_without_its_sign_is_one_problem() -> None:
    problems: list[Problem] = []
    found = parse_datafile("SCHEMA\n    `a` String,\n    `b` String\nENGINE MergeTree\n", "x", KEYWORDS, problems)
    assert [(each.keyword, each.value.text) for each in found.entries] == [
        ("SCHEMA", "`a` String,\n`b` String"),
        ("ENGINE", "MergeTree"),
    ]
    assert [str(problem) for problem in problems] == [
        "x:1:1: `SCHEMA` needs a `>` before the lines below (write `SCHEMA >`)"
    ]
