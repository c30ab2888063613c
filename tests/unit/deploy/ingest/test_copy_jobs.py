"""Copies whose target or query makes trouble: they wait aside, can be cancelled, end, and hold no other one up."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import BinaryIO

import pytest

from penstock import crash_points
from penstock.deploy.ingest import copy_jobs as module
from penstock.deploy.ingest.copy_jobs import CopyContext, CopyJobs
from penstock.deploy.ingest.event_ingestion import Receipt
from penstock.deploy.queries.reader import SpooledRows
from penstock.errors import Conflict, NotFound, Overloaded
from penstock.lake.read.query_execution import OutOfMemory
from penstock.model.pipe import CopyMode
from penstock.state.batch_keys import BodyKey
from penstock.state.database import open_database
from penstock.state.jobs import Job, Jobs
from penstock.state.logs.operations import OperationsLog
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
        self.quarantined: dict[str, dict[int, bytes]] = {}
        self.mode: CopyMode = "append"
        self.moments: list[Parameter] = []
        self._keys: set[str] = set()

    def target(self, name: str, parameters: Mapping[str, Parameter]) -> str:
        return name

    def copy(
        self, name: str, parameters: Mapping[str, Parameter], file: BinaryIO, stops: Callable[[], bool]
    ) -> SpooledRows:
        file.write(b"{}\n{}\n")
        self.moments.append(parameters["job_timestamp"])
        if self.without_memory.get(name, 0) > 0:
            self.without_memory[name] -= 1
            raise OutOfMemory("the query needs more memory than Spark has")
        return SpooledRows(1, name, 2, self.mode)

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

    def replace_lines(self, stream: str, lines: Iterable[bytes], key: BodyKey) -> int:
        if stream in self.full:
            raise Overloaded("its tables lag")
        if key.key not in self._keys:
            self._keys.add(key.key)
            self.rows[stream] = list(lines)
        return 1

    def check(self, name: str) -> None:
        if name not in self.quarantined:
            raise NotFound(f"there is no data source `{name}`")

    def spool(self, name: str, file: BinaryIO, stops: Callable[[], bool]) -> SpooledRows:
        for seq, raw in self.quarantined[name].items():
            file.write(b"%d %s\n" % (seq, raw))
        return SpooledRows(1, name, len(self.quarantined[name]))

    def remove(self, stream: str, path: Path) -> None:
        for line in path.read_bytes().splitlines():
            self.quarantined[stream].pop(int(line.partition(b" ")[0]), None)

    def wait(self, receipt: Receipt, timeout: float) -> Receipt:
        return receipt


class Copies:
    """Copy jobs over a real state store."""

    def __init__(self, home: Path):
        self.database = open_database(f"sqlite:///{home / 'state.db'}")
        self.jobs, self.tables = Jobs(self.database), Tables()
        self._log, self._home = OperationsLog(self.database), home
        self.running = self.open()
        self.running.start()

    def open(self) -> CopyJobs:
        """Another server's, over the same tables."""
        tables, folder = self.tables, self._home / "jobs"
        folder.mkdir(exist_ok=True)
        return CopyJobs(CopyContext(self.jobs, self._log, tables, tables, folder, 0, os.getpid(), tables))

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
    wait_until(lambda: copies.jobs.get(waiting.id).error is not None)
    error = copies.jobs.get(waiting.id).error or {}
    assert (error["error"], int(str(error["attempts"])) >= 2) == ("its tables lag", True)
    copies.tables.full = set()
    wait_until(lambda: copies.has(waiting, "done"))
    assert copies.tables.rows["full"] == [b"{}", b"{}"]


