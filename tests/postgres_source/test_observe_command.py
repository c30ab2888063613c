"""`penstock migrations observe` around real commands."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import run
from postgres_server import PASSWORD, Postgres

SQL = "import os, psycopg2\nc = psycopg2.connect(os.environ['DSN'])\nc.autocommit = True\nprint('migrating')\n"


@pytest.fixture
def project(tmp_path: Path, source: Postgres, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DSN", source.url())
    monkeypatch.setenv("PENSTOCK_POSTGRES_DSN", source.url())
    (tmp_path / "penstock.toml").write_text('[postgres]\nschemas = ["none"]\n')
    return tmp_path


def observe(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, Any, str]:
    code = run(["migrations", "observe", "--output", "json", *arguments])
    out, err = capfd.readouterr()
    return code, json.loads(out), err


def script(*statements: str, ending: str = "") -> list[str]:
    lines = "".join(f"c.cursor().execute({each!r})\n" for each in statements)
    return ["--", sys.executable, "-c", SQL + lines + ending]


def test_any_command_is_observed(project: Path, source: Postgres, capfd: pytest.CaptureFixture[str]) -> None:
    schema = source.schema()
    source.run(f"CREATE TABLE {schema}.issues (id int PRIMARY KEY, title text)")
    steps = script(f"ALTER TABLE {schema}.issues ADD severity int DEFAULT 1", f"CREATE TABLE {schema}.labels (id int)")
    code, document, err = observe(capfd, "--schema", schema, *steps)
    assert (code, document["exit_code"], document["unclear"]) == (0, 0, [])
    assert "migrating" in err, "what the command prints does not disturb the document"
    (name,) = document["files"]
    assert json.loads((project / name).read_text()) == document["migrations"][0]
    assert "labels is new" in document["notes"][0]
    code, document, _ = observe(capfd, "--schema", schema, *script(f"DROP TABLE {schema}.labels"))
    assert (code, document["files"], len(document["notes"])) == (0, [], 1)


def test_a_command_that_fails_half_way_is_observed_half_way(
    project: Path, source: Postgres, capfd: pytest.CaptureFixture[str]
) -> None:
    schema = source.schema()
    source.run(f"CREATE TABLE {schema}.issues (id int PRIMARY KEY)")
    steps = script(f"ALTER TABLE {schema}.issues ADD a int", ending="raise SystemExit(3)")
    code, document, _ = observe(capfd, "--schema", schema, *steps)
    assert (code, document["exit_code"], len(document["files"])) == (1, 3, 1)


def test_usage(project: Path, source: Postgres, capfd: pytest.CaptureFixture[str]) -> None:
    assert observe(capfd, "--", "no-such-program")[0] == 1
    assert observe(capfd, "--phase", "add_colum=pre", "--", "true")[0] == 2
    assert observe(capfd, "--phase", "add_column=never", "--", "true")[0] == 2
    code, document, _ = observe(capfd, "--dsn", source.url().replace(str(source.port), "1"), "--", "true")
    assert (code, document["code"]) == (3, "unavailable")
    assert PASSWORD not in json.dumps(document, ensure_ascii=False)


def test_without_rights_only_the_first_and_last_state_are_known(
    project: Path, source: Postgres, capfd: pytest.CaptureFixture[str]
) -> None:
    schema = source.schema()
    user = f"plain_{schema}"
    source.run(f"CREATE ROLE {user} LOGIN PASSWORD 'plain-secret'; CREATE TABLE {schema}.t (id int, a int)")
    plain = f"postgresql://{user}:plain-secret@127.0.0.1:{source.port}/postgres"
    reused = script(f"ALTER TABLE {schema}.t DROP a", f"ALTER TABLE {schema}.t ADD a text")
    code, document, _ = observe(capfd, "--dsn", plain, "--schema", schema, *reused)
    assert (code, document["files"]) == (1, [])
    assert "the name `a` belonged to one column before" in document["unclear"][0]
    code, document, _ = observe(
        capfd, "--dsn", plain, "--schema", schema, *script(f"ALTER TABLE {schema}.t RENAME a TO b")
    )
    assert (code, document["migrations"][0]["operations"][0]["op"]) == (0, "rename_column")
