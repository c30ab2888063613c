"""The power fails: only what was forced to disk is sure to be there, and no acknowledged row is lost or counted twice.

One life of a pipeline is recorded, each change of a file and each fsync in order (disk_recorder.c). From that, the
disk is made that a power cut at any of these moments could leave, and looked at (survivors.py); over some of them a
server starts again. `make chaos` looks at every moment.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos import recorded_life
from chaos.project_versions import row
from chaos.recorded_disk import Disk, Left, Record, build_recorder, end_session, leave_out, read_records, write_files
from chaos.recorded_life import ACKNOWLEDGED
from chaos.results import FULL, record
from chaos.survivors import Survivors

ROOT = Path(__file__).parents[2]
SCRATCH = ("tmp", "spark-warehouse", "spark.log")
"""What Spark writes for one run only."""
WAYS: tuple[Left, ...] = ("synced", "named", "some")
HADOOPS_OWN = {"spark.hadoop.fs.file.impl": "com.globalmentor.apache.hadoop.fs.BareLocalFileSystem"}
"""A file system that leaves it to the operating system when a file reaches the disk."""
LOOKS = 300
RESTARTS = 24 if FULL else 2


@dataclass(frozen=True)
class RecordedLife:
    home: Path
    inode: int
    records: Sequence[Record]
    survivors: Survivors

    def moments(self, every: int = 1) -> Iterator[tuple[int, Disk]]:
        """The disk after each record, or after every so many."""
        disk = Disk(self.home, self.inode)
        for at, each in enumerate(self.records):
            disk.apply(each)
            if at % every == 0:
                yield at, disk


def live(folder: Path, conf: Mapping[str, str]) -> RecordedLife:
    """Live in a folder, recorded."""
    home, log = folder / "home", folder / "log"
    home.mkdir()
    recorder = {
        "LD_PRELOAD": str(build_recorder(folder)),
        "PENSTOCK_DISK_ROOT": str(home),
        "PENSTOCK_DISK_LOG": str(log),
        "PENSTOCK_POWER_CUT_CONF": json.dumps(conf),
    }
    run_life(home, (), recorder)
    return recorded(folder, home, log)


def recorded(folder: Path, home: Path, log: Path) -> RecordedLife:
    """The life that a log tells."""
    inode, records = home.stat().st_ino, tuple(leave_out(read_records(log), home, SCRATCH))
    disk = Disk(home, inode)
    for each in records:
        disk.apply(each)
    check_recording(disk, home)
    every = {path: bytes(file.content) for path, file in disk.every.items()}
    return RecordedLife(home, inode, records, Survivors(every, home, folder / "archive"))


def run_life(home: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """What the program printed."""
    known = os.pathsep.join(filter(None, sys.path))
    command = [sys.executable, recorded_life.__file__, str(home), *arguments]
    variables = {**os.environ, "PYTHONPATH": known, **environment}
    with subprocess.Popen(
        command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            output, errors = process.communicate(timeout=900)
        finally:
            end_session(process.pid)
    assert process.returncode == 0, errors[-4000:]
    return output


def check_recording(disk: Disk, home: Path) -> None:
    """The record gives the very files that are on the disk now."""
    told = {
        path: content for path, content in disk.remains("all", random.Random(0)).items() if not path.endswith("-shm")
    }
    for path, content in told.items():
        assert (home / path).read_bytes() == content, path


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> RecordedLife:
    return live(tmp_path_factory.mktemp("power"), {})


def look(life: RecordedLife, every: int) -> tuple[int, list[str]]:
    """How many cuts were looked at, and what is wrong after some of them."""
    looked, wrong = 0, []
    for at, disk in life.moments(every):
        for way in WAYS:
            looked += 1
            problems = life.survivors.problems(disk.remains(way, random.Random(at)), disk.content(ACKNOWLEDGED))
            wrong += [f"after record {at}, {way}: {each}" for each in problems[:1]]
    return looked, wrong


@pytest.mark.timeout(3600)
def test_what_is_left_holds_every_acknowledged_row_once(life: RecordedLife) -> None:
    looked, wrong = look(life, 1 if FULL else len(life.records) // (LOOKS // len(WAYS)))
    forced = sum(each.kind == "S" for each in life.records)
    figures = {"cuts": looked, "changes": len(life.records), "forced": forced, "damaged": len(wrong)}
    record("power cuts", "every moment", figures)
    assert not wrong, wrong[:5]


@pytest.mark.timeout(3600)
def test_a_server_goes_on_from_what_is_left(life: RecordedLife) -> None:
    chance = random.Random(5)
    acknowledged = next(at for at, disk in life.moments() if disk.content(ACKNOWLEDGED))
    cuts = {chance.randint(acknowledged, len(life.records) - 1): chance.choice(WAYS) for _ in range(RESTARTS)}
    for at, disk in life.moments():
        if at in cuts:
            go_on(life, disk.remains(cuts[at], chance), disk.content(ACKNOWLEDGED))
    record("power cuts", "servers started again", {"cuts": len(cuts), "lost": 0, "doubled": 0})


def go_on(life: RecordedLife, left: Mapping[str, bytes], told: bytes) -> None:
    """Start a server over what is left, and compare."""
    shutil.rmtree(life.home)
    write_files(left, life.home)
    after = json.loads(run_life(life.home, ("after",), {}).splitlines()[-1])
    acknowledged = [json.loads(line) for line in told.splitlines()]
    assert after["batches"] >= max(each["batch"] for each in acknowledged)
    ids = [int(str(row(number)["id"])) for number in range(after["batches"] * recorded_life.ROWS)]
    taken = [id for id in ids if id >= 0]
    rows, total = len(taken), sum(taken)
    wanted = {"events": [rows, rows, total], "per_user": [rows, total], "total": [rows]}
    for name, answer in after["answers"].items():
        assert answer == wanted[name.split()[1]], name


@pytest.mark.timeout(900)
def test_a_damaged_table_stops_alone(life: RecordedLife) -> None:
    """As if the disk had lost what it confirmed: the server starts, and the other tables go on."""
    shutil.rmtree(life.home)
    disk = Disk(life.home, life.inode)
    for each in life.records:
        disk.apply(each)
    write_files(disk.remains("all", random.Random(0)), life.home)
    for damaged in life.home.glob("warehouse/penstock/total__d*/metadata/*.metadata.json"):
        damaged.write_bytes(b"")
    told = json.loads(run_life(life.home, ("beside damage",), {}).splitlines()[-1])
    assert told["code"] == "damaged-table"
    assert set(told["drift"]) == {"damaged"}


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_without_forced_files_much_would_be_lost(tmp_path: Path) -> None:
    """So the other tests can see what they look for."""
    looked, wrong = look(live(tmp_path, HADOOPS_OWN), 20)
    record("power cuts", "with Hadoop's own local files", {"cuts": looked, "damaged": len(wrong)})
    assert len(wrong) > looked // 2
