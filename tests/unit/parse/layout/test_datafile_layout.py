"""The layout of datafiles: what it looks like, and that it changes no meaning."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.errors import InvalidProject, Problem
from penstock.parse.datasource import parse_datasource
from penstock.parse.layout.datafile_layout import lay_out
from penstock.parse.pipe import parse_pipe

WRITTEN = """
#   Where it comes from

description   One row a flight   # for people
token "tracker"  APPEND
SCHEMA>  # as posted
  `id`   UInt64    `json:$.id`,  -- the key
 # whole line
      name String   DEFAULT 'a  b,  c'  , /* kept */ other Array( String ) `json:$.other[:]` -- last of them
      -- above the next
      ,n Nullable(UInt8) -- how many
      , t Tuple(
          a Int8,   -- inside
          b Int8
      ),
# the end


engine   "MergeTree"
ENGINE_SORTING_KEY   id,  name
FORWARD_QUERY >
select *,
   1 AS n


# at the end
"""
LAID_OUT = """#   Where it comes from

DESCRIPTION One row a flight # for people
TOKEN "tracker"  APPEND
SCHEMA > # as posted
    `id` UInt64 `json:$.id`, -- the key
    # whole line
    name String DEFAULT 'a  b,  c', /* kept */
    other Array( String ) `json:$.other[:]`, -- last of them
    -- above the next
    n Nullable(UInt8), -- how many
    t Tuple(
            a Int8,   -- inside
            b Int8
        )

# the end

ENGINE "MergeTree"
ENGINE_SORTING_KEY id,  name
FORWARD_QUERY >
    select *,
       1 AS n

# at the end
"""
PIPE = """DESCRIPTION >
No indent, and
  - a list
# a comment of prose
NODE   a
DESCRIPTION >
    # a heading
    and text
SQL >  SELECT '
   x' AS a,  -- why
# dropped by the parser
  1 AS b

    -- the end
NODE b
SQL >
\t%
\tSELECT a
\t\tFROM a {% if defined(x) %} WHERE a = {{String(x, '#')}} {% end %}
TYPE endpoint
"""
LAID_OUT_PIPE = """DESCRIPTION >
    No indent, and
      - a list

# a comment of prose
NODE a
DESCRIPTION >
    # a heading
    and text

SQL >
    SELECT '
     x' AS a,  -- why
    # dropped by the parser
    1 AS b

      -- the end

NODE b
SQL >
    %
    SELECT a
    \tFROM a {% if defined(x) %} WHERE a = {{String(x, '#')}} {% end %}

TYPE endpoint
"""


def comments(text: str) -> list[str]:
    """Every comment of a file whose texts hold no # and no --, in order."""
    return [found.rstrip() for found in re.findall(r"(?:#(?=[\s!]|$)|--).*|/\*.*?\*/", text, re.MULTILINE)]


def test_a_data_source() -> None:
    assert lay_out(WRITTEN, "x.datasource", "x", "clickhouse") == LAID_OUT
    assert lay_out(LAID_OUT, "x.datasource", "x", "clickhouse") == LAID_OUT
    assert sorted(comments(LAID_OUT)) == sorted(comments(WRITTEN))


def test_a_block_that_would_mean_something_else_keeps_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    module = "penstock.parse.layout.datafile_layout.schema_lines"
    for wrong in (["a UInt16"], ["a"]):
        monkeypatch.setattr(module, lambda *_, wrong=wrong: wrong)
        text = "SCHEMA >\n  a  UInt8\nENGINE  MergeTree\n"
        laid_out = "SCHEMA >\n    a  UInt8\n\nENGINE MergeTree\n"
        assert lay_out(text, "x.datasource", "x", "clickhouse") == laid_out


def test_a_pipe() -> None:
    assert lay_out(PIPE, "x.pipe", "x", "clickhouse") == LAID_OUT_PIPE
    assert lay_out(LAID_OUT_PIPE, "x.pipe", "x", "clickhouse") == LAID_OUT_PIPE


def test_windows_lines_and_a_byte_order_mark_go() -> None:
    text = "\ufeff" + LAID_OUT.replace("\n", "\r\n")
    assert lay_out(text, "x.datasource", "x", "clickhouse") == LAID_OUT


def test_a_file_with_errors_is_refused() -> None:
    with pytest.raises(InvalidProject) as refused:
        lay_out("SCHEMA >\n    a UInt7\n", "x.datasource", "x", "clickhouse")
    assert str(refused.value.problems[0].location) == "x.datasource:2:7"


ROOT = Path(__file__).parents[4]
DATAFILES = sorted(
    path
    for folder in (Path(str(files("penstock") / "examples")), ROOT / "tests")
    for path in (*folder.rglob("*.pipe"), *folder.rglob("*.datasource"))
)


