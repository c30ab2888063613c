"""`penstock cdc` as a user runs it: set up, run, killed and ended; status, add and remove."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.main import run
from penstock.errors import InvalidProject
from penstock.parse.project_loader import load_files
from penstock.postgres.application.consumer_records import ConsumerRecords
from penstock.postgres.capture.setup import set_up, table_choice
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from postgres_capture.conftest import Source
from postgres_capture.landing_server import InboxPipeline
from postgres_capture.producing import producing
from postgres_server import PASSWORD
from waiting import wait_until

Landing = tuple[InboxPipeline, str, str]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "penstock.toml").write_text("")
    return tmp_path


def command(source: Source, landing: Landing, project: Path, *words: str) -> tuple[list[str], Mapping[str, str]]:
    """A command line of `penstock cdc` and its environment."""
    line = [sys.executable, "-m", "penstock.cli", "--output", "json", "--project", str(project), "cdc", *words]
    environment = {"PENSTOCK_POSTGRES_DSN": source.dsn, "PENSTOCK_URL": landing[1], "PENSTOCK_TOKEN": landing[2]}
    return [*line, "--name", source.name], {**os.environ, **environment}


class Commands:
    """Runs commands in this process; gives their exit code and JSON."""

    def __init__(self, source: Source, landing: Landing, project: Path, capsys: pytest.CaptureFixture[str]):
        self._given, self._capsys = (source, landing, project), capsys

    def __call__(self, *words: str) -> tuple[int, dict[str, Any]]:
        line, environment = command(*self._given, *words)
        with pytest.MonkeyPatch.context() as patched:
            for name, value in environment.items():
                patched.setenv(name, value)
            code = run(line[3:])
        said = self._capsys.readouterr()
        assert "geheim" not in said.out + said.err
        return code, json.loads(said.out)

    def shown(self, *words: str) -> str:
        """What a command prints for a reader."""
        line, environment = command(*self._given, *words)
        with pytest.MonkeyPatch.context() as patched:
            for name, value in environment.items():
                patched.setenv(name, value)
            assert run([each for each in line[3:] if each not in ("--output", "json")]) == 0
        return self._capsys.readouterr().out

    def done(self, *words: str) -> dict[str, Any]:
        code, found = self(*words)
        assert code == 0, found
        return found


@pytest.fixture
def commands(source: Source, landing: Landing, project: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(source, landing, project, capsys)


class Run:
    """`penstock cdc run`, or `consume`, in a process."""

    def __init__(
        self, source: Source, landing: Landing, project: Path, fault: str = "", words: Sequence[str] = ("run",)
    ):
        line, environment = command(source, landing, project, *words)
        self.process = subprocess.Popen(
            line,
            env={**environment, "PENSTOCK_FAULT": fault},
            stderr=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self, how: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(how)
        out, said = self.process.communicate(timeout=60)
        assert out == ""
        return self.process.returncode, said


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    made: list[Run] = []
    yield made
    for each in made:
        each.process.kill()
        each.process.communicate()


def test_a_capture_from_setup_to_removal(
    source: Source, landing: Landing, project: Path, runs: list[Run], commands: Commands
) -> None:
    source.run("CREATE TABLE {s}.issues (id bigint PRIMARY KEY, title text NOT NULL, open bool, at timestamptz)")
    source.run("INSERT INTO {s}.issues VALUES (1, 'one', true, '2026-01-02 03:04:05.678901+02')")
    made = commands.done("setup", "--table", f"{source.schema}.issues")
    assert made["files"] == ["datasources/issues.datasource"]
    text = (project / "datasources/issues.datasource").read_text()
    loaded = load_files({"datasources/issues.datasource": text})
    assert loaded.problems == ()
    [datasource] = loaded.project.datasources
    assert {each.name: str(each.type) for each in datasource.columns} == {
        "id": "Int64",
        "title": "String",
        "open": "Nullable(Bool)",
        "at": "Nullable(DateTime64(6, 'UTC'))",
        "cdc_version": "UInt64",
        "cdc_is_deleted": "UInt8",
        "cdc_commit_lsn": "UInt64",
        "cdc_ordinal": "UInt64",
    }
    landing[0].columns["issues"] = frozenset(each.name for each in datasource.columns)
    again = commands.done("setup", "--table", f"{source.schema}.issues")
    assert (again["files"], again["slot"]) == ([], made["slot"])

    for fault in ("cdc.part-delivered:1", "cdc.delivered:1", "cdc.before-delivery:1"):
        runs.append(Run(source, landing, project, fault))
        source.run("INSERT INTO {s}.issues (id, title) SELECT max(id) + 1, 'more' FROM {s}.issues")
        wait_until(lambda: runs[-1].process.poll() is not None, 60)
        assert runs[-1].process.returncode == -signal.SIGKILL
    runs.append(Run(source, landing, project))
    source.wait_until_stored()
    code, said = runs[-1].end(signal.SIGTERM)
    assert code == 0, said
    assert all(line[:2].isdigit() and " penstock.cdc " in line for line in said.splitlines()), said
    assert PASSWORD not in said
    there = source.rows("SELECT id, title FROM {s}.issues")
    assert {(row["id"], row["title"]) for row in landing[0].final("issues", ("id",)).values()} == set(there)
    first = landing[0].final("issues", ("id",))[(1,)]
    assert (first["open"], first["at"]) == (True, "2026-01-02 01:04:05.678901+00")
    streamed = [row["id"] for row in landing[0].landed("issues") if row["cdc_version"] != row["cdc_commit_lsn"]]
    assert sorted(streamed) == [2, 3, 4], "each once"

    status = commands.done("status")
    assert [(each["table"], each["state"]) for each in status["tables"]] == [(f"{source.schema}.issues", "streaming")]
    assert status["alarms"] == ["no producer reads the slot: Postgres keeps all that is written since"]
    assert status["slot"]["wal_status"] == "reserved"
    assert [each["consumer"] for each in status["acknowledged"]] == status["consumers"] == ["penstock"]
    assert commands.done("replay") == {"capture": source.name, "replayed": {}}
    source.run("CREATE TABLE {s}.labels (id int PRIMARY KEY)")
    added = commands.done("add", f"{source.schema}.labels=tags")
    assert added["files"] == ["datasources/tags.datasource"]
    commands.done("remove", f"{source.schema}.labels")
    assert len(commands.done("status")["tables"]) == 1
    commands.done("remove", "--capture")
    assert source.rows(f"SELECT 1 FROM pg_replication_slots WHERE slot_name = '{made['slot']}'") == []


def test_a_consumer_is_known_while_all_else_is_away(
    source: Source, landing: Landing, project: Path, runs: list[Run], commands: Commands
) -> None:
    """Neither the broker nor its store answers: who changes the store waits for it all the same, until it is gone."""
    settings = '[stores.warehouse]\ntype = "clickhouse"\nurl = "http://127.0.0.1:1"\n'
    (project / "penstock.toml").write_text(settings)
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY)")
    source.set_up("one")
    words = ("consume", "--from", "nats://127.0.0.1:1", "--to", "warehouse")
    runs.append(Run(source, landing, project, words=words))
    wait_until(lambda: commands.done("status")["consumers"] == ["warehouse"], 30)
    assert source.rows(f"SELECT broker, stores FROM penstock.consumers WHERE capture = '{source.name}'") == [
        ("nats", ["warehouse"])
    ]
    assert commands.done("status")["acknowledged"] == []
    ConsumerRecords(source.connection).publish(source.name, "nats", "one", "0/1")
    assert [each["lsn"] for each in commands.done("status")["published"]] == ["0/1"]
    shown = commands.shown("status")
    assert re.search(r"warehouse +nothing yet", shown), shown
    assert re.search(r"broker +store +published", shown), shown
    code, said = runs[-1].end(signal.SIGTERM)
    assert code == 0, said
    code, found = commands("remove", "--consumer", "warehous")
    assert (code, found["problems"][0]["hint"]) == (1, "did you mean `warehouse`?")
    assert commands("remove", "--consumer", "warehouse", "--capture")[0] == 2
    removed = commands.done("remove", "--consumer", "warehouse")
    assert removed == {"capture": source.name, "table": None, "consumer": "warehouse", "removed": True}
    assert commands.done("status")["consumers"] == []


def test_a_table_that_is_added_says_what_is_to_be_deployed(
    source: Source, landing: Landing, project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its rows wait at the server until then; a datafile that was there before is not named."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY); CREATE TABLE {s}.two (id int PRIMARY KEY)")
    source.set_up()
    (project / "datasources").mkdir()
    (project / "datasources/two.datasource").write_text("SCHEMA >\n    `id` Int32\n")
    monkeypatch.setenv("PENSTOCK_POSTGRES_DSN", source.dsn)
    for table, written in (("one", True), ("two", False)):
        assert run(["--project", str(project), "cdc", "add", f"{source.schema}.{table}", "--name", source.name]) == 0
        told = f"wrote datasources/{table}.datasource: deploy it, since its rows wait until then"
        assert (told in capsys.readouterr().out) is written


def make_old(source: Source) -> None:
    """A capture as an earlier version left it."""
    source.run("CREATE TABLE {s}.one (id int PRIMARY KEY); INSERT INTO {s}.one VALUES (1)")
    source.set_up("one")
    source.run(
        "DROP TABLE penstock.known_columns, penstock.table_descriptions, penstock.lost_values, penstock.published"
    )
    source.run("ALTER TABLE penstock.captures DROP COLUMN setup_version")


def test_a_capture_that_an_earlier_version_has_set_up(source: Source, landing: Landing, commands: Commands) -> None:
    """Its producer does not begin, and says with which command it does."""
    make_old(source)
    code, found = commands("run")
    assert (code, found["code"]) == (1, "other-setup")
    assert f"`{source.name}` in the schema `penstock` of the database `postgres`" in found["error"]
    hint = str(found["problems"][0]["hint"])
    assert f"`penstock cdc setup --name {source.name}` adds it" in hint
    assert any("was set up by an earlier version" in each for each in commands.done("status")["alarms"])
    done = commands.done("setup")  # as the hint says: no table is named again
    assert done["tables"] == []
    assert commands.done("status")["alarms"] == ["no producer reads the slot: Postgres keeps all that is written since"]
    landing[0].columns["one"] = frozenset({"id"})
    with producing(source.dsn, source.name, PenstockLanding(*landing[1:])):
        source.run("INSERT INTO {s}.one VALUES (2)")
        source.wait_until_stored()
    assert [row["id"] for row in landing[0].landed("one")] in ([1, 2], [2, 1], [1, 2, 2], [2, 1, 2])


def test_what_is_wrong_is_said(source: Source, commands: Commands) -> None:
    cases = [
        (("status",), 1, "this Postgres has no capture"),
        (("setup",), 2, "no table is named"),
        (("setup", "--table", f"{source.schema}.isues"), 1, "these tables cannot be captured"),
        (("run", "--to", "penstok"), 2, "there is no destination"),
        (("remove",), 2, "either a table is named"),
        (("status", "--dsn", "postgresql://a:geheim@127.0.0.1:1/x"), 3, "Postgres cannot be reached"),
        (("status", "--dsn", "nothing"), 1, "the DSN of Postgres cannot be read"),
    ]
    for words, code, message in cases:
        ended, found = commands(*words)
        assert (ended, message in found["error"]) == (code, True), (words, found)


def test_tables_that_cannot_be_captured_are_named_together(source: Source) -> None:
    source.run("CREATE TABLE {s}.issues (id int); CREATE TABLE {s}.taken (id int PRIMARY KEY, cdc_version int)")
    names = ["issue", "issues", "taken"]
    choices = [table_choice(f"{source.schema}.{each}", ()) for each in names]
    with pytest.raises(InvalidProject) as refused:
        set_up(source.connection, source.name, choices)
    assert [each.code for each in refused.value.problems] == ["unknown-table", "missing-key", "reserved-column"]
    assert f"did you mean `{source.schema}.issues`?" == refused.value.problems[0].hint
    assert source.rows("SELECT 1 FROM pg_publication_tables WHERE schemaname = '{s}'") == []


def test_a_role_that_is_no_superuser(source: Source) -> None:
    """It needs REPLICATION, CREATE on the database, and to own the tables."""
    role = f"owner_{source.schema}"
    source.run(f"CREATE ROLE {role} LOGIN REPLICATION PASSWORD 'pw-of-owner'")
    source.run(f"GRANT CREATE ON DATABASE postgres TO {role}; GRANT ALL ON SCHEMA {{s}} TO {role}")
    source.run(f"CREATE TABLE {{s}}.t (id int PRIMARY KEY); ALTER TABLE {{s}}.t OWNER TO {role}")
    source.run(f"CREATE SCHEMA IF NOT EXISTS penstock; GRANT ALL ON SCHEMA penstock TO {role}")
    source.run(f"GRANT ALL ON ALL TABLES IN SCHEMA penstock TO {role}")
    source.run("DROP FUNCTION IF EXISTS penstock.emit_table CASCADE; DROP EVENT TRIGGER IF EXISTS penstock_drops")

    def notes(who: str) -> str:
        source.run(f"SET ROLE {who}")
        report = set_up(source.connection, source.name, [table_choice(f"{source.schema}.t", ())])
        source.run("RESET ROLE")
        return " ".join(report.notes)

    assert "no event trigger was made" in notes(role)
    assert "event trigger" not in notes("NONE")
    assert "event trigger" not in notes(role), "a superuser has made them"
    source.run("COMMENT ON FUNCTION penstock.emit_table IS NULL")  # as an earlier version left it
    assert "the event triggers are those of another version" in notes(role)
    assert "event trigger" not in notes("NONE")
