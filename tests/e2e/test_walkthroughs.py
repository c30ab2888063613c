"""The walk-throughs of the examples, and the tutorial of Python, run as a reader would: every command, in order.

A ```bash block is run; the ```text block after it holds lines of its output, in order (spaces may differ, and `…`
stands for anything).
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import penstock

pytestmark = pytest.mark.e2e

EXAMPLES = Path(penstock.__file__).parent / "examples"
BLOCK = re.compile(r"^```(bash|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 180


@dataclass(frozen=True)
class Command:
    """A bash block and what its output must hold."""

    script: str
    expected: tuple[str, ...]


def commands(page: Path) -> list[Command]:
    found: list[Command] = []
    for kind, body in BLOCK.findall(page.read_text()):
        if kind == "bash":
            found.append(Command(body, ()))
        else:
            found[-1] = Command(found[-1].script, tuple(filter(None, map(str.strip, body.splitlines()))))
    return found


class Shell:
    """Runs blocks in one folder after another, as `cd` in them says. The server gets a port of its own."""

    def __init__(self, folder: Path):
        self._folder, self._where = folder, folder
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            self._port = listener.getsockname()[1]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = os.environ | {"PATH": path, "COLUMNS": "160"}

    def run(self, script: str) -> subprocess.CompletedProcess[str]:
        own = script.replace("penstock up", f"penstock up --port {self._port}")
        note = self._folder / "where"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{own}\npwd > '{note}'"],
            cwd=self._where,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if note.exists():
            self._where = Path(note.read_text().strip())
        return done


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    made.run("penstock down || true")


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page",
    [
        EXAMPLES / "flights/README.md",
        pytest.param(EXAMPLES / "web-analytics/README.md", marks=pytest.mark.slow),
        Path(__file__).parents[2] / "docs/python-tutorial.md",
    ],
    ids=lambda page: page.parent.name if page.stem == "README" else page.stem,
)
def test_walkthrough(page: Path, shell: Shell) -> None:
    found = commands(page)
    assert found, "a walk-through has commands"
    for command in found:
        done = shell.run(command.script)
        told = f"$ {command.script}\n{done.stdout}{done.stderr}"
        assert done.returncode == 0, told
        missing = first_missing(command.expected, done.stdout + done.stderr)
        assert missing is None, f"expected the line: {missing}\n{told}"


def first_missing(expected: tuple[str, ...], output: str) -> str | None:
    """The first expected line that is not in the output after those before it."""
    lines = iter([" ".join(line.split()) for line in output.splitlines()])
    for wanted in expected:
        pattern = ".*".join(re.escape(part) for part in " ".join(wanted.split()).split("…"))
        if not any(re.search(pattern, line) for line in lines):
            return wanted
    return None


@pytest.mark.parametrize(
    ("expected", "output", "missing"),
    [
        (("a 1", "b 2"), "x\na   1\ny\n b 2 z", None),
        (("b 2", "a 1"), "a 1\nb 2", "a 1"),
        (("took … s",), "took 0.123 s", None),
        (("took … s",), "took long", "took … s"),
        (("a (1)",), "a (1)", None),
    ],
)
def test_first_missing(expected: tuple[str, ...], output: str, missing: str | None) -> None:
    assert first_missing(expected, output) == missing
