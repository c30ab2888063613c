"""The marker of a folder: a file at its root that says which state store it belongs to.

In: a location and PyIceberg's properties for storage that is not on a local disk. Out: `StorageMarker`. Invariant: a
marker on a local disk is replaced as a whole, and is durable before the call returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson
from pyiceberg.io import FileIO, load_file_io

from penstock.errors import Failed, Unavailable
from penstock.lake.storage.durable_writes import replace_file
from penstock.lake.storage.local_paths import local_path

FILE = ".penstock-store.json"


@dataclass(frozen=True, slots=True)
class StorageMarker:
    """Which store a folder belongs to."""

    uuid: str
    stamp: str
    """Changes at each start of a server; a copy of the state store knows an old one."""
    store: str | None
    """The path of the state store, if that is an SQLite file."""


class MarkerFile:
    """The marker below one location."""

    def __init__(self, location: str, storage: Mapping[str, str]):
        self._location = f"{location.rstrip('/')}/{FILE}"
        self._path = local_path(self._location)
        self._storage = storage

    def read(self) -> StorageMarker | None:
        """The marker; None if there is none. Raises Failed for a file that is no marker, Unavailable if the storage
        does not answer."""
        content = self._read_local(self._path) if self._path is not None else self._read_remote()
        if content is None:
            return None
        try:
            return StorageMarker(**orjson.loads(content))
        except (ValueError, TypeError) as error:
            raise Failed(
                f"{self._location} is damaged: {error}", hint="`penstock up --adopt-storage` makes it anew"
            ) from error

    def write(self, marker: StorageMarker) -> None:
        """Write the marker in place of the one before it. Raises Failed, Unavailable."""
        content = orjson.dumps(asdict(marker))
        if self._path is None:
            self._write_remote(content)
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(self._path) as file:
                file.write(content)
        except OSError as error:
            raise Failed(f"{self._location} cannot be written: {error.strerror}") from error

    def _read_local(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Failed(f"{self._location} cannot be read: {error.strerror}") from error

    def _read_remote(self) -> bytes | None:
        try:
            with self._io().new_input(self._location).open() as file:
                return file.read()
        except FileNotFoundError:
            return None
        except Exception as error:  # each storage has errors of its own
            raise Unavailable(f"{self._location} cannot be read: {error}") from error

    def _write_remote(self, content: bytes) -> None:
        try:
            with self._io().new_output(self._location).create(overwrite=True) as file:
                file.write(content)
        except Exception as error:  # each storage has errors of its own
            raise Unavailable(f"{self._location} cannot be written: {error}") from error

    def _io(self) -> FileIO:
        return load_file_io(dict(self._storage), self._location)