def test_a_copy_waits_behind_an_earlier_one_into_the_same_data_source(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the older rows would replace the newer ones."""
    copies.running.stop()
    monkeypatch.setattr(module, "PAUSE", 3600.0)
    monkeypatch.setattr(module, "LONGEST_WAIT", 3600.0)
    copies.tables.mode, copies.tables.full = "replace", {"full"}
    server = copies.open()
    first = server.run("full", {})
    server.run_once()
    copies.tables.full = set()
    second, other = server.run("full", {}), server.run("other", {})
    server.run_once()
    assert [copies.jobs.get(each.id).state for each in (first, second, other)] == ["appending", "waiting", "done"]
    server._held.clear()
    server.run_once()
    assert copies.has(first, "done")
    assert copies.has(second, "done")


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


def test_a_copy_in_mode_replace_stores_its_rows_at_once_whatever_the_mode_is_by_then(copies: Copies) -> None:
    copies.tables.rows = {"prices": [b"old"]}
    copies.tables.mode = "replace"
    job = copies.running.run("prices", {})
    wait_until(lambda: copies.has(job, "done"))
    assert copies.tables.rows == {"prices": [b"{}", b"{}"]}
    assert copies.jobs.get(job.id).mode == "replace"


CRASHES = (
    "copy.spooled",
    "copy.appended",
    "copy.settled",
    *(f"state.{when}:{at}" for when in ("before", "after") for at in (1, 2, 3)),
)


@pytest.mark.parametrize("point", CRASHES)
@pytest.mark.parametrize("kind", ["replay", "replace"])
def test_whenever_the_server_dies_the_next_one_completes_the_job_once(copies: Copies, kind: str, point: str) -> None:
    copies.running.stop()
    copies.tables.rows = {"prices": [b"old"]}
    copies.tables.quarantined = {"prices": {7: b"seven", 9: b"nine"}}
    copies.tables.mode = "replace"
    first = copies.open()
    job = first.replay("prices") if kind == "replay" else first.run("prices", {})
    name, _, at = point.partition(":")
    crash_points.arm(name, int(at or 1), lambda: None)
    with suppress(crash_points.Crashed):
        first.run_once()
    died = crash_points.disarm()
    assert died or (kind, name) == ("replace", "copy.settled")
    copies.open().run_once()
    assert copies.has(job, "done")
    if kind == "replay":
        assert copies.tables.rows == {"prices": [b"old", b"seven", b"nine"]}
        assert copies.tables.quarantined == {"prices": {}}
    else:
        assert copies.tables.rows == {"prices": [b"{}", b"{}"]}


def test_one_replay_of_a_quarantine_at_a_time(copies: Copies) -> None:
    copies.tables.quarantined = {"full": {7: b"seven"}}
    copies.tables.full = {"full"}
    job = copies.running.replay("full")
    with pytest.raises(Conflict, match="under way"):
        copies.running.replay("full")
    wait_until(lambda: copies.has(job, "appending"))
    with pytest.raises(Conflict):
        copies.running.cancel(job.id)
    with pytest.raises(NotFound):
        copies.running.replay("unknown")
    copies.tables.full = set()
    wait_until(lambda: copies.has(job, "done"))
    copies.running.replay("full")


def test_a_replay_that_has_begun_to_append_is_never_given_up(copies: Copies) -> None:
    copies.tables.quarantined = {"bad": {7: b"seven"}}
    copies.tables.broken = {"bad"}
    job = copies.running.replay("bad")
    wait_until(lambda: copies.tables.tries["bad"] > module.MOST_ATTEMPTS)
    copies.tables.broken = set()
    wait_until(lambda: copies.has(job, "done"))
    assert copies.tables.quarantined == {"bad": {}}


def test_a_range_has_one_job_however_often_it_is_asked_for(copies: Copies) -> None:
    first = copies.running.run_range("a", {"day": "1"})
    assert first.kind == "range"
    wait_until(lambda: copies.has(first, "done"))
    assert copies.running.run_range("a", {"day": "1"}).id == first.id
    assert copies.open().run_range("a", {"day": "1"}).id == first.id
    second = copies.running.run_range("a", {"day": "2"})
    wait_until(lambda: copies.has(second, "done"))
    assert copies.tables.rows["a"] == [b"{}"] * 4


def test_a_range_that_appended_nothing_is_run_again(copies: Copies) -> None:
    copies.tables.without_memory = {"a": module.MEMORY_ATTEMPTS}
    failed = copies.running.run_range("a", {"day": "1"})
    wait_until(lambda: copies.has(failed, "failed"))
    again = copies.running.run_range("a", {"day": "1"})
    assert again.id != failed.id
    wait_until(lambda: copies.has(again, "done"))
    assert copies.tables.rows["a"] == [b"{}"] * 2


@pytest.mark.parametrize("mode", ["append", "replace"])
def test_a_range_that_may_have_appended_a_part_is_repeated_only_where_it_replaces(
    copies: Copies, mode: CopyMode
) -> None:
    copies.tables.mode = mode
    copies.tables.full = {"a"} if mode == "append" else set()
    job = copies.running.run_range("a", {"day": "1"})
    if mode == "append":
        wait_until(lambda: copies.has(job, "appending"))
        copies.running.cancel(job.id)
        with pytest.raises(Conflict, match="a part may be there"):
            copies.running.run_range("a", {"day": "1"})
    else:
        wait_until(lambda: copies.has(job, "done"))
        copies.jobs.move(job.id, ("done",), "failed")
        assert copies.running.run_range("a", {"day": "1"}).id != job.id


def test_a_run_is_given_its_time_unless_its_caller_gives_one(copies: Copies) -> None:
    jobs = [copies.running.run("a", {}), copies.running.run("a", {"job_timestamp": "2020-01-01 00:00:00"})]
    due = copies.jobs.create("copy", "a", "a", {}, datetime(2024, 5, 1, 3, tzinfo=timezone.utc))
    wait_until(lambda: all(copies.has(each, "done") for each in (*jobs, due)))
    created = jobs[0].created_at.strftime("%Y-%m-%d %H:%M:%S")
    assert copies.tables.moments == [created, "2020-01-01 00:00:00", "2024-05-01 03:00:00"]
