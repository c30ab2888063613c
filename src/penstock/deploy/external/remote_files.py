"""Reads files of the web and of buckets for one run of a copy.

In: the files that its SQL names, and which columns it uses. Out: their columns, and their rows in Parquet files beside
the job's. Invariants: a file is fetched whole before anything of it is used, so a server that goes away in the middle
is an error and no end; nothing is left on the disk when the block ends; messages name files without what may be secret.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.deploy.external.buckets.object_lists import BucketObject, check_answer
from penstock.deploy.external.buckets.object_store import fetch_object, find_objects
from penstock.deploy.external.file_rows import LocalFile, file_batches, parquet_columns
from penstock.deploy.external.packed_streams import packing_of
from penstock.deploy.external.paths.path_patterns import TooManyPaths, expand_choices
from penstock.deploy.external.stored_values import stored_arrow
from penstock.deploy.external.table_file import TableFile
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.errors import Failed
from penstock.lake.spark.cancellation import raise_if_stopped
from penstock.model.external_tables import ExternalColumns, RemoteFiles, UnreadableTable, show_place
from penstock.model.settings import CopySettings
from penstock.model.types import LowCardinality, String, Type
from penstock.sql.from_clause.file_options import VIRTUAL_COLUMNS
from penstock.sql.query import ExternalRead

_PLACE = LowCardinality(String())


@dataclass(slots=True)
class _Found:
    """The files that a call stands for, as far as they were fetched."""

    places: list[BucketObject]
    """Addresses, or objects."""
    columns: dict[str, Type]
    fetched: dict[str, LocalFile] = field(default_factory=dict)
    """By place."""


class RemoteFileTables:
    """The files that one copy reads. Files on this machine are named after `path`."""

    def __init__(self, path: Path, stops: Callable[[], bool], settings: CopySettings, client: WebClient):
        self._path, self._stops, self._settings, self._client = path, stops, settings, client
        self._found: dict[RemoteFiles, _Found] = {}
        self._written: list[Path] = []

    def close(self) -> None:
        """Remove all files."""
        for path in self._written:
            path.unlink(missing_ok=True)

    def columns(self, files: RemoteFiles) -> ExternalColumns:
        """The columns that the first of the files has. Raises UnreadableTable, WorkCancelled."""
        try:
            found = self._find(files)
            with _naming(files, found.places[0].key):
                columns = parquet_columns(self._fetch(files, found, found.places[0]))
        except UnreadableSource as error:
            raise UnreadableTable(f"`{files.function}` cannot read {error}") from None
        found.columns = dict(columns.types)
        return columns

    def read(self, wanted: ExternalRead) -> TableFile:
        """Write the used columns of all the files to one. Raises Failed, WorkCancelled, OSError."""
        files = wanted.table
        assert isinstance(files, RemoteFiles), "others are read by others"
        target = self._new_file("parquet")
        try:
            found = self._find(files)
            used = {name: of for name, of in found.columns.items() if name in wanted.columns}
            places = {name: _PLACE for name in VIRTUAL_COLUMNS if name in wanted.columns and name not in found.columns}
            shown: dict[str, Type] = {**used, **places} or {VIRTUAL_COLUMNS[0]: _PLACE}
            rows = self._write(files, found, shown, target)
        except UnreadableSource as error:
            hint = "no row was appended"
            raise Failed(f"`{files.function}` cannot read {error}", hint=hint) from None
        return TableFile(target, shown, rows)

    def _write(self, files: RemoteFiles, found: _Found, shown: dict[str, Type], target: Path) -> int:
        schema = pa.schema([(name, stored_arrow(of)) for name, of in shown.items()])
        rows = 0
        with pq.ParquetWriter(target, schema) as writer:
            for place in found.places:
                with _naming(files, place.key):
                    local = self._fetch(files, found, place)
                    for batch in file_batches(local, [*found.columns.items()], [*shown]):
                        raise_if_stopped(self._stops)
                        writer.write_batch(_with_place(batch, schema, _virtual_values(files, place.key)))
                        rows += batch.num_rows
                del found.fetched[place.key]  # a list may name a file twice
                local.path.unlink()
        return rows

    def _find(self, files: RemoteFiles) -> _Found:
        """Which files there are: asked once. Raises UnreadableSource."""
        if files not in self._found:
            with _naming(files, files.place):
                places = self._places(files)
                if not places:
                    raise UnreadableSource("there is no file that the pattern stands for")
            self._found[files] = _Found(places, dict(files.columns))
        return self._found[files]

    def _places(self, files: RemoteFiles) -> list[BucketObject]:
        try:
            if files.bucket is not None:
                return find_objects(self._client, files.bucket, files.place)
            return [BucketObject(each) for each in expand_choices(files.place)]
        except TooManyPaths as error:
            raise UnreadableSource(str(error)) from None

    def _fetch(self, files: RemoteFiles, found: _Found, place: BucketObject) -> LocalFile:
        """A file on this machine with the contents of one elsewhere. Raises UnreadableSource."""
        if place.key not in found.fetched:
            path = self._new_file("raw")
            encoding = self._download(files, place, path)
            packing = packing_of(files.packing, _path_of(files, place.key), encoding)
            found.fetched[place.key] = LocalFile(path, files.format, packing, self._settings.max_read_bytes)
        return found.fetched[place.key]

    def _download(self, files: RemoteFiles, place: BucketObject, path: Path) -> str:
        """Returns the header Content-Encoding of the answer."""
        client = self._client
        if files.bucket is not None:
            return fetch_object(client, files.bucket, place, path)
        answers = client.get_redirected(place.key, dict(files.headers))
        with answers as answer, path.open("wb") as file:
            check_answer(answer)
            for part in client.parts(answer):
                file.write(part)
            return str(answer.headers.get("content-encoding", ""))

    def _new_file(self, ending: str) -> Path:
        path = self._path.with_name(f"{self._path.name}.files{len(self._written)}.{ending}")
        self._written.append(path)
        return path


class _naming:  # noqa: N801 - a block, named as one
    """A block in which what cannot be read is this file."""

    def __init__(self, files: RemoteFiles, place: str):
        self._shown = show_place(files, place)

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UnreadableSource):
            raise UnreadableSource(f"{self._shown}: {error}") from None


def _path_of(files: RemoteFiles, place: str) -> str:
    return place if files.bucket is not None else urlsplit(place).path


def _virtual_values(files: RemoteFiles, place: str) -> dict[str, str]:
    """`_path` and `_file`, as ClickHouse has them."""
    path = f"{files.bucket.name}/{place}" if files.bucket is not None else urlsplit(place).path
    return dict(zip(VIRTUAL_COLUMNS, (path, path.rpartition("/")[2]), strict=True))


def _with_place(batch: pa.RecordBatch, schema: pa.Schema, values: dict[str, str]) -> pa.RecordBatch:
    """The batch with the columns of a schema, of which some say where the rows are from."""
    names = batch.schema.names
    arrays = [
        batch.column(each.name) if each.name in names else pa.repeat(pa.scalar(values[each.name]), batch.num_rows)
        for each in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
