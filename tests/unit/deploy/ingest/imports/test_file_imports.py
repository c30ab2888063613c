"""Files of folders and buckets are taken whole and once, whatever ends the server, and what cannot be read is said."""

from __future__ import annotations

import errno
import gzip
import io
import os
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace

import boto3
import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer

from penstock import crash_points
from penstock.deploy.ingest.event_ingestion import EventIngestion
from penstock.deploy.ingest.imports import file_import, file_places
from penstock.deploy.ingest.imports.file_import import ImportParts
from penstock.deploy.ingest.imports.file_imports import FileImports
from penstock.deploy.ingest.imports.file_places import PlacedFile
from penstock.deploy.ingest.imports.file_rows import FileReader
from penstock.deploy.ingest.row_files import file_ingestion
from penstock.deploy.runtime.project_cache import ProjectCache
from penstock.deploy.runtime.running_deployments import RunningDeployments
from penstock.errors import Conflict, NotFound
from penstock.flow.inbox.inbox import Inbox
from penstock.flow.inbox.segments import read_segment
from penstock.model.manifest import Landing
from penstock.model.settings import CopySettings, ImportSettings, Settings
from penstock.parse.project_loader import load_files
from penstock.plan.planner import PlanOptions, make_plan
from penstock.state.batches import BatchLog
from penstock.state.database import open_database
from penstock.state.positions.imported_files import ImportedFile, ImportedFiles
from waiting import wait_until

