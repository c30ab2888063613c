"""Materialized views as functions of a project: what they become, and where their problems are."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.model.pipe import Materialized
from penstock.plan.offline import plan_loaded
from penstock.plan.project_check import check_loaded
from python_projects import HEAD, problems_of, read_project, shown

FIRST = HEAD.count("\n")
TABLES = """
class Event(BaseModel):
    id: Key[str]
    n: Int32
    s: str | None

class User(BaseModel):
    id: Key[str]
    plan: str

events = OlapTable[Event]("events")
users = OlapTable[User]("users", OlapConfig(version="0.1"))
target = OlapTable[User]("target", OlapConfig(order_by_fields=["id"]))
"""
FRAMES = "\nfrom pyspark.sql import DataFrame, functions as F\n"
START = FIRST + TABLES.count("\n") + FRAMES.count("\n")
"""The lines before a view's."""

SQL_VIEW = '''
@materialized_view(target=target, sources=[users], metadata={"description": "those with a plan"})
def named():
    return f"""
        SELECT id, plan
        FROM {users.name}
        WHERE plan != ''
    """
'''
FRAME_VIEW = """
MOST = 7

def small(events: DataFrame) -> DataFrame:
    return events.filter(F.col("n") < MOST)

@materialized_view(target=target, sources=[events, users], name="other")
def framed(e: DataFrame, u: DataFrame) -> DataFrame:
    return (
        e.transform(small)
        .join(u, "id", "left")
        .select("id", F.coalesce("plan", F.lit("none")).alias("plan"))
    )
"""


def test_a_function_that_gives_sql_is_the_same_as_an_object(tmp_path: Path) -> None:
    made = read_project(tmp_path / "function", TABLES + SQL_VIEW)
    options = '''
MaterializedView[User](
    MaterializedViewOptions(
        materialized_view_name="named",
        select_tables=[users],
        select_statement=f"""
            SELECT id, plan
            FROM {users.name}
            WHERE plan != ''
        """,
        metadata={"description": "those with a plan"},
    ),
    target_table=target,
)
'''
    object_ = read_project(tmp_path / "object", TABLES + options)
    assert problems_of(made) == problems_of(object_) == []
    assert made.loaded.project == object_.loaded.project
    pipe = made.loaded.project.pipe("named")
    assert pipe is not None
    place = made.places.locate(pipe.nodes[0].sql.location)
    assert (place.file, place.line) == ("app/main.py", FIRST + TABLES.count("\n") + 5)


def test_a_function_over_dataframes_is_sql_of_spark(tmp_path: Path) -> None:
    read = read_project(tmp_path, TABLES + FRAMES + FRAME_VIEW)
    assert problems_of(read) == []
    assert check_loaded(read.loaded).problems == ()
    pipe = read.loaded.project.pipe("other")
    assert pipe is not None
    assert pipe.dialect == "spark"
    assert isinstance(pipe.nodes[0].kind, Materialized)
    wanted = (
        "SELECT `t1`.`id` AS `id`, coalesce(`t2`.`plan`, 'none') AS `plan` FROM `events` AS `t1` "
        "LEFT JOIN `users_0_1` AS `t2` ON `t1`.`id` = `t2`.`id` WHERE (`t1`.`n` < 7)"
    )
    assert " ".join(pipe.nodes[0].sql.text.split()) == wanted


def test_only_what_a_view_says_makes_it_another_one(tmp_path: Path) -> None:
    """A name, a comment, a helper and a column that it does not read change nothing; a constant does."""

    def changes(**replaced: str) -> list[str]:
        text = TABLES + FRAMES + FRAME_VIEW
        for number, (old, new) in enumerate(replaced.values()):
            assert old in text, number
            text = text.replace(old, new)
        new = read_project(tmp_path / "new", text)
        assert problems_of(new) == []
        planned = plan_loaded(before.loaded, new.loaded)
        return sorted(each.name for each in planned.resources if each.strategy != "none")

    before = read_project(tmp_path / "old", TABLES + FRAMES + FRAME_VIEW)
    assert changes(helper=("small", "little"), comment=("return (", "# no news\n    return (")) == []
    assert changes(column=("    s: str | None", "    s: str | None\n    more: str = ''")) == ["events"]
    assert "target" in changes(constant=("MOST = 7", "MOST = 8"))


PROBLEMS = {
    "an action": ("def v(e):\n    x = e.count()\n    return e", 3, "`count` is an action"),
    "what it returns": ("def v(e):\n    return 1", 1, "`v` must return a DataFrame"),
    "an exception": ("def v(e):\n    return e.select('id', 1 / 0)", 3, "ZeroDivisionError: division by zero"),
    "parameters": ("def v(e, more):\n    return e", 1, "`v` has 2 parameters and 1 sources"),
    "any number of parameters": ("def v(*e):\n    return e", 1, "each parameter is the DataFrame of one source"),
    "a column that the target lacks": (
        "def v(e):\n    m = e.withColumn('m', F.lit(1))\n    return m.select('id', 'm')",
        3,
        "`target` has no column `m`",
    ),
    "a type that is not known": (
        "def v(e):\n    return e.select('id', F.create_map('id', 's').alias('plan'))",
        3,
        "the type of `plan` cannot be inferred",
    ),
    "a long time": ("def v(e):\n    while True: pass", 3, "the project was not read within 4 s"),
    "a text of the clock": (
        "def v(e):\n    now = F.lit('now').cast('date').cast('string')\n    return e.select('id', now.alias('plan'))",
        4,
        "the text 'now' would be a time of the clock",
    ),
    "a unit of each row": (
        "def v(e):\n    return e.select('id', F.expr('date_trunc(s, n)').cast('string').alias('plan'))",
        3,
        "the argument 1 of `date_trunc` would be lost or changed",
    ),
    "a process": ("def v(e):\n    import os\n    os.system('true')\n    return e", 4, "the project starts a process"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_at_the_line_of_the_function(tmp_path: Path, name: str) -> None:
    view, line, message = PROBLEMS[name]
    text = f"{TABLES}{FRAMES}\n@materialized_view(target=target, sources=[events])\n{view}\n"
    if name == "a long time":
        (tmp_path / "penstock.toml").write_text("[python]\nmax_seconds = 4\n")
        text = text.replace(FRAMES, "\n\n")
    read = read_project(tmp_path, text)
    problems = [*problems_of(read), *read.places.problems(check_loaded(read.loaded).problems)]
    found = [each for each in problems if message in each.message]
    assert found, [str(each) for each in problems]
    assert found[0].location is not None
    assert (found[0].location.file, found[0].location.line) == ("app/main.py", START + 1 + line)


def test_a_function_that_fails_hides_no_other_one(tmp_path: Path) -> None:
    views = """
@materialized_view(target=target)
def first():
    return None

@materialized_view(target=target, sources=[events])
def second(e):
    return e.collect()

second_again = second
"""
    read = read_project(tmp_path, TABLES + views)
    at = FIRST + TABLES.count("\n")
    assert shown(read) == [
        f"app/main.py:{at + 2}:1: TypeError: `first` must return SQL as a str, not a NoneType",
        f"app/main.py:{at + 8}:1: `collect` is an action, and a view only says what its rows are",
    ]


def test_a_declared_function_can_be_called(tmp_path: Path) -> None:
    views = """
@materialized_view(target=target, sources=[events])
def doubled(e):
    return e if isinstance(e, int) else e.select("id", F.col("s").alias("plan"))

assert doubled(4) == 4
assert doubled.target_table is target
"""
    assert problems_of(read_project(tmp_path, TABLES + FRAMES + views)) == []
