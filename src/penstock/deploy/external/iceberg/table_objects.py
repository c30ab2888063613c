"""The files of an Iceberg table as PyIceberg reads them: fetched by the copy's own client.

In: places of files, as the table's metadata names them. Out: files on this machine. Invariants: every file comes from
the bucket that the call names, whatever the metadata says, and through the client that checks addresses; a file is
fetched whole before anything of it is read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow as pa
from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile

from penstock.deploy.external.buckets.object_lists import BucketObject
from penstock.deploy.external.buckets.object_store import fetch_object
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.model.external_tables import IcebergTable

_SCHEMES = frozenset(("s3", "s3a", "s3n", "gs", "gcs"))


class TableObjects(FileIO):
    """The files of one table. PyIceberg asks for them from several threads; one is fetched at a time."""

    def __init__(self, client: WebClient, table: IcebergTable, new_file: Callable[[], Path]):
        super().__init__()
        self._client, self._table, self._new_file = client, table, new_file
        self._location = ""
        self._fetched: dict[str, Path] = {}
        self._turn = threading.Lock()

    def set_location(self, location: str) -> None:
        """Where the table says that it is: its files are looked for where the call says that it is."""
        self._location = location.rstrip("/")

    def fetch(self, key: str) -> Path:
        """A file with the contents of an object. Raises UnreadableSource."""
        with self._turn:
            if key not in self._fetched:
                path = self._new_file()
                try:
                    fetch_object(self._client, self._table.bucket, BucketObject(key), path)
                except UnreadableSource as error:
                    raise UnreadableSource(f"`{key}`: {error}") from None
                self._fetched[key] = path
            return self._fetched[key]

    def drop(self, location: str) -> None:
        """Remove what was fetched of a file that is read no more."""
        with self._turn:
            path = self._fetched.pop(self.key_of(location), None)
        if path is not None:
            path.unlink(missing_ok=True)

    def key_of(self, location: str) -> str:
        """The key of the object that the metadata names. Raises UnreadableSource for one of elsewhere."""
        if self._location and location.startswith(f"{self._location}/"):
            return f"{self._table.place}{location[len(self._location) :]}"
        parts = urlsplit(location)
        if parts.scheme in _SCHEMES and parts.netloc == self._table.bucket.name:
            return location.split(parts.netloc, 1)[1].lstrip("/")
        raise UnreadableSource("its metadata names files outside of the bucket, which are not read")

    def new_input(self, location: str) -> InputFile:
        return _Fetched(location, self.fetch(self.key_of(location)))

    def new_output(self, location: str) -> OutputFile:
        raise NotImplementedError("copies write to no table elsewhere")

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise NotImplementedError("copies delete nothing elsewhere")


class _Fetched(InputFile):
    """A file that was fetched."""

    def __init__(self, location: str, path: Path):
        super().__init__(location)
        self._path = path

    def __len__(self) -> int:
        return self._path.stat().st_size

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: FBT001, FBT002 - PyIceberg calls it so
        stream: InputStream = pa.OSFile(str(self._path))
        return stream
