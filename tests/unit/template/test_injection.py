"""Whatever a caller sends, it stays one literal: an attempt for each type, and texts made up at random."""

from __future__ import annotations

import json

import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from penstock.errors import Location
from penstock.model.datasource import Text
from penstock.model.project import Project
from penstock.sql.compile import compile_sql
from penstock.template.errors import Fault
from penstock.template.parameter_types import FLOATS, INTS, READERS
from penstock.template.render_frame import ListParameter, RenderInput
from penstock.template.rendering import RenderedSql, render
from unit.template.helpers import fault, sql

ATTACKS = (
    "'; DROP TABLE t; --",
    "' OR '1'='1",
    "\\' OR 1=1 --",
    "\\",
    "a\\'b",
    "'",
    "''",
    '"',
    "`",
    "-- x",
    "/* x",
    "*/ x",
    "# x",
    "{{ String(y) }}",
    "{% end %}",
    "‘ OR ’",
    "a\nb",
    "a\r\nb",
    "\x00",
    "a\x00'",
    "1 OR 1=1",
    "1e999",
    "-1e999",
    "0x10",
    "1,2",
    "1_0",
    "١٢",
    "１",
    " 1",
    "1 ",
    "1\n",
    "toInt32(1)",
    "NULL",
    "[1]",
    "$$ x $$",
    "$a$",
    "%' OR '%",
    "\ud800",
)
_NUMBERS = (*INTS, "Int", "Integer", *FLOATS, "Date", "DateTime", "DateTime64", "Boolean")


@pytest.mark.parametrize("of", _NUMBERS)
@pytest.mark.parametrize("text", ATTACKS)
def test_what_is_no_value_of_the_type_is_refused(of: str, text: str) -> None:
    found = fault(f"SELECT {{{{ {of}(x) }}}}", {"x": text})
    assert found.startswith(f"invalid-parameter 1:12: parameter `x`: {text!r} is no {of} (expected ")
    if text != "1,2":
        assert fault(f"{{{{ Array(x, '{of}') }}}}", {"x": f"{text},{text}"}).startswith("invalid-parameter")


@pytest.mark.parametrize("of", INTS)
def test_whole_numbers_end_where_their_type_does(of: str) -> None:
    bits = int(of.rpartition("t")[2])
    low, high = (0, 2**bits - 1) if of.startswith("U") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    for value in (low, high):
        assert sql(f"{{{{ {of}(x) }}}}", {"x": str(value)}) == f"to{of}('{value}')"
    for value in (low - 1, high + 1, 10**100):
        assert fault(f"{{{{ {of}(x) }}}}", {"x": str(value)}).startswith("invalid-parameter")


def test_numbers_with_a_fraction() -> None:
    for text, written in {"1e3": "1000.0", "-.5": "-0.5", "nan": "nan", "-inf": "-inf", "7.": "7.0"}.items():
        assert sql("{{ Float64(x) }}", {"x": text}) == f"toFloat64('{written}')"
    assert fault("{{ Float32(x) }}", {"x": "1e39"}).startswith("invalid-parameter")
    for text in ("infinity", "1e", "e1", ".", "--1", "1.2.3", "1e+", "9" * 500):
        assert fault("{{ Float64(x) }}", {"x": text}).startswith("invalid-parameter")


def test_days_and_times_that_there_are_not() -> None:
    for text in ("2024-02-30", "2023-02-29", "2024-13-01", "0000-01-01", "24-01-01", "2024-1-1", "2024/01/01"):
        assert fault("{{ Date(x) }}", {"x": text}).startswith("invalid-parameter")
        assert fault("{{ DateTime(x) }}", {"x": f"{text} 00:00:00"}).startswith("invalid-parameter")
    for text in (
        "2024-01-01 24:00:00",
        "2024-01-01 00:60:00",
        "2024-01-01",
        "2024-01-01 00:00:00.",
        "2024-01-01  00:00:00",
    ):
        assert fault("{{ DateTime64(x) }}", {"x": text}).startswith("invalid-parameter")
    assert sql("{{ Date(x) }}", {"x": "2024-02-29"}) == "'2024-02-29'"
    assert sql("{{ DateTime(x) }}", {"x": "2024-02-29T23:59:59"}) == "'2024-02-29T23:59:59'"


