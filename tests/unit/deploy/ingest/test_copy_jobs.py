"""Copies whose target or query makes trouble: they wait aside, can be cancelled, end, and hold no other one up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import pytest

from penstock.deploy.ingest import copy_jobs as module
from penstock.deploy.ingest.copy_jobs import CopyContext, CopyJobs
from penstock.deploy.ingest.event_ingestion import Receipt
from penstock.deploy.queries.reader import SpooledRows
from penstock.errors import Conflict, Overloaded
from penstock.lake.read.query_execution import OutOfMemory
from penstock.state.database import open_database
from penstock.state.jobs import Job, Jobs
from penstock.state.operations import OperationsLog
from penstock.template.render_frame import Parameter
from waiting import wait_until


class Tables:
    """Reads two rows for every copy and appends them to a list by stream, each key once."""

    def __init__(self) -> None:
        self.rows: dict[str, list[bytes]] = {}
        self.tries: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.without_memory: dict[str, int] = {}
        self.full: set[str] = set()
        self._keys: set[str] = set()

    def target(self, name: str, parameters: Mapping[str, Parameter]) -> str:
        return name

    def copy(
        self, name: str, parameters: Mapping[str, Parameter], file: BinaryIO, stops: Callable[[], bool]
    ) -> SpooledRows:
        file.write(b"{}\n{}\n")
        if self.without_memory.get(name, 0) > 0:
            self.without_memory[name] -= 1
            raise OutOfMemory("the query needs more memory than Spark has")
        return SpooledRows(1, name, 2)

    def append_lines(self, stream: str, lines: Sequence[bytes], key: str | None) -> int:
        self.tries[stream] += 1
        if stream in self.broken:
            raise ZeroDivisionError("an error that nobody thought of")
        if stream in self.full:
            raise Overloaded("its tables lag")
        if key not in self._keys:
            self._keys.add(str(key))
            self.rows.setdefault(stream, []).extend(lines)
        return 1

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        return receipt


class Copies:
    """Copy jobs over a real state store."""

    def __init__(self, home: Path):
        self.database = open_database(f"sqlite:///{home / 'state.db'}")
        self.jobs, self.tables = Jobs(self.database), Tables()
        log = OperationsLog(self.database)
        self.running = CopyJobs(CopyContext(self.jobs, log, self.tables, self.tables, home / "jobs", 0, os.getpid()))
        self.running.start()

    def has(self, job: Job, state: str) -> bool:
        return self.jobs.get(job.id).state == state

    def close(self) -> None:
        self.running.stop()
        self.database.close()


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Copies]:
    monkeypatch.setattr(module, "PAUSE", 0.02)
    made = Copies(tmp_path)
    yield made
    made.close()


def test_a_copy_that_keeps_failing_holds_no_other_one_up_and_ends(copies: Copies) -> None:
    copies.tables.broken = {"bad"}
    bad, good = copies.running.run("bad", {}), copies.running.run("good", {})
    wait_until(lambda: copies.has(good, "done"))
    assert not copies.has(bad, "done")
    wait_until(lambda: copies.has(bad, "failed"))
    assert copies.tables.tries["bad"] == module.MOST_ATTEMPTS
    assert "nobody thought of" in str(copies.jobs.get(bad.id).error)
    assert copies.tables.rows == {"good": [b"{}", b"{}"]}


def test_a_copy_into_a_full_inbox_waits_aside_for_as_long_as_it_takes(copies: Copies) -> None:
    copies.tables.full = {"full"}
    waiting = copies.running.run("full", {})
    wait_until(lambda: copies.tables.tries["full"] > 2)
    other = copies.running.run("other", {})
    wait_until(lambda: copies.has(other, "done"))
    assert "its tables lag" in str(copies.jobs.get(waiting.id).error)
    copies.tables.full = set()
    wait_until(lambda: copies.has(waiting, "done"))
    assert copies.tables.rows["full"] == [b"{}", b"{}"]


def test_a_copy_that_waits_can_be_cancelled(copies: Copies) -> None:
    copies.tables.full = {"full"}
    waiting = copies.running.run("full", {})
    wait_until(lambda: copies.has(waiting, "appending"))
    assert copies.running.cancel(waiting.id).state == "cancelled"
    copies.tables.full = set()
    other = copies.running.run("other", {})
    wait_until(lambda: copies.has(other, "done"))
    assert copies.has(waiting, "cancelled")
    assert "full" not in copies.tables.rows
    with pytest.raises(Conflict):
        copies.running.cancel(waiting.id)


def test_a_copy_that_recovers_is_appended_once(copies: Copies) -> None:
    copies.tables.broken = {"bad"}
    job = copies.running.run("bad", {})
    wait_until(lambda: copies.tables.tries["bad"] > 1)
    copies.tables.broken = set()
    wait_until(lambda: copies.has(job, "done"))
    assert copies.tables.rows == {"bad": [b"{}", b"{}"]}


def test_a_copy_that_was_cancelled_for_the_memory_that_others_took_is_run_again(copies: Copies) -> None:
    copies.tables.without_memory = {"unlucky": module.MEMORY_ATTEMPTS - 1, "greedy": 100}
    unlucky, greedy = copies.running.run("unlucky", {}), copies.running.run("greedy", {})
    wait_until(lambda: copies.has(unlucky, "done"))
    wait_until(lambda: copies.has(greedy, "failed"))
    assert copies.tables.without_memory["greedy"] == 100 - module.MEMORY_ATTEMPTS
    assert "more memory than Spark has" in str(copies.jobs.get(greedy.id).error)
    assert copies.tables.rows == {"unlucky": [b"{}", b"{}"]}
