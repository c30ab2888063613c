from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import __version__
from penstock.cli.main import COMMANDS
from penstock.cli.session import CommonOptions, Session
from penstock.errors import Conflict
from unit.cli.conftest import Run

HEAVY = ("pyspark", "py4j", "pandas", "pyarrow", "pyiceberg", "sqlalchemy", "starlette")


def test_help_lists_every_command(penstock: Run) -> None:
    for arguments in (["--help"], []):
        code, out, _ = penstock(*arguments)
        assert code == 0
        assert all(f"  {command.name} " in out for command in COMMANDS)


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_has_help_and_the_common_options(penstock: Run, name: str) -> None:
    pytest.importorskip("penstock.plan.offline" if name == "plan" else "penstock.cli.main")
    code, out, _ = penstock(name, "--help")
    assert code == 0
    assert "Commands:" in out or all(option in out for option in ("--output", "--url", "--token", "--project"))


@pytest.mark.parametrize("words", ["", "deploy", "status", "up", "sql", "datasource append"])
def test_no_command_imports_what_is_slow(words: str) -> None:
    script = (
        "import sys; from penstock.cli.main import build; build(sys.argv[1].split());"
        "print(*[name for name in sys.argv[2:] if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", script, words, *HEAVY], capture_output=True, text=True, check=True)
    assert found.stdout.split() == []


def test_the_version(penstock: Run) -> None:
    assert penstock("--version")[1] == f"penstock {__version__}\n"


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("deploi", "Did you mean 'deploy'"),
        ("deployment promot", "Did you mean 'promote'"),
        ("deploy --chek", "--check"),
        ("sql", "Missing argument"),
        ("deployment", "Missing command"),
        ("status --output xml", "xml"),
        ("up --port 70000", "'--port': 70000 is not from 0 to 65535"),
        ("mock events --rows many", "'--rows': 'many' is not a whole number"),
        ("mock events --rows -1", "'--rows': -1 is less than 0"),
        ("status --project nowhere", "there is no folder nowhere"),
        ("status --url ftp://x", "not an address of a server"),
        ("endpoint data top --param x", "NAME=VALUE"),
    ],
)
def test_wrong_usage_is_2_and_says_what_would_be_right(penstock: Run, project: Path, line: str, told: str) -> None:
    code, out, err = penstock(*line.split())
    assert (code, out) == (2, "")
    assert told in err
    assert "Traceback" not in err


def test_wrong_usage_is_one_document_too(penstock: Run) -> None:
    code, out, err = penstock("deploi", "--output=json")
    assert (code, err) == (2, "")
    assert '"code": "wrong-usage"' in out


def test_no_server_is_3(penstock: Run, project: Path) -> None:
    code, out, err = penstock("status", "--url", "http://127.0.0.1:9")
    assert (code, out) == (3, "")
    assert "no server answers at http://127.0.0.1:9" in err
    assert "penstock up" in err


def test_what_is_no_penstock_server_is_3(penstock: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", "http://127.0.0.1:9/")
    assert penstock("status")[0] == 3


def test_a_project_is_needed_where_it_is(penstock: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = penstock("deploy")
    assert code == 2
    assert "no penstock.toml here or in a folder above" in err


@pytest.mark.parametrize(
    ("fault", "code", "told"), [(ZeroDivisionError("x"), 1, "made a mistake"), (KeyboardInterrupt(), 130, "")]
)
def test_a_fault_is_told_in_a_line(
    penstock: Run, project: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException, code: int, told: str
) -> None:
    def fail(*_: object) -> None:
        raise fault

    monkeypatch.setattr("penstock.cli.session.Session.client", fail)
    found, out, err = penstock("status")
    assert (found, out) == (code, "")
    assert told in err
    assert "Traceback" not in err


def test_brackets_of_users_are_shown(penstock: Run, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise Conflict("Array[red] of [/] things")

    monkeypatch.setattr("penstock.cli.session.Session.client", fail)
    assert "error: Array[red] of [/] things" in penstock("status")[2]


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ("[server]\nport = 7999\n", "http://127.0.0.1:7999"),
        ('[server]\nhost = "0.0.0.0"\nport = 7998\n', "http://127.0.0.1:7998"),
        ('[server]\nhost = "::1"\nport = 7997\n', "http://[::1]:7997"),
        ("", "http://127.0.0.1:7180"),
        ("port = = 1", "http://127.0.0.1:7180"),
    ],
)
def test_a_stopped_server_is_called_where_its_project_says(project: Path, settings: str, address: str) -> None:
    (project / "penstock.toml").write_text(settings)
    assert Session(CommonOptions(project=project)).url == address


@pytest.mark.usefixtures("pipeline")
def test_a_stopped_project_is_not_taken_for_another_one_at_its_address(project: Path, penstock: Run) -> None:
    """A copy, or what was restored from a backup, has the same tokens and settings as the original."""
    record = json.loads((project / ".penstock" / "server.json").read_text())
    port = record["url"].rpartition(":")[2]
    (project / "penstock.toml").write_text(f"[server]\nport = {port}\n")
    (project / ".penstock" / "server.json").unlink()
    code, _, error = penstock("status")
    assert (code, f"no server of {project} runs" in error) == (3, True)
    assert penstock("status", "--url", record["url"])[0] == 0


@pytest.mark.parametrize(
    ("variables", "offered"),
    [
        (
            {"_PENSTOCK_COMPLETE": "complete_bash", "COMP_WORDS": "penstock deployment pro", "COMP_CWORD": "2"},
            "promote",
        ),
        ({"_PENSTOCK_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": "penstock dep"}, "deployment"),
        ({"_PENSTOCK_COMPLETE": "complete_fish", "_TYPER_COMPLETE_ARGS": "penstock deploy --ch"}, "--check"),
    ],
)
def test_a_shell_learns_how_a_line_may_go_on(variables: dict[str, str], offered: str) -> None:
    command = [sys.executable, "-c", "from penstock.cli.main import app; app()"]
    more = {"_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    found = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, **variables, **more}
    )
    assert offered in found.stdout
