"""The commands take a project in Python as they take one of datafiles; places are those of Python."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from penstock.errors import InvalidProject, Location, Problem
from python_projects import HEAD, write_project
from unit.cli.conftest import Run
from unit.serve.memory import MemoryPipeline

PAGE = Path(__file__).parents[3] / "docs/python-projects.md"
FIRST = HEAD.count("\n")
SOUND = """
class Row(BaseModel):
    a: UInt8

flights = OlapTable[Row]("flights")
Api[None, Row]("top", sql=f'''
    SELECT a
    FROM {flights}
''')
"""
WRONG = SOUND.replace("SELECT a", "SELECT a, leng(a) AS b")


@pytest.fixture
def python_project(project: Path) -> Path:
    """The project in Python, in the place of that in datafiles."""
    (project / "datasources" / "flights.datasource").unlink()
    (project / "top.pipe").unlink()
    return write_project(project, SOUND)


def test_check_names_the_line_of_python(penstock: Run, python_project: Path) -> None:
    assert penstock("check") == (0, "1 data source, 1 pipe: no problem\n", "")
    write_project(python_project, WRONG)
    code, out, err = penstock("check", "--keep-going")
    assert code == 1
    assert f"app/main.py:{FIRST + 7}:15: unknown function `leng`" in err
    assert ["top", "endpoint", "broken", "app/main.py"] in [line.split() for line in out.splitlines()]
    write_project(python_project, "\n1 / 0\n")
    assert f"app/main.py:{FIRST + 2}:1: ZeroDivisionError: division by zero" in penstock("check")[2]


def test_graph_names_the_file_of_python(penstock: Run, python_project: Path) -> None:
    drawn = json.loads(penstock("graph", "--output", "json")[1])
    assert {each["name"]: each["file"] for each in drawn["nodes"]} == {"flights": "app/main.py", "top": "app/main.py"}


def test_graph_of_a_project_that_cannot_be_read_fails(penstock: Run, python_project: Path) -> None:
    write_project(python_project, "\n1 / 0\n")
    code, out, err = penstock("graph")
    assert (code, out) == (1, "")
    assert f"app/main.py:{FIRST + 2}:1: ZeroDivisionError: division by zero" in err


def test_what_is_removed_is_said_of_the_module(penstock: Run, python_project: Path, tmp_path: Path) -> None:
    kept = write_project(tmp_path / "kept", SOUND[: SOUND.index("Api[")])
    write_project(python_project, SOUND.replace("flights", "others"))
    code, _, err = penstock("plan", str(kept), str(python_project))
    assert code == 1
    assert "app/main.py:1:1: " in err
    assert "datasources/" not in err


def test_plan_between_two_forms(penstock: Run, python_project: Path, tmp_path: Path) -> None:
    after = write_project(tmp_path / "after", SOUND.replace("a: UInt8", "a: UInt8\n    b: int | None"))
    code, out, _ = penstock("plan", str(python_project), str(after))
    assert (code, "in_place" in out) == (0, True)
    assert "nothing changes" in penstock("plan", str(after), str(after))[1]
    write_project(after, SOUND[: SOUND.index("Api[")])
    removed = penstock("plan", str(python_project), str(after))[1]
    assert f"top: removed (app/main.py:{FIRST + 6})" in removed, "the place is that of the project before"
    write_project(after, WRONG)
    code, out, err = penstock("plan", str(python_project), str(after))
    assert (code, f"app/main.py:{FIRST + 7}:15" in err) == (1, True)
    write_project(after, "\n1 / 0\n")
    assert f"app/main.py:{FIRST + 2}:1" in penstock("plan", str(python_project), str(after))[2]


def test_deploy_sends_datafiles_and_shows_python(
    penstock: Run, python_project: Path, pipeline: MemoryPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[dict[str, str]] = []
    deploy = pipeline.deploy

    def watched(files: dict[str, str], *arguments: object, **options: object) -> object:
        sent.append(dict(files))
        return deploy(files, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline, "deploy", watched)
    code, out, _ = penstock("deploy")
    assert (code, "is live" in out) == (0, True)
    assert sorted(sent[0]) == ["datasources/flights.datasource", "endpoints/top.pipe", "penstock.toml"]

    def refused(*arguments: object, **options: object) -> object:
        place = Location("endpoints/top.pipe", 5, 12)
        raise InvalidProject("refused", [Problem("unknown-column", "there is no column `a`", place)])

    monkeypatch.setattr(pipeline, "deploy", refused)
    code, _, err = penstock("deploy")
    assert (code, f"app/main.py:{FIRST + 8}:" in err or f"app/main.py:{FIRST + 7}:" in err) == (1, True), err
    write_project(python_project, "\n1 / 0\n")
    code, _, err = penstock("deploy")
    assert (code, f"app/main.py:{FIRST + 2}:1: ZeroDivisionError" in err) == (1, True)


def test_the_example_of_the_page_is_a_project(penstock: Run, tmp_path: Path) -> None:
    code, *more = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    functions = [each for each in more if "@materialized_view" in each]
    (tmp_path / "app").mkdir()
    (tmp_path / "app/main.py").write_text(code)
    assert penstock("check", str(tmp_path)) == (0, "2 data sources, 2 pipes: no problem\n", "")
    for function in functions:  # each says the same view
        (tmp_path / "app/main.py").write_text(code.partition("MaterializedView[")[0] + function)
        assert penstock("check", str(tmp_path)) == (0, "2 data sources, 1 pipe: no problem\n", "")
    others = [each for each in more if each not in functions]
    for other in others:  # an endpoint that is a function, and a view over an `sql` of typed parts
        (tmp_path / "app/main.py").write_text(code + other)
        assert penstock("check", str(tmp_path))[:2] == (0, "2 data sources, 3 pipes: no problem\n")
    assert (len(functions), len(others)) == (2, 2)


def test_init_makes_a_folder_of_python_a_project(
    penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_project(tmp_path / "mine", SOUND)
    (folder / "penstock.toml").unlink()
    monkeypatch.chdir(folder)
    assert "files of a project, but no penstock.toml" in penstock("up")[2]
    code, out, _ = penstock("init", str(folder))
    assert (code, ".gitignore, penstock.toml" in out) == (0, True)
    assert sorted(each.name for each in folder.iterdir()) == [".gitignore", "app", "penstock.toml"]
    assert penstock("check", str(folder)) == (0, "1 data source, 1 pipe: no problem\n", "")


def test_pull_writes_no_datafiles_beside_python(
    penstock: Run, python_project: Path, pipeline: MemoryPipeline, tmp_path: Path
) -> None:
    assert penstock("deploy")[0] == 0
    code, out, _ = penstock("pull")
    assert (code, "3 the same" in out) == (0, True)
    write_project(python_project, SOUND.replace("UInt8", "UInt16"))
    code, out, err = penstock("pull")
    assert (code, "is a project in Python" in err, "penstock pull DIR" in err) == (1, True, True)
    assert not (python_project / "datasources" / "flights.datasource").exists()
    code, out, _ = penstock("pull", "--check")
    assert (code, "changed: datasources/flights.datasource" in out) == (1, True)
    assert penstock("pull", str(tmp_path / "copy"))[0] == 0


def test_check_warns_of_dead_ends_in_python_only(penstock: Run, python_project: Path) -> None:
    write_project(python_project, SOUND + "View('v', f'SELECT a FROM {flights}')\n")
    code, out, err = penstock("check")
    assert (code, "no problem" in out, f"app/main.py:{FIRST + 10}:1: nothing reads `v`" in err) == (0, True, True), err
    (python_project / "w.pipe").write_text("NODE n\nSQL >\n    SELECT a FROM v\n")
    assert penstock("check") == (0, "1 data source, 3 pipes: no problem\n", "")


def test_plan_and_deploy_warn_as_check_does(penstock: Run, python_project: Path, pipeline: MemoryPipeline) -> None:
    write_project(python_project, SOUND + "View('v', f'SELECT a FROM {flights}')\nprint('x')\n")
    wanted = [f"app/main.py:{FIRST + 10}:1: nothing reads `v`", f"app/main.py:{FIRST + 11}:1: the project prints"]
    both = (str(python_project), str(python_project))
    for words in (("check",), ("plan", *both), ("deploy", "--check"), ("deploy",)):
        code, _, err = penstock(*words)
        assert (code, [err.count(each) for each in wanted]) == (0, [1, 1]), (words, err)


def test_pull_writes_python(penstock: Run, project: Path, pipeline: MemoryPipeline, tmp_path: Path) -> None:
    assert penstock("deploy")[0] == 0
    code, out, err = penstock("pull", str(tmp_path / "python"), "--as", "python")
    assert (code, "new: app/main.py" in out) == (0, True), err
    assert not list((tmp_path / "python").rglob("*.pipe"))
    assert "nothing changes" in penstock("plan", str(project), str(tmp_path / "python"))[1]
    code, _, err = penstock("pull", str(tmp_path / "python"), "--as", "python")
    assert (code, "--as python only writes a new project" in err) == (2, True)
