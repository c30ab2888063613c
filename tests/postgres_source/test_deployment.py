"""The steps of a deployment, by commands, with a real Postgres, ClickHouse and an Iceberg catalog: the gate, `pre`, the
application's own migration, `at_lsn`, `post`, the delay before a deletion, and the way back.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyiceberg.catalog import load_catalog
from pyiceberg.schema import Schema
from pyiceberg.types import IntegerType, LongType, NestedField, StringType

from clickhouse_http import PASSWORD, serve
from clickhouse_session import ClickHouseSession
from penstock.cli.commands.postgres import applied_migrations
from penstock.cli.main import run
from penstock.crash_points import MIGRATION_POINTS
from penstock.postgres.application.source_journal import SourceJournal
from penstock.postgres.application.stop_records import StopRecords
from penstock.postgres.capture.records import DEFINITIONS, CaptureRecords
from penstock.postgres.catalog.source_connection import open_source
from postgres_server import PASSWORD as POSTGRES_PASSWORD
from postgres_server import Postgres

TABLE = "CREATE TABLE public.issues (id bigint PRIMARY KEY, title text, weight int NOT NULL, note text)"
CLICKHOUSE = """CREATE TABLE {d}.issues (id Int64, title Nullable(String), weight Int32, note Nullable(String))
ENGINE = ReplacingMergeTree ORDER BY id;
CREATE TABLE {d}.titles (id Int64, title Nullable(String)) ENGINE = ReplacingMergeTree ORDER BY id;
CREATE MATERIALIZED VIEW {d}.to_titles TO {d}.titles AS SELECT id, title FROM {d}.issues"""
ICEBERG = Schema(
    NestedField(1, "id", LongType()),
    NestedField(2, "title", StringType()),
    NestedField(3, "weight", IntegerType()),
    NestedField(4, "note", StringType()),
)


class Deployment:
    """A project with two stores, and the database of its application."""

    def __init__(self, source: Postgres, session: ClickHouseSession, folder: Path, capfd: pytest.CaptureFixture[str]):
        self.source, self.session, self.folder, self._capfd = source, session, folder, capfd
        name = source.schema()
        self.production, self.development = (f"{name}_{each}" for each in ("production", "development"))
        for database in (self.production, self.development):
            source.run(f"CREATE DATABASE {database}")
            self.run(database, TABLE)

    def dsn(self, database: str) -> str:
        return self.source.url().replace("/postgres", f"/{database}")

    def run(self, database: str, statement: str) -> None:
        opened = open_source(self.dsn(database))
        opened.cursor().execute(statement)
        opened.close()

    def penstock(self, *arguments: str) -> tuple[int, Any]:
        code = run(["--output", "json", "migrations", *arguments])
        out, _ = self._capfd.readouterr()
        return code, json.loads(out)

    def cdc(self, *arguments: str) -> tuple[int, Any]:
        code = run(["--output", "json", "cdc", *arguments])
        out, _ = self._capfd.readouterr()
        return code, json.loads(out)

    def develop(self, *statements: str) -> None:
        """Observe statements on the development database."""
        dsn, text = self.dsn(self.development), "; ".join(statements)
        script = f"import psycopg2; c = psycopg2.connect({dsn!r}); c.cursor().execute({text!r}); c.commit()"
        code, document = self.penstock("observe", "--dsn", dsn, "--", sys.executable, "-c", script)
        assert (code, len(document["files"])) == (0, 1), document

    def migrate(self, statement: str) -> None:
        """The application's own migration of production."""
        self.run(self.production, statement)

    def states(self) -> dict[tuple[str, str], str]:
        code, document = self.penstock("status")
        assert code == 0
        return {(each["store"], each["phase"]): each["state"] for each in document["states"]}

    def stages(self) -> list[str]:
        """Whether Postgres has each migration."""
        return [*self.penstock("status")[1]["migrations"].values()]

    def consume(self, lsn: str | None = None) -> None:
        """Let the one consumer be at an LSN; None: at the end of the log."""
        at = f"'{lsn}'" if lsn else "pg_current_wal_lsn()"
        self.migrate(
            f"""{DEFINITIONS} DELETE FROM penstock.captures;
            INSERT INTO penstock.captures (name, id, slot, publication) VALUES ('app', '1', 's', 'p');
            INSERT INTO penstock.captured_tables
              (capture, oid, schema_name, table_name, store, insert_only, files) VALUES
              ('app', 'public.issues'::regclass::oid, 'public', 'issues', 'issues', false, '');
            INSERT INTO penstock.acknowledged (capture, consumer, store, lsn)
              VALUES ('app', 'landing', 'issues', {at})"""
        )

    def clickhouse(self) -> list[str]:
        query = f"SELECT name FROM system.columns WHERE database = '{self.session.database}' AND table = 'issues'"
        return [str(each[0]) for each in self.session.rows(f"{query} ORDER BY position")]


