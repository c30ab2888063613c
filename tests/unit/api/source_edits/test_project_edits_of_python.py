"""Edits of datafiles, made in the Python that they come from: read again, the project is exactly the wanted one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.api.source_edits.project_edits import CannotEditPython, ProjectEdits, edited_project
from penstock.parse.project_loader import load_files
from python_projects import write_project

ISSUES = """

class Issue(BaseModel):
    id: Key[int]
    project: Int32
    title: str  # as shown
    weight: Int32 = 1
    state: str | None = None


issues = OlapTable[Issue]("issues")
"""
VIEW = """

class Title(BaseModel):
    id: int
    title: str


titles = OlapTable[Title]("titles", OlapConfig(order_by_fields=["id"]))
MaterializedView[Title](
    MaterializedViewOptions(
        materialized_view_name="to_titles",
        select_tables=[issues],
        select_statement={sql},
    ),
    target_table=titles,
)
"""
Edit = Callable[[str], str]


def edit(folder: Path, edits: dict[str, Edit]) -> ProjectEdits:
    """The project with edits of its datafiles by their names; what is read again is what was wanted."""
    project = edited_project(folder)
    paths = {Path(path).name: path for path in project.files}
    wanted = {paths[name]: change(project.files[paths[name]]) for name, change in edits.items()}
    assert all(wanted[path] != project.files[path] for path in wanted), "each edit changes its file"
    made = project.with_edits(wanted)
    assert made.source.loaded.project == load_files({**project.files, **wanted}).project
    return made


def replaced(*pairs: tuple[str, str]) -> Edit:
    def change(text: str) -> str:
        for old, new in pairs:
            assert old in text, text
            text = text.replace(old, new, 1)
        return text

    return change


def changed_lines(folder: Path, made: ProjectEdits, path: str = "app/main.py") -> tuple[list[str], list[str]]:
    """The lines that went and those that came."""
    before = (folder / path).read_bytes().decode().splitlines(keepends=True)
    after = made.contents[path].decode().splitlines(keepends=True)
    gone = [each.strip() for each in before if each not in after]
    return gone, [each.strip() for each in after if each not in before]


NEW = replaced(("`state` Nullable(String)", "`state` Nullable(String),\n    `severity` Int32 DEFAULT 5"))


def test_columns_are_added_behind_the_last_one(tmp_path: Path) -> None:
    write_project(tmp_path, ISSUES)
    more = ",\n    `at` Nullable(DateTime64(6, 'UTC')),\n    `sum` Nullable(Decimal(10, 2))"
    add = replaced(("`state` Nullable(String)", f"`state` Nullable(String),\n    `severity` Int32 DEFAULT 5{more}"))
    made = edit(tmp_path, {"issues.datasource": add})
    assert changed_lines(tmp_path, made) == (
        [],
        [
            "severity: Int32 = 5",
            "at: Annotated[datetime | None, ClickHousePrecision(6)] = None",
            "sum: Annotated[Decimal | None, Field(max_digits=10, decimal_places=2)] = None",
        ],
    )


def test_each_change_keeps_what_is_around_it(tmp_path: Path) -> None:
    write_project(tmp_path, ISSUES)
    change = replaced(
        ("`project` Int32", "`project` Int64"),
        ("`title` String", "`subject` String RENAMED_FROM `title`"),
        ("    `weight` Int32 DEFAULT 1,\n", ""),
    )
    made = edit(tmp_path, {"issues.datasource": change})
    assert changed_lines(tmp_path, made) == (
        ["project: Int32", "title: str  # as shown", "weight: Int32 = 1"],
        ["project: int", 'subject: Annotated[str, RenamedFrom("title")]  # as shown'],
    )


WAYS = [
    ("note: Annotated[str, Field(alias='n', description='a note')]", "note", "$.n"),
    ("note: str = Field(validation_alias='n', description='a note')", "note", "$.n"),
    ("note: Annotated[Annotated[str, JsonPath('$.after.n')], 'LowCardinality'] | None", "note", "$.after.n"),
    ("note: 'Optional[Annotated[str, JsonPath(\"$.n\")]]' = None", "note", "$.n"),
]


@pytest.mark.parametrize(("declared", "name", "path"), WAYS)
def test_a_path_and_a_type_are_changed_however_they_are_said(
    tmp_path: Path, declared: str, name: str, path: str
) -> None:
    main = f"\nclass Row(BaseModel):\n    id: Key[int]\n    {declared}\n\nrows = OlapTable[Row]('rows')\n"
    write_project(tmp_path, main)

    def moved(text: str) -> str:
        lines = text.split("\n")
        at = next(number for number, each in enumerate(lines) if f"`{name}`" in each)
        lines[at] = f"    `{name}` Nullable(Int64) `json:$.moved`"
        return "\n".join(lines)

    made = edit(tmp_path, {"rows.datasource": moved})
    after = made.contents["app/main.py"].decode()
    assert path not in after
    assert ("description='a note'" in after) == ("description" in declared)


def test_columns_that_exchange_their_names_exchange_all_that_they_say(tmp_path: Path) -> None:
    write_project(tmp_path, ISSUES)
    swap = replaced(
        ("`title` String", "`title` Int32 DEFAULT 1 RENAMED_FROM `weight`"),
        ("`weight` Int32 DEFAULT 1", "`weight` String RENAMED_FROM `title`"),
    )
    made = edit(tmp_path, {"issues.datasource": swap})
    _, came = changed_lines(tmp_path, made)
    assert came == [
        'title: Annotated[Int32, RenamedFrom("weight")] = 1  # as shown',
        'weight: Annotated[str, RenamedFrom("title")]',
    ]


def test_the_other_columns_keep_their_paths_when_the_only_alias_goes(tmp_path: Path) -> None:
    main = "\nclass Row(BaseModel):\n    id: Key[int]\n    a: str = Field(alias='b')\n\nOlapTable[Row]('rows')\n"
    write_project(tmp_path, main)
    made = edit(tmp_path, {"rows.datasource": replaced((",\n    `a` String `json:$.b`", ""))})
    assert 'id: Key[Annotated[int, JsonPath("$.id")]]' in made.contents["app/main.py"].decode()


@pytest.mark.parametrize(
    "sql",
    [
        'f"SELECT id, title FROM {issues}"',
        '"SELECT id, " "title FROM issues"',
        "f'SELECT id, ' f'title FROM {issues}'",
        'f"""\n            SELECT\n                id,\n                title\n            FROM {issues}\n        """',
        'sql("SELECT {id}, title FROM {table}", id=issues.columns.id, table=issues)',
    ],
)
def test_a_column_follows_into_the_sql_of_a_view(tmp_path: Path, sql: str) -> None:
    write_project(tmp_path, ISSUES + VIEW.replace("{sql}", sql).replace("\\n", "\n"))
    made = edit(
        tmp_path,
        {
            "issues.datasource": NEW,
            "titles.datasource": replaced(("`title` String", "`title` String,\n    `severity` Int32 DEFAULT 5")),
            "to_titles.pipe": replaced(("title", "title, `severity`")),
        },
    )
    after = made.contents["app/main.py"].decode()
    assert after.count("severity: Int32 = 5") == 2
    assert after.count("title, `severity`") == 1


def test_two_files_that_lack_imports(tmp_path: Path) -> None:
    models = (
        '"""Rows."""\r\nimport pydantic as p\r\n\r\nJsonPath = None\r\n\r\n\r\nclass Base(p.BaseModel):\r\n'
        "    id: int\r\n    old: str\r\n\r\n\r\nclass Row(Base):\r\n    'A row.'\r\n"
    )
    main = "\nfrom app.models import Row\nrows = OlapTable[Row]('rows', OlapConfig(order_by_fields=['id']))\n"
    write_project(tmp_path, main)
    (tmp_path / "app/models.py").write_bytes(models.encode())
    change = replaced(
        ("`old` String", "`new` UUID `json:$.x.new` RENAMED_FROM `old`,\n    `more` Nullable(Int16) `json:$.more`"),
        ("`id` Int64", "`id` Int64 `json:$.id`"),
    )
    made = edit(tmp_path, {"rows.datasource": change})
    assert list(made.contents) == ["app/models.py"]
    after = made.contents["app/models.py"].decode()
    assert "\n" not in after.replace("\r\n", "")
    assert "from penstock import Int16, JsonPath as PenstockJsonPath, RenamedFrom\r\n" in after
    assert "    'A row.'\r\n    more: Int16 | None = None\r\n" in after
    assert 'new: Annotated[UUID, PenstockJsonPath("$.x.new"), RenamedFrom("old")]\r\n' in after


def test_a_field_of_two_tables_is_said_anew_in_the_class_of_the_one_that_changes(tmp_path: Path) -> None:
    main = """
