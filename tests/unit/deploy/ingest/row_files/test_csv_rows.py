"""CSV as the events that it stands for."""

from __future__ import annotations

import csv
import io

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.deploy.ingest.row_files.csv_rows import CsvForm, csv_rows
from penstock.errors import InvalidRequest
from unit.deploy.ingest.row_files.landings import landed, landing_of

ITEMS = landing_of("`id` UInt64", "`name` String", "`note` Nullable(String)", "`n` Nullable(Int32)")
COMMA = CsvForm()


def rows(text: str | bytes, form: CsvForm = COMMA) -> list[dict[str, object] | str]:
    content = text.encode() if isinstance(text, str) else text
    return landed(ITEMS, csv_rows(content, ITEMS, "x", form))


def row(id: int, name: str, note: str | None = None, n: int | None = None) -> dict[str, object]:
    return {"id": id, "name": name, "note": note, "n": n}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_quotes_line_breaks_and_null(end: str) -> None:
    lines = ["id,name,note,n", '1,"a ""q"", b\nc",\\N,7', "2,,,", '3,"","",', '4,5" pipe,"\\N",-1', ""]
    assert rows(end.join(lines)) == [
        row(1, 'a "q", b\nc', None, 7),
        row(2, ""),
        row(3, "", ""),
        row(4, '5" pipe', "\\N", -1),
    ]


def test_a_header_chooses_columns_and_their_order() -> None:
    assert rows("n, name ,unknown,id\n7,a,x,1\n") == [row(1, "a", None, 7)]
    assert rows("\ufeffname,id\na,1") == [row(1, "a")]


def test_without_a_header_columns_come_in_their_order() -> None:
    assert rows("1,a,x,7\n2,id,name,\n") == [row(1, "a", "x", 7), row(2, "id", "name")]
    assert rows("1;a;x;7\n", CsvForm(";")) == [row(1, "a", "x", 7)]
    (rejected,) = rows("id,name,note,n\n", CsvForm(has_header=False))
    assert isinstance(rejected, str)


def test_a_later_part_of_a_file_repeats_its_first_record() -> None:
    assert rows("name,id\nb,2\n", CsvForm(repeats_first=True)) == [row(2, "b")]
    assert rows("1,a,x,7\n2,b,y,8\n", CsvForm(repeats_first=True)) == [row(2, "b", "y", 8)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rows"),
        ("\n\n", "no rows"),
        ("1,2\n", "2 values"),
        ("a,b,c,d\n", "no column of the file"),
        ("id,id\n1,2\n", "twice"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    form = CsvForm(has_header=True) if text.startswith(("a,", "id,")) else COMMA
    with pytest.raises(InvalidRequest, match=said):
        rows(text, form)


NAMES = " (--delimiter, over HTTP dialect_delimiter)"


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("id;name\n1;a\n", f"its values seem to be divided by ';': name that as the delimiter{NAMES}"),
        ("1\ta\tb\t7\n", f"its values seem to be divided by '\\t': name that as the delimiter{NAMES}"),
        ("1|a|b|7\n", f"its values seem to be divided by '|': name that as the delimiter{NAMES}"),
        ("1;2;3\n", "a header names those of the file: id, name, note, n"),
    ],
)
def test_a_file_with_another_delimiter_is_recognized(text: str, hint: str) -> None:
    with pytest.raises(InvalidRequest, match="has 1 value, and `x` has 4 columns") as refused:
        rows(text)
    assert refused.value.hint == hint


def test_rows_that_do_not_fit_are_rejected_alone() -> None:
    text = b"id,name,note,n\n1,a,,\n-1,b,,\n2,c\n3,d,e,4,5\n,f,,\n4,\xff,,\n5,g,,x\n6,h,,6\n"
    found = rows(text)
    assert [each["id"] for each in found if isinstance(each, dict)] == [1, 6]
    lines = list(csv_rows(text, ITEMS, "x", COMMA))
    assert len(lines) == 8
    assert [line for line in lines if line.startswith(b'"')] == [b'"2,c"', b'"3,d,e,4,5"', b'"4,\\\\xff,\\\\N,\\\\N"']


NESTED = landing_of(
    "`a` Array(String) `json:$.deep.a[:]`",
    "`m` Map(String, UInt64) `json:$.deep.m`",
    "`t` Tuple(Int32, Nullable(String)) `json:$.t`",
    "`b` Bool `json:$.deep.b`",
    "`at` DateTime64(9) `json:$.at`",
    "`d` Decimal(20, 4) `json:$.d`",
)


def test_values_of_other_types() -> None:
    text = (
        "a,m,t,b,at,d\n"
        """"['it\\'s', 'b,c']","{'x': 18446744073709551615}","(1, NULL)",1,"""
        "2024-01-02 03:04:05.123456789,1234567890123456.7891\n"
        """"[""a""]","{}","[2, ""y""]",false,1700000000,-0.5\n"""
    )
    one, two = landed(NESTED, csv_rows(text.encode(), NESTED, "x", COMMA))
    assert isinstance(one, dict), one
    assert isinstance(two, dict), two
    assert (one["a"], one["b"], two["a"], two["b"]) == (["it's", "b,c"], True, ["a"], False)
    assert str(one["d"]) == "1234567890123456.7891"


TEXT = st.characters(codec="utf-8", exclude_characters="\0\r")


@given(
    st.lists(
        st.tuples(st.integers(0, 2**64 - 1), st.text(st.characters(codec="utf-8", exclude_characters="\0\r"))),
        min_size=1,
    )
)
def test_what_a_program_writes_is_read_back(given_rows: list[tuple[int, str]]) -> None:
    file = io.StringIO()
    csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n").writerows([("id", "name"), *given_rows])
    assert rows(file.getvalue()) == [row(id, name) for id, name in given_rows]


def test_columns_that_only_another_version_has_are_kept_for_it() -> None:
    """A staging version has a new column, reads one by another path, and has one whose path live's would hide."""
    staging = landing_of(
        "`id` UInt64 `json:$.id`", "`name` String `json:$.title`", "`extra` Array(UInt8) `json:$.x.y`",
        "`note` String `json:$.name.inner`", "`n` Int8 `json:$.n`",
    )  # fmt: skip
    content = b'id,name,extra,note\n1,a,"[1,2]",b\n'
    [line] = csv_rows(content, ITEMS, "x", COMMA, [staging])
    assert orjson.loads(line) == {"id": "1", "name": "a", "note": "b", "title": "a", "x": {"y": [1, 2]}}
    assert landed(ITEMS, [line]) == [row(1, "a", "b")]
    [headerless] = csv_rows(b"1,a,b,3\n", ITEMS, "x", COMMA, [staging])
    assert landed(ITEMS, [headerless]) == [row(1, "a", "b", 3)]
