"""The steps: capture five tables into two stores, then three releases of the application, one after the other.

In: a `TrackerStage`. Out: nothing; what fails raises. Invariant: the application writes from first to last.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import httpx
import psycopg2

from penstock.demo.client import DemoClient
from penstock.demo.issue_tracker.application import RELEASES
from penstock.demo.issue_tracker.stage import TABLES, TrackerStage
from penstock.demo.scenario import DemoFailed
from penstock.demo.server import Server

WAIT = "180"
BATCH = 500
PATIENCE = 120.0
WAREHOUSE_VIEW = (
    "CREATE TABLE tracker.issue_titles (id Int64, title String, state String, "
    "cdc_version UInt64, cdc_is_deleted UInt8) ENGINE = ReplacingMergeTree(cdc_version, cdc_is_deleted) ORDER BY id "
    "SETTINGS non_replicated_deduplication_window = 1000",
    "CREATE MATERIALIZED VIEW tracker.issue_titles_mv TO tracker.issue_titles AS "
    "SELECT id, title, state, cdc_version, cdc_is_deleted FROM tracker.issues",
)


def set_up(stage: TrackerStage) -> None:
    """Everything that is there before the first change."""
    tables = [word for name in TABLES for word in ("--table", name)]
    statement(stage, "CREATE DATABASE tracker")
    stage.penstock("cdc", "setup", *tables)
    stage.penstock("cdc", "setup", "--store", "warehouse", *tables)
    for each in WAREHOUSE_VIEW:
        statement(stage, each)
    if stage.server is not None:
        stage.penstock("deploy")


def capture(stage: TrackerStage) -> None:
    """Rows begin to flow: Postgres → NATS → the stores."""
    stage.carry("producer", "run", "--to", stage.broker)
    for each in stage.stores:
        stage.carry(each, "consume", "--from", stage.broker, "--to", each)
    wait_until_stored(stage)
    stage.say("the rows that were there are in every store, and changes follow")


def first_release(stage: TrackerStage) -> None:
    change = stage.folder / "changes" / "1_severity_and_wider_weights.sql"
    stage.say("release 2: a column, a wider type, an enum label, and the column that notes.body moves to")
    _release(stage, change)
    stage.application.release = RELEASES[1]
    _after(stage)
    stage.say("kill -9 of the producer and of the warehouse's consumer; notes.body_next is filled in batches")
    for name in ("producer", "warehouse"):
        stage.kill(name)
    _fill(stage)
    stage.carry("producer", "run", "--to", stage.broker)
    stage.carry("warehouse", "consume", "--from", stage.broker, "--to", "warehouse")


def second_release(stage: TrackerStage) -> None:
    stage.say("the swap: notes.body and notes.body_next exchange their names")
    _release(stage, stage.folder / "changes" / "2_body_is_markdown.sql")
    _after(stage)


def third_release(stage: TrackerStage) -> None:
    stage.say("release 3: two columns that nobody writes any more are dropped")
    stage.application.release = RELEASES[2]
    _release(stage, stage.folder / "changes" / "3_what_is_left_over.sql")
    _after(stage)


def finish(stage: TrackerStage) -> None:
    stage.application.stop()
    stage.say(f"the application ends after {stage.application.committed:,} transactions")
    if stage.application.failures:
        raise DemoFailed(f"{len(stage.application.failures)} transactions failed: {stage.application.failures[0]}")
    wait_until_stored(stage)
    if stage.server is not None:
        _wait_until_landed(stage.server)
    stage.say("every change is in every store: each table is compared with Postgres")


Step: TypeAlias = Callable[[TrackerStage], None]
STEPS: tuple[Step, ...] = (set_up, capture, first_release, second_release, third_release, finish)


def _release(stage: TrackerStage, change: Path) -> None:
    """Observe a change on the development database, prepare the stores, pass the gate, and change production."""
    stage.penstock("migrations", "observe", "--dsn", stage.dsn("development"), "--", *stage.psql("development", change))
    stage.penstock("migrations", "apply", "--phase", "pre")
    stage.penstock("migrations", "gate", "--wait", WAIT, "--", *stage.psql("production", change))
    stage.check_carriers()


def _after(stage: TrackerStage) -> None:
    stage.penstock("migrations", "apply", "--phase", "at_lsn", "--wait", WAIT)
    stage.penstock("migrations", "apply", "--phase", "post", "--wait", WAIT)
    stage.check_carriers()


def _fill(stage: TrackerStage) -> None:
    """Fill the new column in the rows of before, a batch a transaction."""
    connection = psycopg2.connect(stage.dsn())
    connection.autocommit = True
    with connection.cursor() as cursor:
        rows = BATCH
        while rows == BATCH:
            some = f"SELECT id FROM notes WHERE body_next IS NULL LIMIT {BATCH}"
            cursor.execute(f"UPDATE notes SET body_next = 'md: ' || body WHERE id IN ({some})")
            rows = cursor.rowcount
    connection.close()


def wait_until_stored(stage: TrackerStage) -> None:
    """Return when all stores have all that is written now. Raises DemoFailed."""
    connection = psycopg2.connect(stage.dsn())
    connection.autocommit = True
    behind = """SELECT t.store, c.consumer FROM penstock.captured_tables t
      CROSS JOIN unnest(%s) AS c (consumer)
      LEFT JOIN penstock.acknowledged a ON a.capture = t.capture AND a.store = t.store AND a.consumer = c.consumer
      WHERE NOT t.read_done OR a.lsn IS NULL OR a.lsn < %s::pg_lsn"""
    end = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_wal_lsn()::text")
        (lsn,) = cursor.fetchone() or ("0/0",)
        while True:
            cursor.execute(behind, ([*stage.stores.values()], lsn))
            rows = cursor.fetchall()
            if not rows:
                break
            stage.check_carriers()
            if time.monotonic() > end:
                raise DemoFailed(f"after {PATIENCE:.0f} s these are not at {lsn}: {rows}\n{_status(stage)}")
            time.sleep(0.2)
    connection.close()


def kill_server(stage: TrackerStage) -> None:
    """Penstock's server dies while rows come, and is started again; its consumer waits for it."""
    if stage.server is not None:
        stage.say("kill -9 of Penstock's server")
        stage.server.kill()
        time.sleep(2)
        stage.server.start()
        stage.server.wait_until_ready()
        stage.say("Penstock is there again")


def _wait_until_landed(server: Server) -> None:
    """Return when every row that Penstock has accepted is in its tables. Raises DemoFailed."""
    client, end = DemoClient(server.url, server.token), time.monotonic() + PATIENCE
    while late := client.late_flows():
        if time.monotonic() > end:
            raise DemoFailed(f"after {PATIENCE:.0f} s these are behind: {late}")
        time.sleep(0.2)
    client.close()


def _status(stage: TrackerStage) -> str:
    try:
        return stage.penstock("cdc", "status")
    except (DemoFailed, subprocess.TimeoutExpired) as failure:
        return str(failure)


def statement(stage: TrackerStage, text: str) -> httpx.Response:
    """Send a statement to ClickHouse. Raises DemoFailed."""
    answer = httpx.post(f"http://127.0.0.1:{stage.clickhouse.port}", content=text.encode(), timeout=60)
    if answer.status_code != httpx.codes.OK:
        raise DemoFailed(f"ClickHouse refused `{text}`: {answer.text[:500]}")
    return answer
