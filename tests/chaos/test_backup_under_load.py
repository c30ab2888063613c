"""Backups while a producer posts at full speed; each is restored elsewhere and compared with what was acknowledged.

A restored project has every row that was acknowledged before its backup began, and of the later ones those up to some
body: the producer posts one after the other, so the rows of a restored project are the first ones, each once, in every
table of every version.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chaos.killable_server import Producer, Server, served
from chaos.project_versions import V1, V2, row
from chaos.results import record
from chaos.test_kills import settled

RESTORE = (sys.executable, "-m", "penstock.serve.server.storage_program", "restore")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    yield from served(tmp_path / "saved", V1)


def back_up(server: Server, folder: Path) -> None:
    with server.client() as client:
        answer = client.post("/v0/backups", params={"destination": str(folder)}, timeout=300)
    assert answer.status_code == 201, answer.text


def check_restored(backup: Path, folder: Path, before: int, version: str) -> int:
    """Restore a backup, start a server on it, and compare every table. Returns how many rows it has."""
    subprocess.run([*RESTORE, "--source", str(backup), "--project", str(folder)], check=True)
    server = Server(folder)
    server.start()
    try:
        server.ready()
        server.until_caught_up()
        newest = server.sql("SELECT max(id) AS id FROM events")[0]["id"]
        posted = int(str(newest)) + 1
        assert posted >= before
        settled(server, posted, version)
        producer = Producer(server, "events", row)
        producer.acknowledged = posted  # it goes on where the restored rows end
        producer.start()
        producer.more()
        settled(server, producer.finish(), version)
    finally:
        server.stop()
    return posted


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backups", [1, pytest.param(5, marks=pytest.mark.full)])
def test_a_backup_under_load_restores_the_rows_acknowledged_before_it(
    server: Server, tmp_path: Path, backups: int
) -> None:
    server.until(server.deploy(V1, promote=True), "live")
    producer = Producer(server, "events", row)
    producer.start()
    producer.more()
    server.deploy(V2, promote=False)
    made: list[tuple[Path, int]] = []
    for number in range(backups):
        producer.more(500)
        made.append((tmp_path / f"backup {number}", producer.acknowledged))
        back_up(server, made[-1][0])
    producer.more(500)
    posted = producer.finish()
    settled(server, posted, "live")
    server.stop()
    for number, (backup, before) in enumerate(made):
        rows = check_restored(backup, tmp_path / f"restored {number}", before, "live")
        record("backups under load", str(number), {"acknowledged before": before, "restored": rows, "posted": posted})