class Base(BaseModel):
    id: Key[int]
    n: Int32

class One(Base):
    x: str

class Two(Base):
    y: str

OlapTable[One]("one")
OlapTable[Two]("two")
"""
    write_project(tmp_path, main)
    made = edit(tmp_path, {"one.datasource": replaced(("`n` Int32", "`n` Int64"))})
    assert changed_lines(tmp_path, made) == ([], ["n: int"])
    both = replaced(("`n` Int32", "`n` Int64"))
    made = edit(tmp_path, {"one.datasource": both, "two.datasource": both})
    assert changed_lines(tmp_path, made) == (["n: Int32"], ["n: int"])


def test_bytes_outside_of_the_edits_stay(tmp_path: Path) -> None:
    write_project(tmp_path, "")
    text = (
        "# -*- coding: latin-1 -*-\r\nfrom penstock import *\r\nfrom pydantic import BaseModel\r\n\x0c\r\n"
        "class Row(BaseModel):\r\n    id: Key[int]; b: str = 'ü'; c: int\t# é\r\n\r\nt = OlapTable[Row]('rows')"
    )
    (tmp_path / "app/main.py").write_bytes(text.encode("latin-1"))
    change = replaced((",\n    `b` String DEFAULT 'ü'", ""), ("`c` Int64", "`c` Int64,\n    `d` String DEFAULT 'ß'"))
    made = edit(tmp_path, {"rows.datasource": change})
    wanted = text.replace("b: str = 'ü'; ", "").replace("# é", '# é\r\n    d: str = "ß"')
    assert made.contents["app/main.py"] == wanted.encode("latin-1")


INHERITED = """
class Base(BaseModel):
    id: Key[int]
    n: Int32