@pytest.fixture
def deployment(
    source: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Iterator[Deployment]:
    session = ClickHouseSession()
    for statement in CLICKHOUSE.format(d=session.database).split(";"):
        session.run(statement)
    properties = {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"}
    catalog = load_catalog("lake", **properties)
    catalog.create_namespace("app")
    catalog.create_table("app.issues", ICEBERG)
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PENSTOCK_STORE_WAREHOUSE_PASSWORD", PASSWORD)
    made = Deployment(source, session, folder, capfd)
    monkeypatch.setenv("PENSTOCK_POSTGRES_DSN", made.dsn(made.production))
    with serve(session) as url:
        lake = "\n".join(f'catalog.{name} = "{value}"' for name, value in properties.items())
        (folder / "penstock.toml").write_text(
            "[postgres]\n"
            f'[stores.warehouse]\ntype = "clickhouse"\nurl = "{url}"\ndatabase = "{session.database}"\n'
            f'[stores.lake]\ntype = "iceberg"\nnamespace = "app"\n{lake}\n'
        )
        yield made


def test_a_column_goes_through_a_whole_deployment(deployment: Deployment) -> None:
    deployment.develop(
        "ALTER TABLE public.issues ADD severity int NOT NULL DEFAULT 5", "ALTER TABLE public.issues DROP note"
    )
    code, document = deployment.penstock("rehearse")
    assert (code, [each["store"] for each in document["stores"]], document["same"]) == (0, ["warehouse", "lake"], True)
    code, document = deployment.penstock("gate")
    assert (code, document["open"], len(document["missing"])) == (1, False, 2)
    assert deployment.penstock("gate", "--", "touch", "begun")[0] == 1
    assert not (deployment.folder / "begun").exists(), "Postgres's migration does not start"

    code, document = deployment.penstock("apply", "--phase", "pre", "--store", "warehouse")
    assert (code, [each["state"] for each in document["states"]]) == (0, ["confirmed"])
    assert deployment.penstock("gate")[0] == 1, "one store is not ready"
    code, document = deployment.penstock("apply", "--phase", "pre")
    assert (code, document["gate_open"]) == (0, True)
    assert deployment.clickhouse() == ["id", "title", "weight", "note", "severity"]
    assert run(["migrations", "gate", "--", "touch", "begun"]) == 0
    assert (deployment.folder / "begun").exists()

    code, document = deployment.penstock("apply", "--phase", "post")
    assert (code, {each["waits_for"] for each in document["states"]}) == (
        1,
        {"Postgres to have the migration", "phase at_lsn of the migration"},
    )
    deployment.migrate("ALTER TABLE public.issues ADD severity int NOT NULL DEFAULT 5, DROP note")
    deployment.consume("0/1")
    code, document = deployment.penstock("apply", "--phase", "at_lsn")
    assert code == 1
    assert "the consumer app/landing, which is at 0/1, to stop at the change" in document["states"][0]["waits_for"]
    code, document = deployment.penstock("apply", "--phase", "at_lsn", "--without-consumers")
    assert (code, "app/landing" in document["states"][0]["waits_for"]) == (1, True), "it is known"
    deployment.consume("FFFFFF/0")
    assert deployment.penstock("apply", "--phase", "at_lsn")[0] == 0
    deployment.consume("0/1")
    code, document = deployment.penstock("apply", "--phase", "post")
    assert (code, "to acknowledge" in document["states"][0]["waits_for"]) == (1, True)
    deployment.consume()
    code, document = deployment.penstock("apply", "--phase", "post", "--wait", "5")
    assert (code, {each["state"] for each in document["states"]}) == (0, {"hidden"})
    assert [each for each in deployment.clickhouse() if "note" in each] == [f"_dropped_note_{_only_id(deployment)}"]
    assert set(deployment.states().values()) == {"confirmed", "hidden"}

    toml = deployment.folder / "penstock.toml"
    toml.write_text(toml.read_text().replace("[postgres]\n", "[postgres]\ndelete_after_hours = 0\n"))
    assert deployment.penstock("apply", "--phase", "post")[0] == 0
    assert deployment.clickhouse() == ["id", "title", "weight", "severity"]
    assert set(deployment.states().values()) == {"confirmed"}
    assert deployment.penstock("check") == (0, {"ok": True, "problems": []})
    assert deployment.penstock("apply", "--phase", "post")[1]["states"] == [], "nothing is done twice"


def _only_id(deployment: Deployment) -> str:
    (path,) = (deployment.folder / "migrations").glob("*.json")
    return path.stem


def test_kill_9_at_every_step_of_a_swap(deployment: Deployment) -> None:
    """Each run is killed at the first point that it reaches; the rows have each other's values once in the end."""
    deployment.session.run(f"INSERT INTO {deployment.session.database}.issues VALUES (1, 'title', 0, 'note')")
    swap = [f"ALTER TABLE public.issues RENAME {each}" for each in ("title TO x", "note TO title", "x TO note")]
    deployment.develop(*swap)
    assert deployment.penstock("apply", "--phase", "pre")[0] == 0
    deployment.migrate("; ".join(swap))
    options = ("apply", "--phase", "at_lsn", "--without-consumers", "--store", "warehouse")
    codes = []
    for point in itertools.cycle(MIGRATION_POINTS):
        environment = os.environ | {"PENSTOCK_FAULT": f"{point}:1"}
        command = [sys.executable, "-m", "penstock.cli", "migrations", *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        codes.append(done.returncode)
        if done.returncode != -signal.SIGKILL:
            break
    assert (codes[-1], codes.count(-signal.SIGKILL) > 6) == (0, True), (codes, done.stderr)
    query = f"SELECT title, note FROM {deployment.session.database}.issues"
    assert [tuple(row) for row in deployment.session.rows(query)] == [("note", "title")]
    assert deployment.states()["warehouse", "at_lsn"] == "confirmed"
    assert deployment.penstock(*options)[1]["states"] == []


def test_a_consumer_may_stand_before_the_first_row_that_it_receives(deployment: Deployment) -> None:
    """It has acknowledged nothing then, so that nothing but the stop says that there is one."""
    swap = [f"ALTER TABLE public.issues RENAME {each}" for each in ("title TO x", "note TO title", "x TO note")]
    deployment.develop(*swap)
    deployment.consume()
    assert deployment.penstock("apply", "--phase", "pre", "--store", "warehouse")[0] == 0
    deployment.migrate("; ".join(swap))
    deployment.migrate("DELETE FROM penstock.acknowledged")
    options = ("apply", "--phase", "at_lsn", "--store", "warehouse")
    code, document = deployment.penstock(*options)
    assert code == 1
    waits = "the capture app, which has delivered nothing yet (`penstock cdc run --name app`)"
    assert document["states"][0]["waits_for"] == waits
    opened = open_source(deployment.dsn(deployment.production))
    (stop,) = StopRecords(opened).of_stores(["warehouse"])
    StopRecords(opened).reach(stop, "other/landing", "0/1")
    assert deployment.penstock(*options)[0] == 1, "a consumer of another capture stands there"
    StopRecords(opened).reach(stop, "app/landing", "0/1")
    assert deployment.penstock(*options)[0] == 0
    opened.close()


def test_a_rollback_before_post_is_one_command(deployment: Deployment) -> None:
    deployment.develop(
        "ALTER TABLE public.issues ADD severity int", "ALTER TABLE public.issues ALTER weight TYPE bigint"
    )
    assert deployment.penstock("apply", "--phase", "pre")[0] == 0
    code, document = deployment.penstock("rollback", _only_id(deployment), "--store", "lake")
    assert "cannot be taken back" in document["error"], "Iceberg's types never become narrower"
    assert code == 1
    code, document = deployment.penstock("rollback", _only_id(deployment), "--store", "warehouse")
    assert (code, document["taken_back"]) == (0, [{"store": "warehouse", "phase": "pre"}])
    assert deployment.clickhouse() == ["id", "title", "weight", "note"]
    deployment.migrate("ALTER TABLE public.issues ADD severity int, ALTER weight TYPE bigint")
    code, document = deployment.penstock("rollback", _only_id(deployment))
    assert (code, document["code"]) == (1, "conflict")


def test_a_consumer_that_lags_behind_a_stop_that_is_rolled_back(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows from behind the change may be before it, in a broker: nothing tells them apart once the stop is gone, so
    the table is read again behind them."""
    monkeypatch.setattr(applied_migrations, "PASSING_SECONDS", 0.0)
    deployment.develop(
        *(f"ALTER TABLE public.issues RENAME {each}" for each in ("title TO x", "note TO title", "x TO note"))
    )
    for lsn, is_read in (("FFFFFF/0", True), ("0/1", False)):
        deployment.consume(lsn)
        deployment.migrate("UPDATE penstock.captured_tables SET read_done = true")
        assert deployment.penstock("apply", "--phase", "pre")[0] == 0
        assert deployment.penstock("rollback", _only_id(deployment))[0] == 0
        opened = open_source(deployment.dsn(deployment.production))
        assert [each.read.done for each in CaptureRecords(opened, "app").tables()] == [is_read]
        opened.close()


def test_a_stop_of_a_migration_whose_file_is_gone(deployment: Deployment) -> None:
    """It is taken back unless rows from behind it may be there, or may come."""
    swap = [f"ALTER TABLE public.issues RENAME {each}" for each in ("title TO x", "note TO title", "x TO note")]
    deployment.develop(*swap)
    id = _only_id(deployment)
    path = deployment.folder / f"migrations/{id}.json"
    text = path.read_text()

    def announce() -> None:
        path.write_text(text)
        assert deployment.penstock("apply", "--phase", "pre")[0] == 0
        path.unlink()

    announce()
    assert deployment.penstock("rollback", id) == (0, {"migration": id, "taken_back": []})
    assert deployment.penstock("rollback", id)[1]["code"] == "not-found"
    announce()
    deployment.migrate("; ".join(swap))
    code, document = deployment.penstock("rollback", id)
    assert (code, "Postgres has a table as it is behind it" in document["error"]) == (1, True)
    deployment.migrate("; ".join(swap))
    deployment.migrate("UPDATE penstock.migration_stops SET reached = '{app/landing}'")
    code, document = deployment.penstock("rollback", id)
    assert (code, "consumers stand at it" in document["error"]) == (1, True)


def test_undeclared_changes_and_missing_columns_are_told(deployment: Deployment) -> None:
    deployment.develop("ALTER TABLE public.issues ADD severity int")
    assert deployment.penstock("check") == (0, {"ok": True, "problems": []}), "a pending migration is no difference"
    deployment.migrate("ALTER TABLE public.issues ADD severity int")
    code, document = deployment.penstock("check")
    assert (code, [each["code"] for each in document["problems"]]) == (1, ["schema-difference"] * 2)
    deployment.migrate("ALTER TABLE public.issues ADD surprise int")
    code, document = deployment.penstock("check", "--store", "lake")
    assert [each["code"] for each in document["problems"]] == ["undeclared-change", *["schema-difference"] * 2]


def test_a_store_that_was_made_with_the_present_schema(deployment: Deployment) -> None:
    deployment.develop("ALTER TABLE public.issues ADD severity int")
    deployment.migrate("ALTER TABLE public.issues ADD severity int")
    code, document = deployment.penstock("apply", "--phase", "pre", "--by-hand", "--store", "warehouse")
    assert (code, "does not have the schema" in document["error"]) == (1, True)
    deployment.session.run(f"ALTER TABLE {deployment.session.database}.issues ADD COLUMN severity Nullable(Int32)")
    code, document = deployment.penstock("apply", "--phase", "pre", "--by-hand", "--store", "warehouse")
    assert (code, [each["state"] for each in document["states"]]) == (0, ["confirmed"])


def test_the_status_of_a_capture_names_targets_that_count_twice(deployment: Deployment) -> None:
    database = deployment.session.database
    deployment.session.run(f"ALTER TABLE {database}.issues ADD COLUMN cdc_position Array(UInt64)")
    deployment.session.run(
        f"CREATE TABLE {database}.sums (id Int64, weight Int64) ENGINE = SummingMergeTree ORDER BY id"
    )
    query = f"SELECT id, weight FROM {database}.issues"
    deployment.session.run(f"CREATE MATERIALIZED VIEW {database}.to_sums TO {database}.sums AS {query}")
    deployment.consume()
    assert deployment.cdc("status", "--name", "app")[1]["notes"] == [], "no consumer is this store"
    deployment.migrate("UPDATE penstock.acknowledged SET consumer = 'warehouse'")
    code, document = deployment.cdc("status", "--name", "app")
    assert (code, len(document["notes"])) == (0, 1)
    assert "sums, the target of the view to_sums, does not remember blocks" in document["notes"][0]


def test_one_process_at_a_time(deployment: Deployment) -> None:
    deployment.develop("ALTER TABLE public.issues ADD severity int")
    other = open_source(deployment.dsn(deployment.production))
    SourceJournal(other).take_lock()
    code, document = deployment.penstock("apply", "--phase", "pre")
    assert (code, document["error"]) == (1, "another process is applying migrations")
    assert deployment.penstock("status")[0] == 0
    other.close()


def test_stores_that_do_not_answer_or_refuse(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment.develop("ALTER TABLE public.issues ADD severity int")
    monkeypatch.setenv("PENSTOCK_STORE_WAREHOUSE_PASSWORD", "not the password")
    code, document = deployment.penstock("apply", "--phase", "pre", "--store", "warehouse")
    assert (code, "Authentication failed" in document["error"]) == (1, True)
    assert "not the password" not in json.dumps(document)
    assert POSTGRES_PASSWORD not in json.dumps(document, ensure_ascii=False)
    toml = deployment.folder / "penstock.toml"
    toml.write_text(toml.read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1#"))
    assert deployment.penstock("apply", "--phase", "pre", "--store", "warehouse")[0] == 3
    assert deployment.penstock("apply", "--phase", "pre", "--store", "ware")[1]["code"] == "not-found"


def test_a_store_that_comes_back_while_a_phase_waits(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment.develop("ALTER TABLE public.issues ADD severity int")
    toml, told = deployment.folder / "penstock.toml", list[str]()
    with socket.socket() as free, ExitStack() as stack:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
        toml.write_text(re.sub(r"http://127.0.0.1:\d+", f"http://127.0.0.1:{port}", toml.read_text()))
        free.close()

        def begin(note: str) -> None:
            told.append(note)
            if len(told) == 1:
                stack.enter_context(serve(deployment.session, port))

        monkeypatch.setattr(applied_migrations, "print_note", begin)
        options = ("apply", "--phase", "pre", "--store", "warehouse", "--wait", "60")
        code, document = deployment.penstock(*options)
        assert (code, [each["state"] for each in document["states"]]) == (0, ["confirmed"])
    assert len(told) == 1
    assert told[0].endswith("trying again")


@pytest.mark.parametrize(
    ("changes", "phase"),
    [
        (("ADD fresh text", "DROP fresh"), "post"),
        (("DROP severity", "ADD severity int"), "post"),
        (("RENAME severity TO grade", "RENAME grade TO severity"), "at_lsn"),
    ],
)
def test_pending_changes_that_lead_back_are_not_taken_for_done(
    deployment: Deployment, changes: tuple[str, str], phase: str
) -> None:
    """The schema is the same before them and behind them; what `apply` has seen of the table before tells."""
    first, *changing = [f"ALTER TABLE public.issues {each}" for each in ("ADD severity int", *changes)]
    deployment.develop(first)
    assert deployment.penstock("apply", "--phase", "pre")[0] == 0
    deployment.migrate(first)
    assert deployment.penstock("apply", "--phase", "pre")[0] == 0
    for each in changing:
        deployment.develop(each)
    assert deployment.stages() == ["after", "before", "before"]
    deployment.penstock("apply", "--phase", "pre")
    before = deployment.clickhouse()
    deployment.consume()
    code, document = deployment.penstock("apply", "--phase", phase)
    assert (code, deployment.clickhouse()) == (1, before)
    assert "Postgres to have the migration" in str(document)
    for at, each in enumerate(changing):
        deployment.migrate(each)
        assert deployment.stages() == ["after", "after", ["before", "after"][at]]
        deployment.penstock("apply", "--phase", "pre")
    assert deployment.stages() == ["after", "after", "after"]


def test_a_table_that_no_store_takes_holds_nothing_up(deployment: Deployment) -> None:
    """Frameworks have tables of their own, and an application has more of them than its stores."""
    for database in (deployment.development, deployment.production):
        deployment.run(database, "CREATE TABLE public.users (id int PRIMARY KEY, name varchar(30))")
    deployment.run(deployment.development, "CREATE TABLE public.later (id int PRIMARY KEY, name text)")
    deployment.develop("ALTER TABLE public.users ALTER name TYPE varchar(150)")
    deployment.develop("ALTER TABLE public.later RENAME name TO title")
    deployment.develop("ALTER TABLE public.issues RENAME note TO remark")
    code, document = deployment.penstock("check")
    assert (code, {each["level"] for each in document["problems"]}) == (0, {"warning"}), "one is not there yet"
    code, document = deployment.penstock("apply", "--phase", "pre")
    assert (code, document["gate_open"]) == (0, True)
    deployment.migrate("ALTER TABLE public.users ALTER name TYPE varchar(150)")
    deployment.migrate("CREATE TABLE public.later (id int PRIMARY KEY, title text)")
    deployment.migrate("ALTER TABLE public.issues RENAME note TO remark")
    for phase in ("at_lsn", "post"):
        code, document = deployment.penstock("apply", "--phase", phase, "--without-consumers")
        assert (code, {each["state"] for each in document["states"]}) in ((0, {"confirmed"}), (0, set()))
    assert [each[0] for each in deployment.states()] == ["warehouse", "lake"]
    assert "remark" in deployment.clickhouse()


def test_a_table_that_a_capture_has_is_wanted_in_the_store(deployment: Deployment) -> None:
    table = "CREATE TABLE public.users (id int PRIMARY KEY, name varchar(30))"
    deployment.run(deployment.development, table)
    deployment.migrate(table)
    deployment.consume()
    deployment.migrate("UPDATE penstock.captured_tables SET oid = 'public.users'::regclass::oid, table_name = 'users'")
    deployment.develop("ALTER TABLE public.users ALTER name TYPE varchar(150)")
    code, document = deployment.penstock("check")
    messages = [each["message"] for each in document["problems"] if each["level"] == "error"]
    assert (code, [each.split(":")[0] for each in messages]) == (1, ["warehouse", "lake"])
    code, document = deployment.penstock("apply", "--phase", "pre")
    assert (code, document["code"]) == (1, "cannot-translate")
