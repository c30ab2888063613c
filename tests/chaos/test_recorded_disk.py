"""The recorder and the disk made of its log: what was not forced to disk may be gone, and nothing else."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from chaos.recorded_disk import Disk, Left, build_recorder, leave_out, read_records, write_files

PROGRAM = """
import os, sqlite3, sys
os.chdir(sys.argv[1])

def write(name, content, *forced):
    with open(name, "wb") as file:
        file.write(content)
        file.flush()
        if "file" in forced:
            os.fsync(file.fileno())
    if "name" in forced:
        folder = os.open(os.path.dirname(os.path.abspath(name)), os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)

os.mkdir("kept")
write("kept/whole", b"whole", "file", "name")
write("kept/empty", b"empty", "name")
write("kept/later", b"later", "file")
write("new", b"renamed", "file", "name")
os.mkdir("scratch")
write("scratch/x", b"x")
top = os.open(".", os.O_RDONLY)
os.fsync(top)
write("kept/gone", b"gone", "file", "name")
database = sqlite3.connect("state.db")
database.execute("PRAGMA journal_mode=WAL")
database.execute("PRAGMA synchronous=FULL")
database.execute("CREATE TABLE t (n INT)")
database.execute("INSERT INTO t VALUES (7)")
database.commit()
os.rename("new", "old")
os.unlink("kept/gone")
with open("kept/whole", "r+b") as file:
    file.write(b"W")
    file.truncate(3)
os._exit(0)
"""

BUSY_PROGRAM = """
import os, sys
from chaos.recorded_disk import end_recording, end_session
os.chdir(sys.argv[1])
read_end, write_end = os.pipe()
for name in "abc":
    if not os.fork():
        while True:
            open(name, "wb").close()
            os.unlink(name)
            os.write(write_end, b".")
os.read(read_end, 1)
end_recording(os.environ["PENSTOCK_DISK_LOG"])
end_session(os.getsid(0))
os._exit(0)
"""
"""Ends while processes of its own make and remove files."""


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Disk:
    home, made = _recorded(PROGRAM, tmp_path_factory.mktemp("recorder"))
    there = {str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert _without_scratch(made, "all") == {name: content for name, content in there.items() if _is_compared(name)}
    return made


def _recorded(program: str, folder: Path) -> tuple[Path, Disk]:
    """Run a program in a session of its own; its folder, and the disk that its record gives."""
    home, log = folder / "home", folder / "log"
    home.mkdir()
    variables = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "LD_PRELOAD": str(build_recorder(folder)),
        "PENSTOCK_DISK_ROOT": str(home),
        "PENSTOCK_DISK_LOG": str(log),
    }
    subprocess.run([sys.executable, "-c", program, str(home)], env=variables, check=True, start_new_session=True)
    made = Disk(home, home.stat().st_ino)
    for each in leave_out(read_records(log), home, ("scratch",)):
        made.apply(each)
    return home, made


def _is_compared(name: str) -> bool:
    return not name.startswith("scratch") and not name.endswith("-shm")


def _without_scratch(disk: Disk, left: Left, seed: int = 0) -> Mapping[str, bytes]:
    return {name: content for name, content in disk.remains(left, random.Random(seed)).items() if _is_compared(name)}


def test_a_record_is_whole_where_a_program_ends_at_work(tmp_path: Path) -> None:
    for attempt in range(8):
        (folder := tmp_path / str(attempt)).mkdir()
        home, disk = _recorded(BUSY_PROGRAM, folder)
        assert set(disk.remains("all", random.Random(0))) == {path.name for path in home.iterdir()}


def test_only_what_was_forced_is_left(disk: Disk) -> None:
    left = {name: content for name, content in _without_scratch(disk, "synced").items() if "state.db" not in name}
    kept = {"kept/whole": b"whole", "kept/empty": b"", "kept/later": b"later", "kept/gone": b"gone"}
    assert left == {**kept, "new": b"renamed"}


def test_names_may_be_there_without_their_bytes(disk: Disk) -> None:
    left = {name: content for name, content in _without_scratch(disk, "named").items() if "state.db" not in name}
    assert left == {"kept/whole": b"whole", "kept/empty": b"", "kept/later": b"later", "old": b"renamed"}


def test_some_of_the_rest_may_be_there(disk: Disk) -> None:
    seen = [_without_scratch(disk, "some", seed) for seed in range(60)]
    assert {left["kept/whole"] for left in seen} == {b"whole", b"Whole", b"who", b"Who"}
    assert {left["kept/empty"] for left in seen} == {b"", b"empty"}
    assert {("new" in left, "old" in left) for left in seen} == {(True, False), (False, True)}, "a rename is whole"
    assert {"kept/gone" in left for left in seen} == {True, False}


def test_a_database_that_forces_its_commits_is_left(disk: Disk, tmp_path: Path) -> None:
    for seed in range(20):
        left = {
            name: content for name, content in disk.remains("some", random.Random(seed)).items() if "state.db" in name
        }
        folder = tmp_path / str(seed)
        write_files({name: content for name, content in left.items() if not name.endswith("-shm")}, folder)
        with closing(sqlite3.connect(folder / "state.db")) as database:
            assert database.execute("SELECT n FROM t").fetchall() == [(7,)]