class Row(Base):
    x: str

class Other(Base):
    y: str

OlapTable[Row]("a")
OlapTable[Other]("b")
"""
SHARED = (
    '\nclass Row(BaseModel):\n    id: Key[int]\n    n: Int32\n\nfor name in ("a", "b"):\n    OlapTable[Row](name)\n'
)
FACTORY = """
from pydantic import create_model

OlapTable[create_model("Row", id=(int, ...), n=(Int32, ...))]("a", OlapConfig(order_by_fields=["id"]))
"""
COMMENTED = "\nclass Row(BaseModel):\n    id: Key[int]\n    n: Annotated[  # why\n        int, 'int32']\n\n"
COMMENTED += "OlapTable[Row]('a')\n"
WIDER = replaced(("`n` Int32", "`n` Int64"))


@pytest.mark.parametrize(
    ("main", "change", "told", "hint"),
    [
        (SHARED, WIDER, "`n` of `a` is not edited: its class is that of `b`, too", "n: int"),
        (SHARED, replaced(("`n` Int32", "`n` Int32,\n `m` Int8")), "its class is that of `b`, too", "m: Int8"),
        (
            INHERITED,
            replaced((",\n    `n` Int32", "")),
            "its class inherits it from one that `b` has, too",
            "remove `n`",
        ),
        (FACTORY, WIDER, "it is declared by no line of a class", "n: int"),
        (FACTORY, replaced(("`n` Int32", "`n` Int32,\n `m` Int8")), "its model is defined by no class", "m: Int8"),
        (COMMENTED, WIDER, "a comment is within its declaration", "n: int"),
        (COMMENTED, replaced(("`n` Int32", "`class` Int32 RENAMED_FROM `n`")), "no field of a model", "`class`"),
    ],
)
def test_what_cannot_be_edited_is_said_with_what_to_write(
    tmp_path: Path, main: str, change: Edit, told: str, hint: str
) -> None:
    write_project(tmp_path, main)
    with pytest.raises(CannotEditPython) as error:
        edit(tmp_path, {"a.datasource": change})
    (problem,) = error.value.problems
    assert told in problem.message
    assert hint in str(problem.hint)
    assert problem.location is not None
    assert problem.location.file == "app/main.py"


def test_what_would_change_something_else_is_refused(tmp_path: Path) -> None:
    more = "\nclass More(Issue):\n    more: str\n\nOlapTable[More]('more')\n"
    write_project(tmp_path, ISSUES + more)
    with pytest.raises(CannotEditPython) as error:
        edit(tmp_path, {"issues.datasource": NEW})
    assert [each.message for each in error.value.problems] == ["`more` cannot be edited so that it is what it must be"]
    assert error.value.problems[0].hint == "its model has no severity any more"


DESCRIBED = """
class State(str, Enum):
    OPEN = "open"
    '''It waits.'''
    DONE = "done"
