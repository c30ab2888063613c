"""`penstock test migration` with a real server: a former version, its rows, the new version over it, and the tests."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
CASES = """\
- name: by_name   # the comment stays
  expected_result: |
    {"name":"visit","events":2,"users":2}
    {"name":"order","events":1,"users":1}
- name: no_version
  parameters: deployment=nope
  expected_http_status: 404
- name: wrong
  expected_result: |
    {"name":"visit","events":3,"users":2}
    {"name":"order","events":1,"users":1}
"""


@pytest.mark.timeout(300)
def test_rows_of_a_former_version_are_those_of_this_one(tmp_path: Path) -> None:
    former, project = tmp_path / "former", tmp_path / "project"
    for folder in (former, project):
        shutil.copytree(Path(penstock.__file__).parent / "examples/minimal", folder)
    source = project / "datasources/events.datasource"
    text = source.read_text().replace("DEFAULT ''", "DEFAULT '',\n    `kind` String `json:$.kind` DEFAULT 'none'")
    source.write_text(text)
    (project / "tests/migration").mkdir(parents=True)
    (project / "tests/top_events.yaml").write_text(CASES)
    rows = ('{"user":"ada","kind":"none"}', '{"user":"bob","kind":"none"}', '{"user":"ada","kind":"none"}')
    (project / "tests/migration/events.ndjson").write_text("\n".join(rows))
    command = ["test", "migration", "--from", str(former), "--project", str(project), "--output", "json"]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, "TMPDIR": str(scratch)}
    done = subprocess.run(
        [sys.executable, "-m", "penstock.cli", *command], capture_output=True, check=False, env=environment
    )
    assert (done.returncode, done.stderr) == (1, b"")
    found = json.loads(done.stdout)
    assert [(each["name"], each["status"]) for each in found["tests"]] == [
        ("by_name", "passed"),
        ("no_version", "passed"),
        ("wrong", "failed"),
    ]
    assert '+ {"name":"visit","events":2,"users":2}' in found["tests"][2]["difference"]
    assert [
        (each["datasource"], each["rows_before"], each["rows_after"], each["status"]) for each in found["tables"]
    ] == [
        ("events", 3, 3, "passed"),
        ("events_daily", 2, 2, "passed"),
    ]
    assert not list(scratch.glob("penstock-*"))
    assert not (project / ".penstock").exists()