SCHEMA = "SCHEMA >\n    id UInt64,\n    name String\n"
OWN = CopySettings(private_hosts=("127.0.0.1", "localhost"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are looked for often, also after a look that took long, count at once, and are stored in short parts."""
    monkeypatch.setattr(file_import, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(file_import, "LOOK_SHARE", 0)
    monkeypatch.setattr(file_places, "SETTLE_SECONDS", 0.0)
    monkeypatch.setattr(file_ingestion, "PART_ROWS", 3)


class Server:
    """The imports of a server in a folder, which another run of it finds again."""

    def __init__(self, folder: Path, files: dict[str, str], *roots: Path):
        self.home = folder
        self.database = open_database(f"sqlite:///{folder}/state.db")
        self.batches = BatchLog(self.database)
        self.inbox = Inbox(folder / "inbox", self.batches, lambda batch: None)
        self.board = SimpleNamespace()
        self.show(files)
        ingestion = EventIngestion(self.board, SimpleNamespace(), self.inbox, self.batches)  # type: ignore[arg-type]
        self.files = ImportedFiles(self.database)
        parts = ImportParts(ingestion, self.files, self.batches.positions, folder / "inbox" / ".imports", 1, 10**9)
        settings = Settings(copies=OWN, imports=ImportSettings(tuple(map(str, roots))))
        self.imports = FileImports(
            self.board,
            ProjectCache(),
            parts,
            settings,
            {"KEY": "k", "SECRET": "s"},  # type: ignore[arg-type]
        )
        self.imports.run_once()

    def show(self, files: dict[str, str], id: int = 1) -> None:
        """Make a version of these files live."""
        plan = make_plan(None, load_files(files).project, PlanOptions("d1"))
        assert plan.manifest is not None
        live = SimpleNamespace(id=id, state="live", files=files, manifest=plan.manifest)
        self.board.running, self.board.live = RunningDeployments((live,)), lambda: live

    def rows(self) -> list[dict[str, object]]:
        """All rows that were stored, in their order."""
        return [
            orjson.loads(line)
            for each in self.batches.read_after("visits", 0, 10**6, 10**9)
            for line in read_segment(self.home / "inbox" / each.segment, each.bytes, each.digest)
        ]

    def states(self) -> dict[str, ImportedFile]:
        return {each.address.rpartition("/")[2]: each for each in self.files.latest("visits", 1000)}

    def wait(self, **wanted: str) -> dict[str, ImportedFile]:
        """The files by name, once these have these states."""

        def holds() -> bool:
            found = self.states()
            return all(name in found and found[name].state == state for name, state in named.items())

        named = {name.replace("__", "."): state for name, state in wanted.items()}
        wait_until(holds, 60, lambda: (self.states(), self.imports.statuses()))
        return self.states()

    def close(self) -> None:
        self.imports._stop.set()
        for each in self.imports._imports.values():
            each.end()
            each.join()
        self.inbox.close()
        self.database.close()


def on_disk(folder: Path, pattern: str = "*", more: str = "IMPORT_SCHEDULE @auto\n") -> dict[str, str]:
    source = f"IMPORT_CONNECTION_NAME disk\nIMPORT_BUCKET_URI {folder.as_uri()}/{pattern}\n{more}"
    return {"disk.connection": "TYPE file\n", "visits.datasource": SCHEMA + source}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    made = tmp_path / "place"
    made.mkdir()
    return made


def lines(*ids: int) -> bytes:
    return b"".join(b'{"id": %d, "name": "n%d"}\n' % (each, each) for each in ids)


def ids(found: list[dict[str, object]]) -> list[int]:
    return [int(str(each["id"])) for each in found]


def test_files_of_every_format_are_taken_once(tmp_path: Path, place: Path) -> None:
    (place / "a.ndjson").write_bytes(lines(*range(10)))
    (place / "b.csv.gz").write_bytes(gzip.compress(b'id,name\n10,"a\nb"\n11,c\n12\n'))
    pq.write_table(pa.table({"name": ["x", "y"], "id": [13, 14]}), place / "c.parquet")
    (place / "_SUCCESS").write_text("x")
    (place / "empty.csv").write_text("")
    running = Server(tmp_path, on_disk(place), place)
    try:
        done = running.wait(a__ndjson="done", b__csv__gz="done", c__parquet="done")
        assert len(done) == 3, "what is hidden or empty is no file"
        assert [(each.successful_rows, each.quarantined_rows) for each in done.values()] == [(2, 0), (2, 1), (10, 0)]
        (place / "d.jsonl").write_bytes(lines(15))
        running.wait(d__jsonl="done")
        found = running.rows()
        assert sorted(ids([each for each in found if isinstance(each, dict)])) == [*range(12), 13, 14, 15]
        assert "12" in [each for each in found if isinstance(each, str)]
        assert not (tmp_path / "inbox" / ".imports" / "visits").exists(), "nothing is left of what was unpacked"
    finally:
        running.close()
    again = Server(tmp_path, on_disk(place), place)
    try:
        wait_until(lambda: again.imports.statuses()[0].looks > 1, 60)
        assert again.rows() == found
    finally:
        again.close()


def test_what_cannot_be_read_holds_up_no_other_and_is_taken_once_it_is_mended(tmp_path: Path, place: Path) -> None:
    bad = {
        "a.csv.gz": gzip.compress(b"id,name\n" + b"1,abcdefgh\n" * 1000)[:-9],
        "b.parquet": b"PAR1 half",
        "c.csv": b"nothing,is,known\n1,2,3\n",
        "d.json": b'[{"id": 1}]',
        "e.ndjson": b"\x00\x01binary\n\xff",
        "f.xyz": b"1",
    }
    for name, content in bad.items():
        (place / name).write_bytes(content)
    (place / "z.ndjson").write_bytes(lines(1))
    running = Server(tmp_path, on_disk(place), place)
    try:
        states = running.wait(z__ndjson="done", f__xyz="failed", a__csv__gz="failed")
        assert {name: each.state for name, each in states.items() if name in bad} == dict.fromkeys(bad, "failed")
        for name, said in {
            "a.csv.gz": "it cannot be unpacked as gzip: Truncated compressed stream",
            "b.parquet": "it is cut off",
            "c.csv": "has 3 values, and `visits` has 2 columns",
            "d.json": "one object a line",
            "e.ndjson": "no JSON objects",
            "f.xyz": "IMPORT_FORMAT",
        }.items():
            assert said in str(states[name].error), states[name]
        assert ids(running.rows()) == [1]
        (place / "d.json").write_bytes(lines(2, 3))
        running.wait(d__json="done")
        assert ids(running.rows()) == [1, 2, 3]
        assert running.imports.try_again("visits") == 5
        running.wait(f__xyz="failed", b__parquet="failed")
    finally:
        running.close()


def test_a_file_that_is_replaced_after_it_was_taken_is_not_taken_again(tmp_path: Path, place: Path) -> None:
    (place / "a.ndjson").write_bytes(lines(1, 2))
    running = Server(tmp_path, on_disk(place), place)
    try:
        running.wait(a__ndjson="done")
        (place / "a.ndjson").write_bytes(lines(1, 2, 3))
        changed = running.wait(a__ndjson="changed")
        assert "another name" in str(changed["a.ndjson"].error)
        assert ids(running.rows()) == [1, 2]
    finally:
        running.close()


def test_a_file_that_is_moved_within_its_place_is_not_taken_twice(tmp_path: Path, place: Path) -> None:
    """By a rotation of logs, or into an archive; also one of two names that are there at once."""
    (place / "done").mkdir()
    (place / "a.ndjson").write_bytes(lines(1, 2))
    (place / "b.ndjson").write_bytes(lines(3, 4))
    os.utime(place / "b.ndjson", ns=(0, 10**9))
    (place / "c.ndjson").symlink_to(place / "b.ndjson")
    running = Server(tmp_path, on_disk(place, "**"), place)
    try:
        running.wait(a__ndjson="done", b__ndjson="done", c__ndjson="moved")
        (place / "a.ndjson").rename(place / "done" / "a.1.ndjson")
        (place / "d.ndjson").write_bytes(lines(5))
        states = running.wait(**{"a.1__ndjson": "moved", "d__ndjson": "done"})
        assert "place/a.ndjson under another name" in str(states["a.1.ndjson"].error)
        assert sorted(ids(running.rows())) == [1, 2, 3, 4, 5]
        (place / "done" / "a.1.ndjson").touch()  # somebody says that it is another file
        running.wait(**{"a.1__ndjson": "done"})
        assert sorted(ids(running.rows())) == [1, 1, 2, 2, 3, 4, 5]
    finally:
        running.close()


def test_what_was_put_into_a_file_later_is_taken_under_another_name(tmp_path: Path, place: Path) -> None:
    """Also under a name that was one of a file that was taken, as when logs are rotated."""
    (place / "a.ndjson").write_bytes(lines(1, 2))
    running = Server(tmp_path, on_disk(place), place)
    try:
        running.wait(a__ndjson="done")
        (place / "a.ndjson").rename(place / "a.1.ndjson")
        running.wait(**{"a.1__ndjson": "moved"})
        (place / "a.ndjson").write_bytes(lines(3))
        running.wait(a__ndjson="changed")
        (place / "a.1.ndjson").rename(place / "a.2.ndjson")
        (place / "a.ndjson").rename(place / "a.1.ndjson")
        running.wait(**{"a.1__ndjson": "done", "a.2__ndjson": "moved"})
        assert ids(running.rows()) == [1, 2, 3]
        (place / "a.1.ndjson").replace(place / "a.2.ndjson")
        wait_until(lambda: "a.1.ndjson under" in str(running.states()["a.2.ndjson"].error), 60, running.states)
        looks = running.imports.statuses()[0].looks
        wait_until(lambda: running.imports.statuses()[0].looks > looks + 1, 60)
        assert ids(running.rows()) == [1, 2, 3]
    finally:
        running.close()


def test_a_name_that_cannot_be_read_keeps_no_other_name_of_its_file_from_being_taken(
    tmp_path: Path, place: Path
) -> None:
    """Such as a link without an ending, beside the file itself: of those that are found at once one name is first."""
    (place / "data.ndjson").write_bytes(lines(1))
    for name in ("current", "latest"):
        (place / name).symlink_to(place / "data.ndjson")
    running = Server(tmp_path, on_disk(place), place)
    try:
        states = running.wait(current="failed", data__ndjson="done", latest="moved")
        assert "does not say how it is written" in str(states["current"].error)
        assert ids(running.rows()) == [1]
        running.imports.try_again("visits")  # its rows are stored by now
        running.wait(current="moved", data__ndjson="done", latest="moved")
        assert ids(running.rows()) == [1]
    finally:
        running.close()


def test_a_file_that_is_moved_between_two_folders_while_they_are_looked_into_is_taken(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is found in both, and is gone under its first name."""
    for name in ("a", "b"):
        (place / name).mkdir()
    (place / "a" / "old.ndjson").write_bytes(lines(1))
    placed, found = file_places.FolderPlace.files, list[list[PlacedFile]]()

    def move_meanwhile(self: file_places.FolderPlace) -> list[PlacedFile]:
        before = placed(self)
        if not found:
            (place / "a" / "old.ndjson").rename(place / "b" / "new.ndjson")
            before += placed(self)
        found.append(before)
        return before

    monkeypatch.setattr(file_places.FolderPlace, "files", move_meanwhile)
    running = Server(tmp_path, on_disk(place, "**"), place)
    try:
        states = running.wait(old__ndjson="failed", new__ndjson="done")
        assert "it is gone" in str(states["old.ndjson"].error)
        assert len(found[0]) == 2
        assert ids(running.rows()) == [1]
    finally:
        running.close()


def test_a_file_that_is_moved_while_it_is_read_is_not_taken_anew(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "a.ndjson").write_bytes(lines(*range(10)))
    stored = EventIngestion.append_file_rows

    def move_in_the_middle(self: EventIngestion, name: str, part: list[bytes], span: object) -> object:
        receipt = stored(self, name, part, span)  # type: ignore[arg-type]
        if span.upto[1] == 6:  # type: ignore[attr-defined]
            (place / "a.ndjson").rename(place / "b.ndjson")
        return receipt

    monkeypatch.setattr(EventIngestion, "append_file_rows", move_in_the_middle)
    running = Server(tmp_path, on_disk(place), place)
    try:
        states = running.wait(a__ndjson="failed", b__ndjson="moved")
        assert (states["a.ndjson"].rows, states["b.ndjson"].rows) == (6, 0)
        (place / "b.ndjson").rename(place / "a.ndjson")
        running.wait(a__ndjson="done")  # back under its name, it goes on
        assert ids(running.rows()) == [*range(10)]
    finally:
        running.close()


POINTS = (*crash_points.IMPORT_POINTS, "inbox.written", "inbox.logged", "state.before", "state.after")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.parametrize("form", ["ndjson", "csv", "parquet"])
def test_a_server_that_ends_anywhere_takes_every_row_once(tmp_path: Path, place: Path, form: str) -> None:
    """A run for each of many places at which a crash ends the server, which then starts again, and may crash again."""
    want = [*range(23)]
    content = {
        "ndjson": lines(*want),
        "csv": b"id,name\n" + b"".join(b"%d,n%d\n" % (each, each) for each in want),
        "parquet": parquet_bytes(want),
    }[form]
    (place / f"a.{form}").write_bytes(content)
    (place / f"b.{form}").write_bytes(content.replace(b"n7", b"m7") if form != "parquet" else parquet_bytes(want))
    choice = random.Random(form)
    for attempt in range(2):
        home = tmp_path / f"home{attempt}"
        home.mkdir()
        for _ in range(2):
            crash_points.arm(choice.choice(POINTS), choice.randint(1, 14), lambda: None)
            try:
                running = Server(home, on_disk(place), place)
            except crash_points.Crashed:
                crash_points.disarm()
                continue
            wait_until(lambda: ended(running), 60, running.imports.statuses)  # noqa: B023
            crash_points.disarm()
            running.close()
        running = Server(home, on_disk(place), place)
        try:
            states = running.wait(**{f"a__{form}": "done", f"b__{form}": "done"})
            assert ids(running.rows()) == want + want
            assert [each.rows for each in states.values()] == [len(want)] * 2
        finally:
            running.close()


def parquet_bytes(ids: list[int]) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"id": ids, "name": [f"n{each}" for each in ids]}), file)
    return file.getvalue()