@pytest.mark.parametrize("text", [each for each in ATTACKS if each != "\ud800"])
@pytest.mark.parametrize("written", ["{{ String(x) }}", "{{ x }}", "{{ sql_unescape(x, '%') }}", "{{ JSON(x)['a'] }}"])
def test_a_text_stays_one_text(text: str, written: str) -> None:
    given_text = json.dumps({"a": text}) if "JSON" in written else text
    assert _constants(f"SELECT {written}", given_text) == [text]


@pytest.mark.parametrize("text", ["a`b", "a\\", "\x00", "", "a\nb", "a.b`"])
@pytest.mark.parametrize("function", ["column", "columns", "symbol", "table"])
def test_what_cannot_be_a_name_is_refused(text: str, function: str) -> None:
    assert fault(f"{{{{ {function}(x) }}}}", {"x": text}).startswith(
        "invalid-parameter 1:5: parameter `x`: a name that"
    )


def test_names_are_quoted() -> None:
    assert sql("{{ column(x) }}", {"x": "a) FROM t --"}) == "`a) FROM t --`"
    assert sql("{{ columns(x) }}", {"x": "a, b FROM t --"}) == "`a`,`b FROM t --`"
    assert sql("{{ table(x) }}", {"x": "t WHERE 1; DROP"}) == "`t WHERE 1; DROP`"
    assert sql("{{ columns('a', fn='max') }}") == "max(`a`) as `a`"
    assert fault("{{ columns('a', fn='max(1), x') }}").startswith("template-call")


@pytest.mark.parametrize(
    "template",
    [
        "SELECT '%{{ String(x) }}%'",
        'SELECT "{{ x }}"',
        "SELECT `{{ x }}`",
        "SELECT $a${{ x }}$a$",
        "SELECT {{ x }}{{ x }}",
        "SELECT '{{ Int32(n) }}",
        "SELECT 'a' {# #}{{ x }}{# #}'b' '{{ x }}'",
        "SELECT /* {{ x }} */ 1",
    ],
)
def test_a_value_must_stand_by_itself(template: str) -> None:
    attack = {"x": " */ OR 1=1 --", "n": "5"}
    assert fault(template, attack).startswith("template-quotes")


def test_a_value_in_a_comment_ends_no_comment() -> None:
    assert sql("SELECT 1 -- {{ x }}\n, 2", {"x": "a\n, 3"}) == "SELECT 1 -- 'a\\n, 3'\n, 2"
    assert sql("SELECT /* {{ x }} */ 1", {"x": "a"}) == "SELECT /* 'a' */ 1"


def test_elements_of_arrays() -> None:
    listed = ListParameter('["a,b", "c\'d"]', ("a,b", "c'd"))
    assert sql("{{ Array(x, 'String') }}", {"x": listed}) == "['a,b','c\\'d']"
    assert sql("{{ Array(x) }}", {"x": "a,b'],(select 1)"}) == "['a','b\\']','(select 1)']"
    assert sql("{{ Array(x, 'Float64') }}", {"x": "1,nan"}) == "[1.0,toFloat64('nan')]"


_texts = st.text(max_size=40) | st.text("'\\\"`%-/*#{}$\n\0\r\t ab", max_size=40)


@given(_texts)
def test_any_text_is_read_back_as_it_was(text: str) -> None:
    for written in ("String(x)", "x", "sql_unescape(x)", "Array(x)"):
        shown = text if written != "Array(x)" else text.split(",")
        assert _constants(f"SELECT {{{{ {written} }}}}", text) == ([shown] if isinstance(shown, str) else shown)


@given(st.sampled_from(sorted(READERS)), _texts)
def test_no_text_breaks_out_of_any_type(of: str, text: str) -> None:
    """The SQL around the value is the same, whatever the value is."""
    whole = Text(f"%SELECT 1, {{{{ {of}(x) }}}}, 2", Location("q"))
    try:
        found = render(whole, RenderInput("call", {"x": text}))
    except Fault:
        return
    trees = sqlglot.parse(found.text, dialect="clickhouse")
    assert [len(tree.expressions) for tree in trees if tree is not None] == [3]


def _constants(template: str, text: str) -> list[str]:
    """The texts that our compiler finds in the one column of a template."""
    found: RenderedSql = render(Text(f"%{template}", Location("q")), RenderInput("call", {"x": text}))
    compiled = compile_sql(Project(), found, "clickhouse")
    assert len(compiled.columns) == 1
    return _spark_texts(compiled.sql)


def _spark_texts(spark: str) -> list[str]:
    tree = sqlglot.parse_one(spark, dialect="spark")
    return [each.name for each in tree.find_all(exp.Literal) if each.is_string]