"""
LOWER_CASE = """
class State(str, enum.Enum):
    open = "open"
    done = "done"

    def short(self) -> str:
        return self[0]
"""
NUMBERED = """
class State(enum.IntEnum):
    open = 1
    done = 2  # in the end
"""
WITH_METHOD = """
class State(Enum):
    OPEN = "open"
    DONE = "done"

    def LATE(self) -> bool:
        return False
"""
WITH_LIGATURE = """
class State(Enum):
    fix = "open"
    done = "done"
"""
ENUMS = [
    (WITH_METHOD, 'LATE_3 = "late"', "late"),
    (WITH_LIGATURE, 'fix_3 = "\ufb01x"', "\ufb01x"),
    (WITH_LIGATURE, 'label_3 = "!"', "!"),
    (DESCRIBED, 'NOT_YET_1 = "not-yet 1"', "not-yet 1"),
    (LOWER_CASE, 'title_3 = "title"', "title"),
    (NUMBERED, "late = 3", "late"),
]


@pytest.mark.parametrize(("declared", "member", "label"), ENUMS)
def test_an_enum_gets_the_label_as_a_member(tmp_path: Path, declared: str, member: str, label: str) -> None:
    main = f"{declared}\n\nclass Row(BaseModel):\n    id: Key[int]\n    state: State | None = None\n\n\n"
    write_project(tmp_path, f'import enum\nfrom enum import Enum\n{main}rows = OlapTable[Row]("rows")\n')
    made = edit(tmp_path, {"rows.datasource": replaced(("'done' = 2)", f"'done' = 2, '{label}' = 3)"))})
    assert changed_lines(tmp_path, made) == ([], [member])


AS_TEXT = "state: Annotated[str, ClickHouseType(\"Enum8('open' = 1, 'done' = 2, '{label}' = 3)\")]"
OF_MEMBERS = """
labels = ", ".join(repr(each.value) for each in State)
View("waiting", f"SELECT id FROM rows WHERE state IN ({labels})", base_tables=[rows])
"""


@pytest.mark.parametrize(
    ("declared", "more", "label"),
    [(NUMBERED, "", "mro"), (NUMBERED, "", "bit_length"), (NUMBERED, "", "\ufb01x"), (DESCRIBED, OF_MEMBERS, "late")],
)
def test_labels_that_cannot_be_members_are_the_type_of_their_field(
    tmp_path: Path, declared: str, more: str, label: str
) -> None:
    main = f"{declared}\n\nclass Row(BaseModel):\n    id: Key[int]\n    state: State\n\n\n"
    write_project(tmp_path, f'import enum\nfrom enum import Enum\n{main}rows = OlapTable[Row]("rows")\n{more}')
    made = edit(tmp_path, {"rows.datasource": replaced(("'done' = 2)", f"'done' = 2, '{label}' = 3)"))})
    gone, come = changed_lines(tmp_path, made)
    assert gone == ["state: State"]
    assert come[-1] == AS_TEXT.format(label=label)


def test_an_enum_of_several_fields_stays_as_it_is(tmp_path: Path) -> None:
    main = (
        '\nfrom enum import Enum\n\nclass State(Enum):\n    OPEN = "open"\n\n'
        "class Row(BaseModel):\n    id: Key[int]\n    state: State\n    former: State\n\n"
        'rows = OlapTable[Row]("rows")\n'
    )
    write_project(tmp_path, main)
    made = edit(tmp_path, {"rows.datasource": replaced(("'open' = 1)", "'open' = 1, 'done' = 2)"))})
    gone, come = changed_lines(tmp_path, made)
    assert gone == ["state: State"]
    assert come[-1] == "state: Annotated[str, ClickHouseType(\"Enum8('open' = 1, 'done' = 2)\")]"