def ended(running: Server) -> bool:
    """Whether the imports have crashed, or have nothing more to do."""
    each = next(iter(running.imports._imports.values()))
    return each.has_ended or (each.status.state == "idle" and each.status.looks > 0)


def test_a_version_that_reads_other_columns_goes_on_with_them(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "a.csv").write_bytes(b"id,name,extra\n" + b"".join(b"%d,n,e\n" % each for each in range(60)))
    running = Server(tmp_path, on_disk(place, more="IMPORT_SCHEDULE @on-demand\n"), place)
    wider = on_disk(place, more="IMPORT_SCHEDULE @on-demand\n")
    wider["visits.datasource"] = wider["visits.datasource"].replace("name String\n", "name String,\n    extra String\n")
    stored = EventIngestion.append_file_rows

    def promote_in_the_middle(self: EventIngestion, name: str, part: list[bytes], span: object) -> object:
        if span.upto[1] == 30:  # type: ignore[attr-defined]
            running.show(wider)
        return stored(self, name, part, span)  # type: ignore[arg-type]

    monkeypatch.setattr(EventIngestion, "append_file_rows", promote_in_the_middle)
    try:
        running.imports.look_now("visits")
        running.wait(a__csv="done")
        found = running.rows()
        assert ids(found) == [*range(60)]
        assert [each.get("extra") for each in found] == [None] * 30 + ["e"] * 30
    finally:
        running.close()


