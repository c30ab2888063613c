"""Python that is meant to be a project is taken, or it is said that it is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.api.project.project_module import find_module, untaken_python
from penstock.api.project.source_project import load_source_folder
from penstock.parse.project_loader import load_folder


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


TAKEN: dict[str, dict[str, str | bytes]] = {
    "among other imports": {"app/main.py": "import pydantic, penstock as p"},
    "behind a semicolon": {"app/main.py": "import x; import penstock"},
    "over two lines": {"app/main.py": "from \\\n penstock import *"},
    "in a function": {"app/main.py": "def f():\n    from penstock.api import OlapTable"},
    "in UTF-16": {"app/main.py": "from penstock import *".encode("utf-16")},
    "in a file that does not parse": {"app/main.py": "from penstock import (*"},
    "in another folder": {"app/main.py": "import pipeline.tables", "pipeline/tables.py": "import penstock"},
    "in a package by its name": {
        "app/main.py": "from pipeline import tables",
        "pipeline/__init__.py": "",
        "pipeline/tables.py": "from .more import y",
        "pipeline/more.py": "from penstock import *",
    },
}


@pytest.mark.parametrize("case", TAKEN)
def test_a_module_is_found(case: str, tmp_path: Path) -> None:
    found = find_module(write(tmp_path, TAKEN[case]))
    assert found is not None
    assert (found.name, str(found.location)) == ("app.main", "app/main.py:1:1")


def test_a_link_to_nothing_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/main.py").symlink_to("gone.py")
    (found,) = load_source_folder(tmp_path).loaded.problems
    assert (str(found.location), found.message) == ("app/main.py:1:1", "there is no module app.main")


def test_a_module_of_the_settings_is_missed_at_their_line(tmp_path: Path) -> None:
    write(tmp_path, {"penstock.toml": '[python]\nmodule = "pipeline.tables"\n'})
    (found,) = load_source_folder(tmp_path).loaded.problems
    assert str(found.location) == "penstock.toml:2:10"


NOT_TAKEN: dict[str, tuple[dict[str, str | bytes], str | None]] = {
    "a program and no datafiles": ({"app/main.py": "import flask"}, "error app/main.py:1:1"),
    "a module that is not found by its text": (
        {"app/main.py": "from importlib import import_module as i\ni('a.b')", "a/b.py": "import penstock"},
        "error a/b.py:1:1",
    ),
    "the same beside datafiles": (
        {"app/main.py": "i('a.b')", "a/b.py": "import penstock", "t.datasource": ""},
        "warning a/b.py:1:1",
    ),
    "a program beside datafiles": ({"app/main.py": "import flask", "t.datasource": ""}, None),
    "a client beside datafiles": (
        {"app/main.py": "import flask", "load.py": "from penstock.client import Client", "t.datasource": ""},
        None,
    ),
    "packages": (
        {"env/pyvenv.cfg": "", "env/lib/p.py": "import penstock", "site-packages/q.py": "import penstock"},
        None,
    ),
}


@pytest.mark.parametrize("case", NOT_TAKEN)
def test_what_is_not_taken_is_said(case: str, tmp_path: Path) -> None:
    files, wanted = NOT_TAKEN[case]
    folder = write(tmp_path, files)
    assert find_module(folder) is None
    found = untaken_python(folder)
    assert (f"{found.level} {found.location}" if found else None) == wanted


def test_datafiles_of_packages_are_not_the_project_s(tmp_path: Path) -> None:
    inside = ("any/lib/a.datasource", "site-packages/b.datasource", "node_modules/c.pipe", "mine/d.datasource")
    write(tmp_path, {"any/pyvenv.cfg": "", **dict.fromkeys(inside, "SCHEMA >\n    x String\n")})
    assert list(load_folder(tmp_path).files) == ["mine/d.datasource"]
