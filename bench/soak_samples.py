"""What a running server occupies at one moment: tables, folder, state store, processes, seconds of a step.

In: the project folder and the address of its server. Out: `Sample`. Invariant: everything is read from outside, as an
operator could: files, the SQLite file opened to read only, `/proc` and `/metrics`.
"""

from __future__ import annotations

import gzip
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

MIB = 2**20
GZIP = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class TableSample:
    """One Iceberg table: the snapshots in its newest metadata file, that file's bytes, and the commits ever made."""

    snapshots: int
    metadata_bytes: int
    commits: int


@dataclass(frozen=True, slots=True)
class Sample:
    """`values` are the series that are judged and drawn, by name; `tables` by the folder of the table."""

    minute: float
    values: Mapping[str, float]
    tables: Mapping[str, TableSample]


def take_sample(folder: Path, server: psutil.Process, minute: float, measured: Mapping[str, float]) -> Sample:
    """All series now; `measured` are those that the caller has timed itself."""
    home = folder / ".penstock"
    tables = dict(_tables(home))
    values = {
        "snapshots, all tables": float(sum(each.snapshots for each in tables.values())),
        "snapshots, largest table": float(max((each.snapshots for each in tables.values()), default=0)),
        "bytes of the newest metadata files": float(sum(each.metadata_bytes for each in tables.values())),
        **_folder_series(home),
        **_state_store_series(home / "state.db"),
        **_process_series(server),
        **measured,
    }
    return Sample(minute, values, tables)


def _tables(home: Path) -> Iterator[tuple[str, TableSample]]:
    for metadata in sorted(home.glob("warehouse/**/metadata")):
        newest = max(metadata.glob("*.metadata.json"), key=_age, default=None)
        try:
            text = newest.read_bytes() if newest else b""
            read = json.loads(gzip.decompress(text) if text.startswith(GZIP) else text) if text else None
        except (OSError, EOFError, ValueError):
            continue
        if read is not None:
            commits = int(read.get("last-sequence-number", 0))
            yield str(metadata.parent), TableSample(len(read.get("snapshots", ())), len(text), commits)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _folder_series(home: Path) -> dict[str, float]:
    """Entries and bytes of the folder, by its parts. A file that goes while it is counted counts no more."""
    found = {"files of tables": 0.0, "bytes of metadata folders": 0.0, "inbox files": 0.0, "inodes": 0.0}
    for parent, folders, names in os.walk(home):
        found["inodes"] += len(names) + len(folders)
        relative = Path(parent).relative_to(home)
        top = relative.parts[0] if relative.parts else ""
        if top == "warehouse":
            found["files of tables"] += len(names)
            if relative.name == "metadata":
                found["bytes of metadata folders"] += sum(_size(Path(parent) / name) for name in names)
        elif top == "inbox":
            found["inbox files"] += len(names)
        elif not top:
            found["bytes of logs"] = float(sum(_size(Path(parent) / name) for name in names if ".log" in name))
    return found


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _state_store_series(file: Path) -> dict[str, float]:
    """Rows of all tables of the state store, and its bytes."""
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True, timeout=10) as store:
        names = [name for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        counts = {name: store.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name in names}
    store.close()
    rows = {f"rows of {name}": float(count) for name, count in counts.items() if count}
    return {
        "rows of the state store": float(sum(counts.values())),
        "bytes of the state store": float(_size(file)),
        **rows,
    }


def _process_series(server: psutil.Process) -> dict[str, float]:
    found = {"memory of Python, MiB": 0.0, "memory of Java, MiB": 0.0, "file handles": 0.0, "threads": 0.0}
    for process in (server, *server.children(recursive=True)):
        try:
            name = "memory of Java, MiB" if process.name() == "java" else "memory of Python, MiB"
            found[name] += process.memory_info().rss / MIB
            found["file handles"] += process.num_fds()
            found["threads"] += process.num_threads()
        except psutil.NoSuchProcess:
            continue
    return found