def test_a_column_that_only_a_staging_version_has_is_kept_for_it(tmp_path: Path, place: Path) -> None:
    pq.write_table(pa.table({"id": [1], "name": ["n"], "extra": ["e"]}), place / "a.parquet")
    (place / "b.csv").write_bytes(b"id,name,extra\n2,n,e\n")
    running = Server(tmp_path, on_disk(place, more="IMPORT_SCHEDULE @on-demand\n"), place)
    [live] = running.board.running.deployments
    wider = on_disk(place)
    wider["visits.datasource"] = wider["visits.datasource"].replace("name String\n", "name String,\n    extra String\n")
    running.show(wider, 2)
    staging = running.board.running.deployments[0]
    staging.state = "ready"
    running.board.running, running.board.live = RunningDeployments((staging, live)), lambda: live
    try:
        running.imports.look_now("visits")
        running.wait(a__parquet="done", b__csv="done")
        assert [each["extra"] for each in running.rows()] == ["e", "e"]
    finally:
        running.close()


def test_records_of_other_lengths_keep_their_place_in_the_file(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrow reads blocks ahead of the rows; where a crash lets the file be read again, each row is in its place."""
    monkeypatch.setattr("penstock.deploy.ingest.row_files.csv_rows.BLOCK_BYTES", 64)
    monkeypatch.setattr(file_ingestion, "PART_ROWS", 50)
    records = [b"%d,n%s" % (at, b",x" if at % 7 == 3 else b"") for at in range(300)]
    (place / "a.csv").write_bytes(b"id,name\n" + b"\n".join(records) + b"\n")
    wanted = [at if at % 7 != 3 else f"{at},n,x" for at in range(300)]
    for at in (1, 3):
        home = tmp_path / str(at)
        home.mkdir()
        crash_points.arm("import.part_stored", at, lambda: None)
        running = Server(home, on_disk(place), place)
        wait_until(lambda: ended(running), 60, running.imports.statuses)  # noqa: B023
        crash_points.disarm()
        running.close()
        running = Server(home, on_disk(place), place)
        try:
            states = running.wait(a__csv="done")
            assert [each["id"] if isinstance(each, dict) else each for each in running.rows()] == [
                str(each) if isinstance(each, int) else each for each in wanted
            ]
            assert (states["a.csv"].successful_rows, states["a.csv"].quarantined_rows) == (257, 43)
        finally:
            running.close()


def test_rows_stored_right_before_a_crash_count_although_the_file_is_gone_afterwards(
    tmp_path: Path, place: Path
) -> None:
    (place / "a.ndjson").write_bytes(lines(*range(10)))
    crash_points.arm("import.part_stored", 1, lambda: None)
    running = Server(tmp_path, on_disk(place), place)
    wait_until(lambda: ended(running), 60, running.imports.statuses)
    crash_points.disarm()
    running.close()
    (place / "a.ndjson").rename(place / "_a")
    running = Server(tmp_path, on_disk(place), place)
    try:
        assert running.wait(a__ndjson="failed")["a.ndjson"].rows == 3
        (place / "_a").rename(place / "a.ndjson")
        running.wait(a__ndjson="done")  # what is the same file goes on by itself
        assert ids(running.rows()) == [*range(10)]
    finally:
        running.close()


def test_a_folder_that_is_away_is_waited_for_with_all_its_files(tmp_path: Path, place: Path) -> None:
    """Between the look and the reading, and in the middle of a file: nothing is taken for gone or replaced."""
    for name in ("a", "b"):
        (place / f"{name}.ndjson").write_bytes(lines(*range(10)))
    crash_points.arm("import.part_stored", 1, lambda: None)
    running = Server(tmp_path, on_disk(place), place)
    wait_until(lambda: ended(running), 60, running.imports.statuses)
    crash_points.disarm()
    running.close()
    place.rename(tmp_path / "away")
    running = Server(tmp_path, on_disk(place, more="IMPORT_SCHEDULE @on-demand\n"), place)
    try:
        wait_until(lambda: running.imports.statuses()[0].state == "waiting", 60, running.imports.statuses)
        assert "there is no folder" in str(running.imports.statuses()[0].reason)
        assert {each.state for each in running.states().values()} == {"reading", "waiting"}
        (tmp_path / "away").rename(place)
        running.wait(a__ndjson="done", b__ndjson="done")
        assert ids(running.rows()) == [*range(10)] * 2
    finally:
        running.close()


def test_a_file_that_was_away_is_taken_when_it_is_back(tmp_path: Path, place: Path) -> None:
    """A disk that is not mounted leaves an empty folder; the file that comes back is the very same."""
    (place / "a.ndjson").write_bytes(lines(1))
    found = next(iter(file_places.FolderPlace(f"{place.as_uri()}/*", (str(place),)).files())).found
    running = Server(tmp_path, on_disk(place, more="IMPORT_SCHEDULE @on-demand\n"), place)
    try:
        (place / "a.ndjson").rename(tmp_path / "elsewhere")
        running.files.add("visits", [found])
        running.imports._imports["visits"]._wake.set()
        assert running.wait(a__ndjson="failed")["a.ndjson"].error == "it is gone"
        (tmp_path / "elsewhere").rename(place / "a.ndjson")
        running.imports.look_now("visits")
        running.wait(a__ndjson="done")
        assert ids(running.rows()) == [1]
    finally:
        running.close()


def test_a_disk_of_the_network_that_is_away_is_waited_for(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b"):
        (place / f"{name}.ndjson").write_bytes(lines(*range(4)))
    read, calls = FileReader.rows, list[int]()

    def stale(self: FileReader, landings: Sequence[Landing]) -> Iterator[bytes]:
        calls.append(1)
        if len(calls) == 2:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return read(self, landings)

    monkeypatch.setattr(FileReader, "rows", stale)
    running = Server(tmp_path, on_disk(place), place)
    try:
        done = running.wait(a__ndjson="done", b__ndjson="done")
        assert [each.error for each in done.values()] == [None, None]
        assert ids(running.rows()) == [*range(4)] * 2
    finally:
        running.close()


def test_folders_that_hold_no_file_of_the_pattern_are_not_looked_into(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as `lost+found`, which only the superuser may read, or an archive."""
    for name in ("lost+found", "2026/a", "2025/a", "2026/b/c"):
        (place / name).mkdir(parents=True)
        (place / name / "x.ndjson").write_bytes(lines(1))
    seen: list[str] = []
    scan = os.scandir

    def noted(path: str) -> object:
        seen.append(os.path.relpath(path, place))
        return scan(path)

    monkeypatch.setattr(os, "scandir", noted)
    wanted = {
        "*.ndjson": (["."], []),
        "2026/*/*.ndjson": (["2026", "2026/a", "2026/b"], ["2026/a"]),
        "20{25,26}/a/*": ([".", "2025", "2025/a", "2026", "2026/a"], ["2025/a", "2026/a"]),
        "2026/**": (["2026", "2026/a", "2026/b", "2026/b/c"], ["2026/a", "2026/b/c"]),
        "{2026/a,2025/a}/*": (
            [".", "2025", "2025/a", "2026", "2026/a", "2026/b", "2026/b/c", "lost+found"],
            ["2025/a", "2026/a"],
        ),
    }
    for pattern, (folders, found) in wanted.items():
        seen.clear()
        files = file_places.FolderPlace(f"{place.as_uri()}/{pattern}", (str(place),)).files()
        assert sorted(seen) == folders, pattern
        names = sorted(os.path.relpath(each.found.address.removeprefix("file://"), place) for each in files)
        assert names == [f"{each}/x.ndjson" for each in found], pattern


def test_a_file_that_cannot_be_opened_or_has_odd_values_holds_up_no_other(tmp_path: Path, place: Path) -> None:
    long = "あ" * 80
    (place / f"{long}.ndjson.gz").write_bytes(gzip.compress(lines(1)))
    pq.write_table(pa.table({"id": [2], "name": pa.array([10**8], pa.int32()).cast(pa.date32())}), place / "b.parquet")
    (place / "part-1?#%20 .ndjson").write_bytes(lines(3))
    (place / "dir.csv").mkdir()
    os.mkfifo(place / "pipe.csv")
    (place / "gone.ndjson").symlink_to(place / "nowhere")
    running = Server(tmp_path, on_disk(place), place)
    try:
        wait_until(lambda: [each.state for each in running.states().values()] == ["done"] * 3, 60, running.states)
        assert sorted(ids(running.rows())) == [1, 2, 3]
    finally:
        running.close()


def test_a_file_is_mended_and_its_header_is_looked_at_again(tmp_path: Path, place: Path) -> None:
    (place / "a.csv").write_bytes(b"1,a,x\n")
    (place / "b.csv").write_bytes(b"id,id\n1,2\n")
    os.close(os.open(os.fsencode(place) + b"/\xff.csv", os.O_CREAT | os.O_WRONLY))
    running = Server(tmp_path, on_disk(place), place)
    try:
        assert "column `id` twice" in str(running.wait(a__csv="failed", b__csv="failed")["b.csv"].error)
        (place / "a.csv").write_bytes(b"id,name\n1,a\n2,b\n")
        assert running.wait(a__csv="done")["a.csv"].successful_rows == 2
        assert ids(running.rows()) == [1, 2]
    finally:
        running.close()


def test_another_place_is_looked_at_anew_and_keeps_what_was_taken_apart(tmp_path: Path, place: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    once = "IMPORT_SCHEDULE @once\n"
    (place / "a.ndjson").write_bytes(lines(1))
    (other / "b.ndjson").write_bytes(lines(2))
    running = Server(tmp_path, on_disk(place, "*", once), place, other)
    try:
        running.wait(a__ndjson="done")
        running.imports.look_now("visits")
        running.show(on_disk(other, "*", once), 2)
        running.imports.run_once()
        running.wait(b__ndjson="done")
        [status] = running.imports.statuses()
        assert status.address.endswith("/other/*")
        wait_until(lambda: running.imports.statuses()[0].served == 1, 60)
    finally:
        running.close()


def test_what_is_asked_for_waits_until_nobody_writes_and_counts_after_it(
    tmp_path: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_places, "SETTLE_SECONDS", 1.0)
    running = Server(tmp_path, on_disk(place, "a-?.ndjson", "IMPORT_SCHEDULE @on-demand\n"), place)
    try:
        for number in (1, 2):
            (place / f"a-{number}.ndjson").write_bytes(lines(number))
            request = running.imports.look_now("visits")
            wait_until(lambda: running.imports.statuses()[0].served >= request, 60)  # noqa: B023
            assert f"a-{number}.ndjson" in running.states()
    finally:
        running.close()


def test_only_folders_of_the_settings_are_read(tmp_path: Path, place: Path) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "a.ndjson").write_bytes(lines(1))
    refused = Server(tmp_path, on_disk(secret), place)
    try:
        [status] = refused.imports.statuses()
        assert "may not take files" in str(status.reason)
        assert "whoever runs the server may name it in `[imports] folders`" in str(status.reason)
        with pytest.raises(Conflict, match="cannot be taken"):
            refused.imports.look_now("visits")
        with pytest.raises(NotFound, match="takes no files"):
            refused.imports.look_now("visitors")
    finally:
        refused.close()
    (place / "b.ndjson").symlink_to(secret / "a.ndjson")
    (place / "c.ndjson").write_bytes(lines(2))
    home = tmp_path / "home"
    home.mkdir()
    running = Server(home, on_disk(place), place)
    try:
        running.wait(c__ndjson="done")
        assert [*running.states()] == ["c.ndjson"]
    finally:
        running.close()


def test_files_are_looked_for_as_the_schedule_says(tmp_path: Path, place: Path) -> None:
    old, new = place / "old.ndjson", place / "new.ndjson"
    old.write_bytes(lines(1))
    new.write_bytes(lines(2))
    os.utime(old, (0, 1_000_000))
    more = "IMPORT_SCHEDULE @once\nIMPORT_FROM_TIMESTAMP 2001-01-01\n"
    running = Server(tmp_path, on_disk(place, "*.ndjson", more), place)
    try:
        running.wait(new__ndjson="done")
        (place / "later.ndjson").write_bytes(lines(3))
        time_of_look = running.imports.statuses()[0].looks
        running.imports.run_once()
        assert running.imports.statuses()[0].looks == time_of_look
        assert [*running.states()] == ["new.ndjson"]
        running.imports.look_now("visits")
        running.wait(later__ndjson="done")
    finally:
        running.close()


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


def test_objects_of_a_bucket(tmp_path: Path, bucket: str) -> None:
    store = boto3.client(
        "s3", endpoint_url=bucket, region_name="us-east-1", aws_access_key_id="k", aws_secret_access_key="s"
    )
    store.create_bucket(Bucket="shop")
    for key, content in {
        "in/2026/a b.csv": b"id,name\n1,x\n", "in/2026/b.ndjson.gz": gzip.compress(lines(2)),
        "in/_tmp/c.ndjson": lines(9), "out/d.csv": b"id,name\n9,x\n", "in/2026/": b"",
    }.items():  # fmt: skip
        store.put_object(Bucket="shop", Key=key, Body=content)
    connection = (
        f"TYPE s3\nS3_ENDPOINT {bucket}\nS3_REGION us-east-1\n"
        'S3_ACCESS_KEY {{ tb_secret("KEY") }}\nS3_SECRET {{ tb_secret("SECRET") }}\n'
    )
    source = "IMPORT_CONNECTION_NAME s\nIMPORT_BUCKET_URI s3://shop/in/**\nIMPORT_SCHEDULE @auto\n"
    running = Server(tmp_path, {"s.connection": connection, "visits.datasource": SCHEMA + source})
    try:
        done = running.wait(**{"a b__csv": "done", "b__ndjson__gz": "done"})
        assert sorted(done) == ["a b.csv", "b.ndjson.gz"]
        assert sorted(ids(running.rows())) == [1, 2]
    finally:
        running.close()
