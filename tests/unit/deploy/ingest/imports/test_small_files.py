"""Small files are stored many at once, whole, in their order and once, whatever ends the server."""

from __future__ import annotations

import gzip
import os
import random
from pathlib import Path

import pytest

from penstock import crash_points
from penstock.deploy.ingest.event_ingestion import EventIngestion
from penstock.deploy.ingest.imports import file_import, file_places
from penstock.deploy.ingest.row_files import file_ingestion
from penstock.errors import InvalidRequest, Overloaded, Unavailable
from penstock.state.positions.imported_files import FoundFile
from unit.deploy.ingest.imports.test_file_imports import POINTS, Server, ended, ids, lines, on_disk
from waiting import wait_until


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_import, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(file_import, "LOOK_SHARE", 0)
    monkeypatch.setattr(file_places, "SETTLE_SECONDS", 0.0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "place"
    made.mkdir()
    return made


def fill(place: Path, count: int) -> None:
    for each in range(count):
        content = [lines(each), b"id,name\n%d,n\n" % each, gzip.compress(lines(each))][each % 3]
        (place / f"{each:04}{['.ndjson', '.csv', '.ndjson.gz'][each % 3]}").write_bytes(content)


def test_many_small_files_are_a_few_batches(tmp_path: Path, place: Path) -> None:
    fill(place, 120)
    odd = {"0050b.csv": b"id,name\nx,y\n50,n\n", "0070b.csv.gz": gzip.compress(lines(1))[:9], "0080b.ndjson": b"\n"}
    for name, content in odd.items():
        (place / name).write_bytes(content)
        beside = next(place.glob(f"{name[:4]}.*")).stat().st_mtime_ns
        os.utime(place / name, ns=(beside, beside))
    running = Server(tmp_path, on_disk(place), place)
    try:
        states = running.wait(**{"0119__ndjson__gz": "done", "0070b__csv__gz": "failed", "0080b__ndjson": "failed"})
        assert {name for name, each in states.items() if each.state != "done"} == {"0070b.csv.gz", "0080b.ndjson"}
        counted = {name: (each.successful_rows, each.quarantined_rows) for name, each in states.items()}
        assert counted.pop("0050b.csv") == (1, 1)
        assert {*counted.values()} == {(1, 0), (0, 0)}
        found = [int(each["id"]) for each in running.rows() if each["id"] != "x"]  # type: ignore[call-overload]
        assert found == [*range(51), 50, *range(51, 120)]
        batches = running.batches.read_after("visits", 0, 10**6, 10**9)
        assert [each.rows for each in batches] == [73, 10, 39]
    finally:
        running.close()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("seed", range(6))
def test_a_server_that_ends_anywhere_takes_every_file_once(
    tmp_path: Path, place: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash some files are gone, and some have other contents: what is stored of them counts, and is not
    stored again."""
    monkeypatch.setattr(file_ingestion, "PART_ROWS", 7)
    choice = random.Random(seed)
    fill(place, 30)
    (place / "0012b.ndjson").write_bytes(lines(*range(100, 120)))  # is not small, as parts are here
    for _ in range(3):
        crash_points.arm(choice.choice(POINTS), choice.randint(1, 14), lambda: None)
        try:
            running = Server(tmp_path, on_disk(place), place)
        except crash_points.Crashed:
            crash_points.disarm()
            continue
        wait_until(lambda: ended(running), 60, running.imports.statuses)  # noqa: B023
        crash_points.disarm()
        running.close()
    # One whose rows are stored and one whose rows may not be: the former is not taken again.
    for name in ("0003.ndjson", "0027.ndjson"):
        (place / name).write_bytes(lines(1000 + int(name[:4])))
    running = Server(tmp_path, on_disk(place), place)
    try:
        wait_until(lambda: ended(running) and "storing" not in str(running.states()), 60, running.imports.statuses)
        wait_until(
            lambda: {each.state for each in running.states().values()} <= {"done", "changed"}, 60, running.states
        )
        rows, states = ids(running.rows()), running.states()
        assert sorted(each % 1000 for each in rows) == sorted([*range(30), *range(100, 120)])
        assert sum(each.rows for each in states.values()) == 50
    finally:
        running.close()


def test_files_whose_answer_was_lost_are_not_stored_again(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place, 9)
    stored, lost = EventIngestion.append_file_rows, list[int]()

    def lose_answers(self: EventIngestion, name: str, part: list[bytes], span: object) -> object:
        receipt = stored(self, name, part, span)  # type: ignore[arg-type]
        if len(lost) < 2:
            lost.append(len(part))
            raise Unavailable("the store does not answer")
        return receipt

    monkeypatch.setattr(EventIngestion, "append_file_rows", lose_answers)
    running = Server(tmp_path, on_disk(place), place)
    try:
        running.wait(**{"0008__ndjson__gz": "done"})
        fill(place, 12)
        running.wait(**{"0011__ndjson__gz": "done"})
        assert ids(running.rows()) == [*range(12)]
        assert lost == [9, 3]
    finally:
        running.close()


def test_rows_that_are_not_taken_fail_their_own_file_only(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(place, 6)
    stored = EventIngestion.append_file_rows

    def refuse_some(self: EventIngestion, name: str, part: list[bytes], span: object) -> object:
        if any(b'"n4"' in each or b'"4"' in each for each in part):
            raise InvalidRequest("not this row")
        return stored(self, name, part, span)  # type: ignore[arg-type]

    monkeypatch.setattr(EventIngestion, "append_file_rows", refuse_some)
    running = Server(tmp_path, on_disk(place), place)
    try:
        states = running.wait(**{"0005__ndjson__gz": "done", "0004__csv": "failed"})
        assert {name for name, each in states.items() if each.state != "done"} == {"0004.csv"}
        assert ids(running.rows()) == [0, 1, 2, 3, 5]
        assert "not this row" in str(states["0004.csv"].error)
    finally:
        running.close()


def test_a_file_that_grows_when_it_is_unpacked_is_taken_by_itself(tmp_path: Path, place: Path) -> None:
    (place / "a.ndjson").write_bytes(lines(0))
    (place / "b.ndjson.gz").write_bytes(gzip.compress(lines(1).replace(b"n1", b"n" * 2_000_000)))
    (place / "c.ndjson").write_bytes(lines(2))
    assert (place / "b.ndjson.gz").stat().st_size < file_places.SMALL_BYTES
    running = Server(tmp_path, on_disk(place), place)
    try:
        running.wait(a__ndjson="done", b__ndjson__gz="done", c__ndjson="done")
        assert ids(running.rows()) == [0, 1, 2]
    finally:
        running.close()


def test_files_that_wait_of_another_kind_of_place_hold_up_no_other(tmp_path: Path, place: Path) -> None:
    """What is known of an object of a bucket says nothing of a file of a folder."""
    fill(place, 3)
    running = Server(tmp_path, on_disk(place, more="IMPORT_SCHEDULE @on-demand\n"), place)
    try:
        running.files.add("visits", [FoundFile("s3://shop/x.csv", '"etag"'), FoundFile("s3://shop/y.csv", "")])
        running.imports.look_now("visits")
        states = running.wait(**{"0002__ndjson__gz": "done", "x__csv": "failed", "y__csv": "failed"})
        assert "another place" in str(states["x.csv"].error)
        assert ids(running.rows()) == [0, 1, 2]
    finally:
        running.close()


@pytest.mark.parametrize("count", [1, 3])
def test_rows_that_waited_for_room_are_read_again_for_the_versions_that_run_then(
    tmp_path: Path, place: Path, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in range(count):
        (place / f"{each}.csv").write_bytes(b"id,name,extra\n%d,n,e\n" % each)
    wider = on_disk(place)
    wider["visits.datasource"] = wider["visits.datasource"].replace("name String\n", "name String,\n    extra String\n")
    stored, refused = EventIngestion.append_file_rows, list[int]()

    def promote_while_it_is_full(self: EventIngestion, name: str, part: list[bytes], span: object) -> object:
        if not refused:
            refused.append(len(part))
            running.show(wider)
            raise Overloaded("too much waits")
        return stored(self, name, part, span)  # type: ignore[arg-type]

    monkeypatch.setattr(EventIngestion, "append_file_rows", promote_while_it_is_full)
    running = Server(tmp_path, on_disk(place, more="IMPORT_SCHEDULE @on-demand\n"), place)
    try:
        running.imports.look_now("visits")
        running.wait(**{f"{count - 1}__csv": "done"})
        assert [(int(str(each["id"])), each["extra"]) for each in running.rows()] == [(i, "e") for i in range(count)]
        assert refused == [count]
    finally:
        running.close()
