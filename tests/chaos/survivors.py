"""Whether what a power cut leaves of a pipeline's folder is enough to go on without a row lost or counted twice.

In: the files that are left, as bytes by path, and every file that there ever was. Out: a list of what is wrong. No
server is started: catalog, state store and metadata are read as they are, so thousands of cuts can be looked at.

Of a folder that passes, the crash tests show that a server goes on: every row that was acknowledged is in its table or
in a batch that is logged and whole; every table has exactly the rows that its cursors account for; and every file that
any snapshot names is whole.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pyarrow.parquet as parquet
from pyiceberg.io import InputFile
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil
from pyiceberg.table.snapshots import Snapshot

from chaos.project_versions import row
from chaos.recorded_disk import write_files
from chaos.recorded_life import ACKNOWLEDGED
from penstock.lake.tables.snapshots import CURSOR
from penstock.model.cursor import BatchCursor, TailCursor, decode_cursor
from penstock.model.manifest import Landing, Manifest, View
from penstock.state.manifest_codec import manifest_from_json

RUNNING = ("ready", "live", "previous")
Measure = tuple[int, int]
"""Of a table: how many events it counts, and the sum of their ids (0 where it has no ids)."""


@dataclass(frozen=True)
class LoggedBatch:
    number: int
    segment: str
    digest: str


@dataclass(frozen=True)
class Left:
    """What is left, decoded."""

    files: Mapping[str, bytes]
    tables: Mapping[str, str]
    """The metadata file of each table in the catalog, as a path below the folder."""
    batches: Mapping[int, LoggedBatch]
    manifests: Mapping[int, Manifest]
    """Those of the running deployments, by id."""
    live: int | None


class Survivors:
    """Looks at cuts of one recorded life. `every` are all files of that life, whole, which are written to `archive`;
    `home` is the folder in which they were made; `bodies` are all posts: by batch, the first row and the end."""

    def __init__(self, every: Mapping[str, bytes], home: Path, archive: Path):
        write_files(every, archive)
        self._every = every
        self._io = _ArchiveIO(home, archive)
        self._home, self._archive = home, archive
        self._scratch = archive.with_name("databases")
        self._bodies = {post["batch"]: range(post["first"], post["end"]) for post in _posts(every[ACKNOWLEDGED])}
        self.metadata = lru_cache(None)(self._metadata)
        self._files_of = lru_cache(None)(self._snapshot_files)
        self._measure_of = lru_cache(None)(self._file_measure)

    def problems(self, files: Mapping[str, bytes], told: bytes) -> list[str]:
        """What is wrong with these files, when the answers in `told` had been given."""
        if "state.db" not in files or "catalog.db" not in files or not told:
            return ["an answer was given, and a database is missing"] if told else []
        left = self._decode(files)
        return [*self._lost_batches(left, told), *self._damaged_files(left), *self._wrong_tables(left)]

    def _decode(self, files: Mapping[str, bytes]) -> Left:
        databases = {name: content for name, content in files.items() if name.startswith(("state.db", "catalog.db"))}
        for old in self._scratch.glob("*"):
            old.unlink()
        write_files({name: content for name, content in databases.items() if not name.endswith("-shm")}, self._scratch)
        tables = _query(self._scratch / "catalog.db", "SELECT table_name, metadata_location FROM iceberg_tables")
        state = self._scratch / "state.db"
        batches = [LoggedBatch(*each) for each in _query(state, "SELECT number, segment, digest FROM batches")]
        running = _query(state, f"SELECT id, manifest FROM deployments WHERE state IN {RUNNING}")
        live = _query(state, "SELECT live FROM pointer")
        return Left(
            files,
            {name: self._inside(location) for name, location in tables},
            {each.number: each for each in batches},
            {id: _manifest(text) for id, text in running},
            live[0][0] if live else None,
        )

    def _lost_batches(self, left: Left, told: bytes) -> Iterator[str]:
        """Acknowledged batches that are neither in live's tables nor whole in the inbox."""
        landed = self._landed(left)
        for post in _posts(told):
            batch = left.batches.get(post["batch"])
            if post["batch"] <= landed:
                continue  # its file and its entry in the log may have been trimmed
            if batch is None:
                yield f"batch {post['batch']} was acknowledged and is not in the log"
            elif not self._is_whole(left, batch):
                yield f"batch {batch.number} is not landed, and its file {batch.segment} is lost"

    def _is_whole(self, left: Left, batch: LoggedBatch) -> bool:
        content = left.files.get(f"inbox/{batch.segment}")
        return content is not None and hashlib.sha256(content).hexdigest() == batch.digest

    def _landed(self, left: Left) -> int:
        """The last batch that every running deployment has landed."""
        landings = [flow for manifest in left.manifests.values() for flow in manifest.landings]
        cursors = [self._cursors(left, flow.table).get(flow.id) for flow in landings if flow.stream == "events"]
        return min((each.number if isinstance(each, BatchCursor) else 0 for each in cursors), default=0)

    def _damaged_files(self, left: Left) -> Iterator[str]:
        """Files that a table in the catalog names and that are missing or not whole."""
        for table, location in left.tables.items():
            if left.files.get(location) != self._every[location]:
                yield f"{table}: {location} is {_state(left, location)}"
                continue
            for snapshot in self.metadata(location).snapshots:
                named = (self._inside(snapshot.manifest_list), *self._files_of(snapshot.manifest_list))
                yield from (
                    f"{table}: {path} of snapshot {snapshot.snapshot_id} is {_state(left, path)}"
                    for path in named
                    if left.files.get(path) != self._every[path]
                )

    def _wrong_tables(self, left: Left) -> Iterator[str]:
        """Tables whose rows are not those that their cursors account for."""
        for id, manifest in left.manifests.items():
            for flow in manifest.flows:
                missing = [table for table in _tables(flow) if not self._is_readable(left, table)]
                if missing:
                    yield from (f"deployment {id}: the table {table} is lost" for table in missing)
                elif isinstance(flow, Landing) and flow.stream == "events":
                    yield from self._wrong_landing(left, flow)
                elif isinstance(flow, View):
                    yield from self._wrong_view(left, flow)

    def _wrong_landing(self, left: Left, flow: Landing) -> Iterator[str]:
        cursor = self._cursors(left, flow.table).get(flow.id)
        if isinstance(cursor, BatchCursor):
            numbers = [n for batch in range(1, cursor.number + 1) for n in self._bodies[batch]]
            ids = [int(str(row(n)["id"])) for n in numbers]
            wanted = sum(id >= 0 for id in ids), sum(id for id in ids if id >= 0)
            if (found := self._measure(left, flow.table)) != wanted:
                yield f"{flow.table}: {found} and not {wanted} up to batch {cursor.number}"

    def _wrong_view(self, left: Left, flow: View) -> Iterator[str]:
        cursor, source = self._cursors(left, flow.table).get(flow.id), flow.trigger.binding.table
        if not isinstance(cursor, TailCursor):
            return
        known = {each.snapshot_id for each in self.metadata(left.tables[source]).snapshots}
        if cursor.snapshot not in known:
            yield f"{flow.table}: its cursor is at a snapshot that {source} does not have"
            return
        wanted, found = self._measure(left, source, cursor.snapshot), self._measure(left, flow.table)
        if wanted[0] != found[0] or (0 not in (found[1], wanted[1]) and wanted[1] != found[1]):
            yield f"{flow.table}: {found} and not {wanted}"

    def _is_readable(self, left: Left, table: str) -> bool:
        location = left.tables.get(table)
        return location is not None and left.files.get(location) == self._every[location]

    def _cursors(self, left: Left, table: str) -> Mapping[str, object]:
        """The cursors in the newest snapshot that has any."""
        if not self._is_readable(left, table):
            return {}
        metadata = self.metadata(left.tables[table])
        at = metadata.current_snapshot()
        while at is not None:
            summary = at.summary.additional_properties if at.summary else {}
            texts = {key.removeprefix(CURSOR): text for key, text in summary.items() if key.startswith(CURSOR)}
            if texts:
                return {flow: decode_cursor(text) for flow, text in texts.items()}
            at = metadata.snapshot_by_id(at.parent_snapshot_id) if at.parent_snapshot_id is not None else None
        return {}

    def _measure(self, left: Left, table: str, snapshot: int | None = None) -> Measure:
        metadata = self.metadata(left.tables[table])
        at = metadata.current_snapshot() if snapshot is None else metadata.snapshot_by_id(snapshot)
        if at is None:
            return 0, 0
        parts = [self._measure_of(path) for path in self._files_of(at.manifest_list) if path.endswith(".parquet")]
        return sum(events for events, _ in parts), sum(ids for _, ids in parts)

    def _metadata(self, location: str) -> TableMetadata:
        content = (self._archive / location).read_bytes()
        packed = location.endswith(".gz.metadata.json")
        return TableMetadataUtil.parse_raw((gzip.decompress(content) if packed else content).decode())

    def _snapshot_files(self, manifest_list: str) -> tuple[str, ...]:
        """The manifests and data files of a snapshot."""
        snapshot = Snapshot(snapshot_id=0, timestamp_ms=0, manifest_list=manifest_list)  # type: ignore[call-arg]
        found: list[str] = []
        for manifest in snapshot.manifests(self._io):
            found.append(self._inside(manifest.manifest_path))
            found += [self._inside(each.data_file.file_path) for each in manifest.fetch_manifest_entry(self._io)]
        return tuple(found)

    def _file_measure(self, path: str) -> Measure:
        rows = parquet.read_table(self._archive / path)
        names = rows.column_names
        if "events" not in names:
            return rows.num_rows, sum(rows["id"].to_pylist())
        return sum(rows["events"].to_pylist()), sum(rows["ids"].to_pylist()) if "ids" in names else 0

    def _inside(self, location: str) -> str:
        return _path(location).removeprefix(f"{self._home}/")


class _ArchiveIO(PyArrowFileIO):
    """Reads a file of the recorded life from the archive."""

    def __init__(self, home: Path, archive: Path):
        super().__init__()
        self._from, self._to = str(home), str(archive)

    def new_input(self, location: str) -> InputFile:
        return super().new_input(_path(location).replace(self._from, self._to, 1))


def _tables(flow: object) -> Sequence[str]:
    match flow:
        case Landing():
            return (flow.table,)
        case View():
            return (flow.table, flow.trigger.binding.table)
    return ()


def _state(left: Left, path: str) -> str:
    found = left.files.get(path)
    return "missing" if found is None else f"damaged ({len(found)} bytes)"


def _posts(told: bytes) -> list[dict[str, int]]:
    return [json.loads(line) for line in told.splitlines()]


def _path(location: str) -> str:
    return unquote(urlsplit(location).path)


def _query(database: Path, sql: str) -> list[tuple]:  # type: ignore[type-arg]
    connection = sqlite3.connect(database)
    try:
        return connection.execute(sql).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return []
        raise
    finally:
        connection.close()


@lru_cache(None)
def _manifest(text: str) -> Manifest:
    return manifest_from_json(text)