def test_every_datafile_here_keeps_its_meaning_and_its_comments() -> None:
    laid_out = 0
    for path in DATAFILES:
        text = path.read_bytes().decode(errors="replace")
        try:
            once = lay_out(text, path.name, path.stem, "clickhouse")
        except InvalidProject:
            continue
        laid_out += 1
        assert lay_out(once, path.name, path.stem, "clickhouse") == once, path
        assert sorted(comments(once)) == sorted(comments(text)), path
    assert laid_out > 100


def test_the_examples_are_laid_out() -> None:
    for path in Path(str(files("penstock") / "examples")).rglob("*"):
        if path.suffix in (".pipe", ".datasource"):
            text = path.read_text(encoding="utf-8")
            assert lay_out(text, path.name, path.stem, "clickhouse") == text, f"`penstock fmt {path}`"


GAPS = st.sampled_from([" ", "  ", "\t", "\n", "\n\n   ", " -- c1\n", "\n# c2\n", " /* c3 */ ", "\n  --c4\n\n", "\r\n"])
COLUMNS = st.sampled_from(
    [
        "`id{}` UInt64 `json:$.id`",
        "g{} String DEFAULT concat('a,  -- ''b',  `id`)",
        "d{} Tuple(a Int8, `b c` Array(String))",
        "e{} DateTime64(3) CODEC(Delta,  LZ4) DEFAULT now()",
        "f{} Enum8('a' = 1,  'b # c' = 2)",
    ]
)
QUERIES = st.sampled_from(["SELECT 1 AS a", "%\nSELECT {{Int8(x, 1)}}\n  AS a", "SELECT '\n  a' AS b,\n\t2 AS c"])
HEADS = st.sampled_from(
    ["DESCRIPTION a # b", "description >\n  # c5\n prose\n# c6\n", "TAGS a,  b", "TOKEN t READ", "# c7", ""]
)


@st.composite
def datasources(draw: st.DrawFn) -> str:
    made = [
        draw(HEADS),
        draw(st.sampled_from(["SCHEMA >", " schema>", "SCHEMA > # c0"])) + draw(st.sampled_from(["\n", "\n\n"])),
    ]
    for number in range(draw(st.integers(1, 4))):
        comma = "," if number else ""
        gap = draw(GAPS)
        column = draw(COLUMNS).format(number)
        spaced = column.replace(" ", draw(st.sampled_from([" ", "  ", "\n    ", " /* c8 */ ", " -- c9\n  "])), 1)
        made[-1] += f"{gap if number else ''}{comma}{draw(GAPS) if number else '  '}{spaced}"
    made += [draw(HEADS), draw(st.sampled_from(["ENGINE  MergeTree", "engine 'MergeTree' # c10", ""])), draw(HEADS)]
    return draw(st.sampled_from(["\n", "\n\n\n", "\r\n"])).join(made)


@st.composite
def pipes(draw: st.DrawFn) -> str:
    made = [draw(HEADS)]
    for number in range(draw(st.integers(1, 3))):
        indent = draw(st.sampled_from(["", "  ", "\t", "      "]))
        made += [f"NODE n{number}", draw(st.sampled_from(["# c1", "", "DESCRIPTION x"]))]
        sql = draw(QUERIES).replace("\n", f"\n{indent}")
        made.append(f"SQL >{draw(st.sampled_from([chr(10), ' # c2' + chr(10), chr(10) * 2]))}{indent}{sql}")
        made.append(draw(st.sampled_from(["", "# c3", f"{indent}# c4\n{indent} , 5 AS d", "\n\n"])))
    made.append(draw(st.sampled_from(["type endpoint", "", "TYPE   endpoint # c5\n\n\n"])))
    return draw(st.sampled_from(["\n", "\n\n"])).join(made)


@settings(max_examples=300, deadline=None)
@given(datasources() | pipes())
@example("SCHEMA >\n  a UInt8, b UInt8 -- c\n")
def test_meaning_and_comments_survive_any_layout(text: str) -> None:
    file = "x.datasource" if "SCHEMA >" in text.upper() or "SCHEMA>" in text.upper() else "x.pipe"
    try:
        once = lay_out(text, file, "x", "clickhouse")
    except InvalidProject:
        return
    problems: list[Problem] = []
    if file == "x.datasource":
        assert parse_datasource(once, file, "x", problems) == parse_datasource(text, file, "x", problems)
    else:
        assert parse_pipe(once, file, "x", "clickhouse", problems) == parse_pipe(
            text, file, "x", "clickhouse", problems
        )
    assert lay_out(once, file, "x", "clickhouse") == once
    assert sorted(re.findall(r"c\d+\b", "\n".join(comments(once)))) == sorted(
        re.findall(r"c\d+\b", "\n".join(comments(text)))
    )
