"""What is wrong with an object is said at the line of Python that has to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.plan.project_check import check_loaded
from python_projects import HEAD, problems_of, read_project

FIRST = HEAD.count("\n")
ROW = """
class Row(BaseModel):
    id: str
    n: int

t = OlapTable[Row]("t", OlapConfig(order_by_fields=["id"]))
"""
"""Behind it, the next line is the seventh."""

OF_OBJECTS = {
    "a type that is none": (
        "class A(BaseModel):\n    x: Any\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: Any is no type of a column",
    ),
    "two types": ("class A(BaseModel):\n    x: int | str\nOlapTable[A]('a')\n", 8, 5, "`x`: a column has one type"),
    "a word that is none": (
        "class A(BaseModel):\n    x: Annotated[int, 'uint15']\nOlapTable[A]('a')\n",
        8,
        5,
        '`x`: "uint15" says nothing of a column',
    ),
    "a word for another type": (
        "class A(BaseModel):\n    x: Annotated[str, 'uint16']\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: UInt16 is no type of str",
    ),
    "a decimal without digits": (
        "class A(BaseModel):\n    x: Decimal\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: a Decimal needs its precision",
    ),
    "flags": (
        "import enum\nclass F(enum.Flag):\n    R = 1\nclass A(BaseModel):\n    x: list[F]\nOlapTable[A]('a')\n",
        11,
        5,
        "`x`: F is a Flag, whose values may be several members at once",
    ),
    "flags that are numbers": (
        "import enum\nclass F(enum.IntFlag):\n    R = 1\nclass A(BaseModel):\n    x: F\nOlapTable[A]('a')\n",
        11,
        5,
        "`x`: F is a Flag",
    ),
    "a model in itself": (
        "class A(BaseModel):\n    x: list['A']\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: A contains itself: A > A",
    ),
    "a model in itself by another": (
        "class A(BaseModel):\n    x: 'B'\nclass B(BaseModel):\n    y: A\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: A contains itself: A > B > A",
    ),
    "a key that is a text": (
        "OlapTable[Row]('a', OlapConfig(order_by_fields='id'))\n",
        7,
        48,
        "order_by_fields is a list of names",
    ),
    "a value that no argument has": (
        "OlapTable[Row]('a', OlapConfig(order_by_fields=['id'], partition_by=5))\n",
        7,
        1,
        "an argument of OlapTable `a` has a value that it cannot have",
    ),
    "half of a character": (
        "OlapTable[Row]('a', OlapConfig(order_by_fields=['id'], description='\\ud800'))\n",
        7,
        68,
        "half of a character is in a text",
    ),
    "a default that is Python": (
        "class A(BaseModel):\n    x: list[int] = Field(default_factory=list)\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: a default_factory is Python",
    ),
    "a default that is None": (
        "class A(BaseModel):\n    x: int = Field(default=None)\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: the default is None, which Int64 cannot be",
    ),
    "a type that is refused": (
        "class A(BaseModel):\n    x: Annotated[int, 'int256']\nOlapTable[A]('a')\n",
        8,
        5,
        "the type `Int256` is not supported",
    ),
    "an inherited field": (
        "class A(BaseModel):\n    x: Any\nclass B(A):\n    y: int\nOlapTable[B]('a')\n",
        8,
        5,
        "`x`: Any is no type of a column",
    ),
    "a version that is none": (
        "OlapTable[Row]('a', OlapConfig(\n    version='0_1',\n))\n",
        8,
        13,
        "'0_1' is no version",
    ),
    "a version twice": (
        "OlapTable[Row]('a', OlapConfig(version='0.1', order_by_fields=['id']))\n"
        "OlapTable[Row]('a', OlapConfig(version='0.1', order_by_fields=['id']))\n",
        8,
        1,
        "a second object `a_0_1`",
    ),
    "a name and a version": (
        "OlapTable[Row]('t', OlapConfig(version='1'))\nOlapTable[Row]('t_1')\n",
        8,
        1,
        "a second object `t_1`",
    ),
    "a name of several versions": (
        "a = OlapTable[Row]('a', OlapConfig(version='1', order_by_fields=['id']))\n"
        "b = OlapTable[Row]('a', OlapConfig(version='2', order_by_fields=['id']))\n"
        "View('v', select_statement='SELECT id FROM a', base_tables=[a, b])\n",
        9,
        29,
        "`a` may be any of a_1, a_2",
    ),
    "a name of a version and of a table": (
        "a = OlapTable[Row]('t', OlapConfig(version='1', order_by_fields=['id']))\n"
        "View('v', select_statement='SELECT id FROM t', base_tables=[a])\n",
        8,
        29,
        "`t` may be any of t, t_1",
    ),
    "a field twice in a key": (
        "OlapTable[Row]('a', OlapConfig(order_by_fields=['id', 'id']))\n",
        7,
        48,
        "order_by_fields has a field twice",
    ),
    "a life cycle": (
        "OlapTable[Row]('a', OlapConfig(life_cycle=LifeCycle.EXTERNALLY_MANAGED))\n",
        7,
        43,
        "LifeCycle.EXTERNALLY_MANAGED is not in this version",
    ),
    "a key of no column": (
        "OlapTable[Row]('a', OlapConfig(\n    order_by_fields=['idd']))\n",
        8,
        21,
        "there is no column `idd`",
    ),
    "a column of an engine that is none": (
        "OlapTable[Row]('a', OlapConfig(order_by_fields=['id'],\n  engine=ReplacingMergeTreeEngine(ver='m')))\n",
        8,
        10,
        "there is no column `m`",
    ),
    "a schedule that is none": (
        "CopyPipe('c', 'SELECT id, n FROM t', t, CopyOptions(\n    schedule='hourly'))\n",
        8,
        14,
        "`hourly` is not a schedule",
    ),
    "a sink without a place": (
        "SinkPipe('s', 'SELECT id FROM t', SinkOptions(connection='c'))\n",
        7,
        1,
        "name one of them",
    ),
    "a sink of two places": (
        "SinkPipe('s', 'SELECT id FROM t', SinkOptions(connection='c', kafka_topic='t', bucket_uri='s3://b'))\n",
        7,
        1,
        "name one of them",
    ),
    "options of another object": ("SinkPipe('s', 'SELECT id FROM t', CopyOptions())\n", 7, 1, "must be SinkOptions"),
    "a comment in a value": ("OlapTable[Row]('a', OlapConfig(partition_by='n # x'))\n", 7, 45, "'n # x' has a #"),
    "a second object": ("OlapTable[Row]('t')\n", 7, 1, "a second object `t`"),
    "a name that is none": ("OlapTable[Row]('../t')\n", 7, 1, "'../t' cannot be the name of OlapTable"),
    "a text over lines": (
        "View('v', select_statement='''SELECT 'a\nb' FROM t''')\n",
        7,
        31,
        "a quoted text goes over several",
    ),
    "a line that begins with #": (
        "View('v', select_statement='''SELECT 1\n# x\n''')\n",
        8,
        1,
        "a line of SQL begins with #",
    ),
    "no SQL": ("View('v', select_statement='')\n", 7, 28, "the SQL is empty"),
    "another model than the target's": (
        "class A(BaseModel):\n    id: int\nMaterializedView[A](MaterializedViewOptions(\n"
        "    materialized_view_name='m', select_statement='SELECT 1', select_tables=[]), target_table=t)\n",
        9,
        1,
        "`A` is not the model of the target `t`: id differs",
    ),
    "a parameter that is none": (
        "class P(BaseModel):\n    a: int\nApi[P, Row]('e', sql='SELECT {a}, {b} FROM t')\n",
        9,
        22,
        "`P` has no parameter `b`",
    ),
    "a parameter that is not used": (
        "class P(BaseModel):\n    a: int\n    b: int\nApi[P, Row]('e', sql='SELECT {a} FROM t')\n",
        9,
        5,
        "the SQL does not use the parameter `b`",
    ),
    "a rule of a parameter": (
        "class P(BaseModel):\n    a: int = Field(gt=0)\nApi[P, Row]('e', sql='SELECT {a} FROM t')\n",
        8,
        5,
        "the parameter `a`: the rule Gt(gt=0) is not checked by an endpoint",
    ),
    "a list that may be absent": (
        "class P(BaseModel):\n    a: list[int] | None = None\nApi[P, Row]('e', sql='SELECT {a} FROM t')\n",
        8,
        5,
        "the parameter `a` is never None in a call",
    ),
    "a parameter that is None or must be given": (
        "class P(BaseModel):\n    a: int | None\nApi[P, Row]('e', sql='SELECT {a} FROM t')\n",
        8,
        5,
        "the parameter `a` is never None in a call",
    ),
    "a parameter of two types": (
        "class P(BaseModel):\n    a: int | str\nApi[P, Row]('e', sql='SELECT {a} FROM t')\n",
        8,
        5,
        "the parameter `a`: a column has one type, not int | str",
    ),
    "a parameter that every call has": (
        "class P(BaseModel):\n    token: str\nApi[P, Row]('e', sql='SELECT {token} FROM t')\n",
        8,
        5,
        "every call has a parameter `token` of its own",
    ),
    "a parameter of a function that every call has": (
        "class P(BaseModel):\n    deployment: str\ndef f(client, given): return []\nApi[P, Row]('e', f)\n",
        8,
        5,
        "every call has a parameter `deployment` of its own",
    ),
    "a default with a zone": (
        "from datetime import timezone\nclass P(BaseModel):\n    a: datetime = "
        "datetime(2020, 1, 1, tzinfo=timezone.utc)\nApi[P, Row]('e', sql='SELECT {a} FROM t')\n",
        9,
        5,
        "the default of `a` has a zone",
    ),
    "a template with a model": (
        "class P(BaseModel):\n    a: int\nApi[P, Row]('e', sql='% SELECT {{a}} FROM t')\n",
        9,
        22,
        "this is a template of its own",
    ),
}
WARNINGS = {
    "a rule of a column": (
        "class A(BaseModel):\n    x: int = Field(gt=0)\nOlapTable[A]('a')\n",
        8,
        5,
        "`x`: Gt(gt=0) is not applied to the rows of a table",
    ),
    "a validator": (
        "from pydantic import field_validator\nclass A(BaseModel):\n    x: int\n    @field_validator('x')\n"
        "    def even(cls, x): return x\nOlapTable[A]('a')\n",
        8,
        1,
        "`A` has rules, validators, serializers or computed fields",
    ),
    "a field of a model in a column": (
        "class I(BaseModel):\n    a: int = Field(alias='AA')\nclass A(BaseModel):\n    i: I\nOlapTable[A]('a')\n",
        8,
        5,
        "`a`: inside a column JSON rows have `a`",
    ),
    "a table that is not read": (
        "w = OlapTable[Row]('w')\nCopyPipe('c', 'SELECT id, n FROM t', w, CopyOptions(select_tables=[w]))\n",
        8,
        67,
        "select_tables has `w`, which the SQL does not read",
    ),
    "a target by its name": (
        "MaterializedView[Row](MaterializedViewOptions(materialized_view_name='m', table_name='t',\n"
        "    select_statement='SELECT id, n FROM s', select_tables=[]))\nOlapTable[Row]('s')\n",
        7,
        86,
        "the target `t` is given by its name only",
    ),
    "a target by the name of a version": (
        "OlapTable[Row]('a', OlapConfig(version='1', order_by_fields=['id']))\n"
        "MaterializedView[Row](MaterializedViewOptions(materialized_view_name='m', table_name='a',\n"
        "    select_statement='SELECT id, n FROM t', select_tables=[t], order_by_fields=['id']))\n",
        8,
        86,
        "the target `a` is given by its name only, which makes a table of no version",
    ),
}
IN_SQL = {
    "in the line of the argument": ("Api[None, Row]('e', sql='SELECT idd FROM t')\n", 7, 33),
    "in lines of their own": (
        "Api[None, Row]('e', sql='''\n    SELECT\n        id,\n        idd\n    FROM t\n''')\n",
        10,
        9,
    ),
    "in a name of the module": (
        "SQL = '''\n  SELECT id,\n    idd\n  FROM t\n'''\nApi[None, Row]('e', sql=SQL)\n",
        9,
        5,
    ),
    "in an f-string": ("Api[None, Row]('e', sql=f'''\n    SELECT id\n    FROM {t}\n    WHERE idd = 1''')\n", 10, 11),
    "in a line that an f-string makes": (
        "c = 'idd'\nApi[None, Row]('e', sql=f'''\n  SELECT {c}\n  FROM {t}''')\n",
        9,
        3,
    ),
    "in an earlier node": (
        "Api[None, Row]('e', sql='SELECT * FROM b', nodes={'a': 'SELECT id FROM t',\n   'b': 'SELECT idd FROM a'})\n",
        8,
        17,
    ),
    "in a view": ("View('v', 'SELECT 1 AS x')\nView('w', select_statement='''\n   SELECT idd FROM t''')\n", 9, 11),
}


@pytest.mark.parametrize("case", OF_OBJECTS)
def test_a_problem_of_an_object(case: str, tmp_path: Path) -> None:
    main, line, column, message = OF_OBJECTS[case]
    found = [each for each in problems_of(read_project(tmp_path, ROW + main)) if each.level == "error"]
    assert [str(each.location) for each in found[:1]] == [f"app/main.py:{FIRST + line}:{column}"], found
    assert message in found[0].message


@pytest.mark.parametrize("case", WARNINGS)
def test_a_warning_of_an_object(case: str, tmp_path: Path) -> None:
    main, line, column, message = WARNINGS[case]
    (found,) = problems_of(read_project(tmp_path, ROW + main))
    assert (str(found.location), found.level) == (f"app/main.py:{FIRST + line}:{column}", "warning"), found
    assert message in found.message


@pytest.mark.parametrize("case", IN_SQL)
def test_a_problem_of_sql_is_in_the_text_of_python(case: str, tmp_path: Path) -> None:
    main, line, column = IN_SQL[case]
    read = read_project(tmp_path, ROW + main)
    assert not read.loaded.errors
    (found,) = read.places.problems(check_loaded(read.loaded).errors)
    assert "idd" in found.message
    assert str(found.location) == f"app/main.py:{FIRST + line}:{column}"


def test_two_classes_of_one_name_are_a_problem(tmp_path: Path) -> None:
    again = "class Row(BaseModel):\n    id: str\nOlapTable[Row]('u')\n"
    found = problems_of(read_project(tmp_path, ROW + again))
    assert {str(each.location) for each in found} == {f"app/main.py:{FIRST + 7}:1"}
    assert {each.message for each in found} == {"a second class `Row`"}
    assert found[0].hint == f"the first is in line {FIRST + 2}; rename one of them"


def test_all_problems_are_said_at_once(tmp_path: Path) -> None:
    many = "".join(f"class A{n}(BaseModel):\n    x: Any\nOlapTable[A{n}]('a{n}')\n" for n in range(5))
    assert len(problems_of(read_project(tmp_path, ROW + many))) == 5
