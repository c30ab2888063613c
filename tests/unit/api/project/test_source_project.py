"""Whatever a project's Python does, the answer is a problem at the user's line, within the limits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.api.project.project_module import find_module
from penstock.api.project.source_project import load_source_folder
from python_projects import HEAD, problems_of, read_project, shown, write_project

TABLE = """
class Row(BaseModel):
    id: str

OlapTable[Row]("t", OlapConfig(order_by_fields=["id"]))
"""
FIRST = HEAD.count("\n") + 1


def place(line: int, file: str = "app/main.py") -> str:
    """The line of a module that is behind its imports and an empty line, counted from 1."""
    return f"{file}:{FIRST + line}"


FAILING = {
    "raises": ("\nvalue = {}\nvalue['a']\n", place(2), "KeyError: 'a'"),
    "does not parse": ("\nx = (\n", place(1), "SyntaxError: '(' was never closed"),
    "ends Python politely": ("\nraise SystemExit(3)\n", place(1), "SystemExit: 3"),
    "lacks a module": ("\nimport no_such_module\n", place(1), "ModuleNotFoundError: No module named 'no_such_module'"),
    "wants what is not there": ("\nfrom penstock import OlapTabel\n", place(1), "ImportError: cannot import name"),
    "recurses": ("\ndef f(): return f()\nf()\n", place(1), "RecursionError:"),
    "is too deep for Python": (f"\nx = {'1+' * 20_000}1\n", "app/main.py:1", "RecursionError:"),
    "takes all memory": ("\nx = ' ' * 50_000_000_000\n", place(1), "MemoryError"),
    "starts a process": ("\nimport os\nos.fork()\n", place(2), "the project starts a process (os.fork)"),
    "ends who reads it": (
        "\nimport os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n",
        place(2),
        "the project sends a signal (os.kill)",
    ),
    "hides that it does": (
        "\nimport subprocess\ntry:\n    subprocess.run(['true'])\nexcept BaseException:\n    pass\n" + TABLE,
        place(3),
        "the project starts a process (subprocess.Popen)",
    ),
    "uses the network": (
        "\nimport socket\nsocket.create_connection(('127.0.0.1', 9), timeout=1)\n",
        place(2),
        "the project uses the network",
    ),
    "says an unknown option": ("\nOlapConfig(databse='x')\n", place(1), "TypeError:"),
    "has no model": ("\nOlapTable('t')\n", place(1), "TypeError: OlapTable needs the model of its rows"),
    "has another class": ("\nOlapTable[int]('t')\n", place(1), "TypeError: OlapTable[…] needs a Pydantic model"),
    "has two targets": (
        "\nclass A(BaseModel):\n    x: int\nt = OlapTable[A]('t')\n"
        "o = dict(select_statement='', select_tables=[], materialized_view_name='v', table_name='u')\n"
        "MaterializedView[A](MaterializedViewOptions(**o), target_table=t)\n",
        place(5),
        "TypeError: MaterializedView 'v' has two targets: 'u' and 't'",
    ),
    "has an engine for another table": (
        "\nclass A(BaseModel):\n    x: int\nt = OlapTable[A]('t')\n"
        "o = dict(select_statement='', select_tables=[], materialized_view_name='v', engine=NullEngine())\n"
        "MaterializedView[A](MaterializedViewOptions(**o), target_table=t)\n",
        place(5),
        "TypeError: MaterializedView 'v': engine and order_by_fields belong to its target_table",
    ),
    "has two queries": (
        "\nApi[None, BaseModel]('a', print, sql='SELECT 1')\n",
        place(1),
        "TypeError: Api 'a' needs its query: sql=…, or a function",
    ),
    "changes rows in Python": (
        "\nclass A(BaseModel):\n    x: int\nStream[A]('s').add_transform(None, print)\n",
        place(3),
        "TypeError: Stream 's': functions of Python over rows are not in this version",
    ),
    "posts to another name": (
        "\nclass A(BaseModel):\n    x: int\nIngestApi[A]('t', IngestConfig(destination=Stream[A]('s')))\n",
        place(3),
        "TypeError: IngestApi 't': rows are posted by the name and version of the stream, 's'",
    ),
    "has an option of a stream": (
        "\nclass A(BaseModel):\n    x: int\nStream[A]('s', StreamConfig(retention_period=60))\n",
        place(3),
        "TypeError: Stream 's': retention_period= is not in this version",
    ),
    "reads the queue of no stream": (
        "\nclass A(BaseModel):\n    x: int\nView('v', f\"SELECT 1 FROM {DeadLetterQueue[A]('q')}\")\n",
        place(3),
        "TypeError: DeadLetterQueue 'q' belongs to no stream yet",
    ),
    "gives one queue to two streams": (
        "\nclass A(BaseModel):\n    x: int\nq = StreamConfig(default_dead_letter_queue=DeadLetterQueue[A]('q'))\n"
        "Stream[A]('s', q)\nStream[A]('u', q)\n",
        place(5),
        "TypeError: DeadLetterQueue 'q' has the rejected rows of 's' already: give Stream 'u' a queue of its own",
    ),
    "has a queue of another model": (
        "\nclass A(BaseModel):\n    x: int\nclass B(BaseModel):\n    x: int\n"
        "IngestApi[A]('s', IngestConfig(destination=Stream[A]('s'), dead_letter_queue=DeadLetterQueue[B]('q')))\n",
        place(5),
        "TypeError: DeadLetterQueue 'q' must have the model of IngestApi 's': A",
    ),
    "has a stream with a column more than its table": (
        "\nclass A(BaseModel):\n    x: int\nclass B(A):\n    y: int\n"
        "Stream[A]('ok', StreamConfig(destination=OlapTable[A]('a')))\n"
        "Stream[B]('s', StreamConfig(destination=OlapTable[A]('s')))\n",
        place(6),
        "TypeError: Stream 's' must have the model of its destination, A: `y` differs in B",
    ),
    "has a stream with a column less than its table": (
        "\nclass A(BaseModel):\n    x: int\nclass B(A):\n    y: int\n"
        "Stream[A]('s', StreamConfig(destination=OlapTable[B]('b')))\n",
        place(5),
        "TypeError: Stream 's' must have the model of its destination, B: `y` differs in A",
    ),
    "starts a process by C": (
        "\nimport ctypes\nctypes.CDLL(None).fork()\n",
        place(2),
        "the project starts a process (fork) while it is read",
    ),
    "asks somebody": ("\nx = input()\n", place(1), "EOFError: EOF when reading a line"),
    "has an error without a text": (
        "\nclass E(Exception):\n    def __str__(self): raise ValueError\nraise E\n",
        place(3),
        "E: its text cannot be read, since that raises ValueError",
    ),
    "has an error of half a character": ("\nraise ValueError('\\ud800')\n", place(1), "ValueError: \\ud800"),
    "has a version that is a number": (
        TABLE + "OlapTable[Row]('t', OlapConfig(version=1.0))\n",
        place(5),
        "TypeError: the version of OlapTable 't' must be a str, not float",
    ),
    "has SQL that is none": (TABLE + "Api[None, Row]('e', sql=5)\n", place(5), "TypeError: the SQL of Api 'e' must be"),
    "has a view that is none": (TABLE + "View('v', None)\n", place(5), "TypeError: the select_statement of View 'v'"),
    "imports itself by a name": ("\nfrom app.main import t\n", place(1), "ImportError: cannot import name 't'"),
    "declares nothing": ("\nx = 1\n", "app/main.py:1", "app.main declares no table and no view"),
}


@pytest.mark.parametrize("case", FAILING)
def test_a_failure_is_a_problem_at_the_users_line(case: str, tmp_path: Path) -> None:
    main, where, message = FAILING[case]
    read = read_project(tmp_path, main)
    found = problems_of(read)
    assert len({(each.location, each.message) for each in found}) == len(found)
    assert [str(each.location).rpartition(":")[0] for each in found][:1] == [where], found
    assert message in found[0].message
    assert read.loaded.errors
    assert not read.loaded.project.names


def test_an_error_in_a_module_that_is_imported_is_there(tmp_path: Path) -> None:
    read = read_project(tmp_path, "\nimport app.tables\n", app__tables="\n1 / 0\n")
    assert shown(read) == ["app/tables.py:2:1: ZeroDivisionError: division by zero"]


def test_modules_that_import_each_other_are_told_so(tmp_path: Path) -> None:
    one = "from app.two import b\na = 1\n"
    read = read_project(tmp_path, "\nimport app.one\n", app__one=one, app__two="from app.one import a\nb = 1\n")
    (found,) = problems_of(read)
    assert (str(found.location), found.code) == ("app/two.py:1:1", "python-error")
    assert found.hint == "two modules import each other: move what both need into a third"


def test_what_is_not_there_yet_is_said(tmp_path: Path) -> None:
    (found,) = problems_of(read_project(tmp_path, "\nfrom penstock import Workflow\n"))
    assert found.hint == "Workflow is not in this version: docs/python-projects.md says what there is"


@pytest.mark.parametrize(
    ("main", "line"),
    [
        ("\nimport time\ntime.sleep(600)\n", 2),
        ("\nwhile True:\n    pass\n", 1),
        ("\nsum(range(10**13))\n", 1),
        ("\nimport posixpath\nposixpath.join('/a', *['b'] * 10**8)\n", 2),
    ],
    ids=["sleeps", "loops", "stays in C", "stays in a library"],
)
def test_a_module_that_takes_too_long_is_ended_where_it_is(
    main: str, line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_project(tmp_path, main)
    monkeypatch.chdir(folder)  # a path that is none, such as <frozen posixpath>, is none of this folder
    (folder / "penstock.toml").write_text("[python]\nmax_seconds = 1\n")
    began = time.monotonic()
    (found,) = problems_of(load_source_folder(folder))
    assert time.monotonic() - began < 20
    assert found.code == "python-timeout"
    assert str(found.location) in {f"app/main.py:{FIRST + line + more}:1" for more in (0, 1)}


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ("os._exit(7)", "the project ends Python (os._exit) while it is read"),
        ("os.abort()", "the project ended Python while it was read (exit code -6)"),
    ],
)
def test_a_module_that_ends_python_is_a_problem_at_its_line(ends: str, message: str, tmp_path: Path) -> None:
    (found,) = problems_of(read_project(tmp_path, f"\nimport os\n{ends}\n"))
    assert found.message == message
    assert str(found.location) == f"{place(2)}:1"


def test_what_a_project_prints_is_a_warning_and_reaches_nobody(tmp_path: Path) -> None:
    read = read_project(tmp_path, TABLE + "print('x')\n")
    (found,) = problems_of(read)
    assert (found.code, found.level) == ("prints-when-read", "warning")
    assert str(found.location) == "app/main.py:14:1"
    assert read.loaded.project.datasource("t") is not None


@pytest.mark.parametrize(
    "given", ["sys.stdout.buffer.write(b'x')", "sys.stderr.writelines(['x'])", "print('x', end='', flush=True)"]
)
def test_whatever_is_printed_is_a_warning_with_its_text(given: str, tmp_path: Path) -> None:
    (found,) = problems_of(read_project(tmp_path, TABLE + f"import sys\n{given}\n"))
    assert (found.message, str(found.location)) == ("the project prints while it is read: x", "app/main.py:15:1")


def test_a_warning_of_python_is_one_of_the_project(tmp_path: Path) -> None:
    (found,) = problems_of(read_project(tmp_path, TABLE + "import warnings\nwarnings.warn('old')\n"))
    assert (found.message, found.level, str(found.location)) == ("UserWarning: old", "warning", "app/main.py:15:1")


def test_what_a_project_writes_to_its_errors_is_bounded(tmp_path: Path) -> None:
    endless = "\nimport os\nwhile True: os.write(2, b'x' * 2**24)\n"
    (found,) = problems_of(read_project(tmp_path, endless))
    assert found.message == "OSError: [Errno 27] File too large"


@pytest.mark.parametrize(
    "loop", ["while True:\n    n += 1; OlapTable[Row](f'x{n}')", "for n in range(10_000):\n    {}"]
)
def test_a_project_of_very_many_objects_is_refused_at_the_first_that_is_too_many(loop: str, tmp_path: Path) -> None:
    many = "n = 0\n" + loop.replace("{}", "OlapTable[Row](f'x{n}')") + "\n"
    (found,) = problems_of(read_project(tmp_path, TABLE + many))
    assert found.message == "the project declares more than 5,000 objects"
    assert str(found.location) == "app/main.py:16:1"


def test_a_project_that_goes_on_behind_its_limit_is_refused(tmp_path: Path) -> None:
    many = "for n in range(5_001):\n    try:\n        OlapTable[Row](f'x{n}')\n    except Exception:\n        pass\n"
    (found,) = problems_of(read_project(tmp_path, TABLE + many))
    assert found.code == "too-many-objects"


FILES = {
    "not UTF-8": (
        b"x = '\xe9'\n",
        "app/more.py:1:",
    ),
    "a NUL": (b"x = 1\0\n", "app/more.py:1:6: a NUL byte is in the file"),
    "an error in the last line": (b"x = 1\ny = (1,", "app/more.py:2:5: SyntaxError: '(' was never closed"),
    "a mark of the order of bytes": (b"\xef\xbb\xbfx = 1\n", ""),
    "ends of lines of another system": (b"x = 1\r\ny = 2\r\n1 / 0\r\n", "app/more.py:3:1: ZeroDivisionError: division"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file_with(case: str, tmp_path: Path) -> None:
    content, problem = FILES[case]
    folder = write_project(tmp_path, TABLE + "import app.more\n")
    (folder / "app/more.py").write_bytes(content)
    found = shown(load_source_folder(folder))
    assert [each.startswith(problem) for each in found] == [True] * bool(problem), found


def test_files_may_have_names_of_python_and_folders_any_name(tmp_path: Path) -> None:
    folder = tmp_path / "größe mit raum"
    files = dict.fromkeys(("typing", "penstock", "app__json"), "raise ValueError")
    main = "\nfrom . import more\nfrom .more import x\n" + TABLE
    write_project(folder, main, app____init__="", app__more="x = 1\n", **files)
    assert problems_of(load_source_folder(folder)) == []
    (folder / "app/more.py").unlink()
    (tmp_path / "elsewhere.py").write_text("x = 1\n1 / 0\n")
    (folder / "app/more.py").symlink_to(tmp_path / "elsewhere.py")
    (found,) = problems_of(load_source_folder(folder))
    assert found.message == "ZeroDivisionError: division by zero"
    assert found.location is not None


def test_a_module_runs_once_and_leaves_no_file(tmp_path: Path) -> None:
    count = "\nfrom pathlib import Path\nwith open('runs', 'a') as file: file.write('x')\nimport app.main\n"
    read = read_project(tmp_path, count + TABLE)
    assert problems_of(read) == []
    assert (tmp_path / "runs").read_text() == "x"
    assert not list(tmp_path.rglob("__pycache__"))


def test_a_file_of_the_project_hides_no_module_of_python(tmp_path: Path) -> None:
    assert problems_of(read_project(tmp_path, TABLE, json="raise ValueError", pydantic="raise ValueError")) == []


def test_a_thread_does_not_keep_the_process(tmp_path: Path) -> None:
    endless = "\nimport threading, time\nthreading.Thread(target=time.sleep, args=(600,)).start()\n"
    began = time.monotonic()
    assert problems_of(read_project(tmp_path, endless + TABLE)) == []
    assert time.monotonic() - began < 20


def test_settings_name_another_module(tmp_path: Path) -> None:
    folder = write_project(tmp_path, "\nraise ValueError\n", pipeline__tables=HEAD + TABLE)
    (folder / "penstock.toml").write_text('[python]\nmodule = "pipeline.tables"\n')
    read = load_source_folder(folder)
    assert problems_of(read) == []
    assert read.loaded.settings.python.module == "pipeline.tables"


def test_a_module_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "penstock.toml").write_text('[python]\nmodule = "pipeline"\n')
    (found,) = problems_of(load_source_folder(tmp_path))
    assert found.message == "there is no module pipeline"
    assert found.hint == 'name the project\'s module in penstock.toml: [python] module = "app.main"'


def test_another_program_in_app_is_not_run(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/main.py").write_text("raise ValueError")
    assert find_module(tmp_path) is None
    (tmp_path / "app/tables.py").write_text("from penstock import OlapTable")
    assert find_module(tmp_path) is not None


def test_datafiles_and_python_are_one_project(tmp_path: Path) -> None:
    folder = write_project(tmp_path, TABLE)
    (folder / "read.pipe").write_text("NODE n\nSQL >\n    SELECT id FROM t\nTYPE endpoint\n")
    read = load_source_folder(folder)
    assert problems_of(read) == []
    assert sorted(read.loaded.project.names) == ["read", "t"]
    (folder / "t.datasource").write_text("SCHEMA >\n    id String\n")
    assert "a second resource `t`" in shown(load_source_folder(folder))[0].partition(": ")[2]
    (folder / "t.datasource").unlink()
    (folder / "datasources").mkdir()
    (folder / "datasources/t.datasource").write_text("SCHEMA >\n    id String\n")
    (found,) = problems_of(load_source_folder(folder))
    assert found.hint == "this object and the datafile datasources/t.datasource have one name: remove one of them"


def test_a_name_that_was_not_imported_is_said(tmp_path: Path) -> None:
    folder = write_project(tmp_path, "")
    (folder / "app/main.py").write_text("import penstock\n\nx: UInt8 = 1\n")
    (found,) = problems_of(load_source_folder(folder))
    assert found.hint == "write `from penstock import UInt8`"


def test_reading_a_project_loads_no_pydantic_here(tmp_path: Path) -> None:
    folder = write_project(tmp_path, TABLE)
    code = (
        "import sys, pathlib, penstock\n"
        "from penstock.api.project.source_project import load_source_folder\n"
        f"print(load_source_folder(pathlib.Path({str(folder)!r})).loaded.project.names, 'pydantic' in sys.modules)"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert made.stdout.split() == ["('t',)", "False"]


def test_a_set_has_one_order(tmp_path: Path) -> None:
    """Another text of a view each time would compute its table anew each time."""
    words = ", ".join(repr(f"word{each}") for each in range(40))
    write_project(tmp_path, f"\nprint_order = '|'.join({{{words}}})\nraise ValueError(print_order)\n")
    messages = [load_source_folder(tmp_path).loaded.problems[0].message for _ in range(2)]
    assert "word7" in messages[0]
    assert messages[0] == messages[1]
