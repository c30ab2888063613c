"""What is wrong with tests and fixtures is said at once, with its place, before any server is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from unit.cli.conftest import Run


@pytest.fixture(autouse=True)
def _no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("no server is needed to see that")

    monkeypatch.setattr("penstock.cli.commands.server.throw_away_server.start_server", start)


@pytest.mark.parametrize(
    ("files", "arguments", "code", "message"),
    [
        ({}, (), 1, "the project has no tests"),
        ({"tests/top.yaml": "- name: a\n"}, ("b",), 1, "there is no test `b`"),
        ({"tests/tap.yaml": "- name: a\n"}, (), 1, "tests/tap.yaml:1:3: there is no endpoint `tap`"),
        ({"tests/top.yaml": "- nome: a\n"}, (), 1, "did you mean `name`?"),
        ({"tests/top.yaml": "- name: a\n", "fixtures/flight.csv": ""}, (), 1, "did you mean `flights`?"),
        ({"tests/top.yaml": "- name: a\n", "broken.pipe": "NODE n\n"}, (), 1, "broken.pipe"),
        ({"tests/top.yaml": "- name: a\n", "fixtures/flights.ndjosn": ""}, (), 1, "flights.ndjosn is no file of rows"),
        ({"tests/top.yaml": "- name: a\n  parameters: limt=1\n"}, (), 1, "`top` reads no parameter `limt`"),
        ({"tests/top.yaml": "- name: a\n"}, ("--upd",), 2, "--upd"),
    ],
)
def test_a_run(
    penstock: Run, project: Path, files: dict[str, str], arguments: tuple[str, ...], code: int, message: str
) -> None:
    write(project, files)
    found, out, err = penstock("test", "run", *arguments)
    assert (found, out) == (code, "")
    assert message in err


@pytest.mark.parametrize(
    ("files", "arguments", "code", "message"),
    [
        ({}, ("--from", "nowhere"), 1, "no commit `nowhere` and no folder of this name"),
        ({}, (), 2, "--from"),
        ({}, ("--from", "empty"), 1, "there are no datafiles in `empty`"),
        ({"former/a.datasource": "SCHEMA >\n    a Int8\n"}, ("--from", "../../former"), 1, "has no fixtures"),
        ({"former/a.datasource": "SCHEMA >\n    a Int8,\n    a\n"}, ("--from", "../../former"), 1, "a.datasource:3"),
        ({"tests/migration/flight.ndjson": ""}, ("--from", ".."), 1, "did you mean `flights`?"),
        ({"tests/migration/flights.csv": ""}, ("--from", ".."), 1, "flights.csv is no file of expected rows"),
    ],
)
def test_a_migration(
    penstock: Run, project: Path, files: dict[str, str], arguments: tuple[str, ...], code: int, message: str
) -> None:
    (project / "datasources/empty").mkdir()
    write(project, {"tests/top.yaml": "- name: a\n"})
    for path, text in files.items():
        write(project.parent if path.startswith("former") else project, {path: text})
    found, out, err = penstock("test", "migration", *arguments)
    assert (found, out) == (code, "")
    assert message in err


def write(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
