"""Where the files of sinks are published: folders of this machine, and buckets.

In: a connection, and the place of a sink. Out: a `SinkDestination`. Invariants: a file appears whole or not at all, and
publishing it again changes nothing; nothing is written outside of the folders that the settings of the server name.
"""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from penstock.deploy.connections.bucket_connection import connected_bucket
from penstock.deploy.connections.connection_values import ConnectionValues
from penstock.deploy.external.buckets.s3_objects import object_address, signed_request
from penstock.deploy.external.paths.allowed_folders import AllowedFolders
from penstock.deploy.external.paths.disk_errors import AWAY_ERRNOS
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.errors import Conflict, Failed, Forbidden, InvalidRequest, PenstockError, StorageFull, Unavailable
from penstock.flow.inbox.writer import DISK_FULL_ERRNOS
from penstock.lake.storage.durable_writes import sync_folder
from penstock.model.pipe import FileStrategy
from penstock.model.settings import CopySettings

TEMPORARY = ".penstock-"
"""How the name of a file begins that is being written."""
GONE, DENIED, REFUSED = 404, 403, 400
MOST_SHOWN = 300


class SinkDestination(Protocol):
    """A place for files."""

    def exists(self, name: str) -> bool: ...

    def publish(self, name: str, content: Path, strategy: FileStrategy) -> None: ...


def remove_unfinished(place: str, names: Mapping[str, Path], allowed: tuple[str, ...]) -> None:
    """Remove what a server that was killed has left in a folder of files that it was writing: `names` has the files of
    a run that is over, by the names that they were to have. What cannot be looked at stays."""
    with suppress(PenstockError, OSError):
        folder = FolderDestination(place, allowed)
        for name, content in names.items():
            folder.unfinished(name, content).unlink(missing_ok=True)


class FolderDestination:
    """A folder of this machine, below one that the settings allow."""

    def __init__(self, place: str, allowed: tuple[str, ...]):
        parts = urlsplit(place)
        if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            raise InvalidRequest(f"`{place}` is no folder", hint="write EXPORT_BUCKET_URI file:///folder")
        self._folder = Path(os.path.realpath(unquote(parts.path)))
        self._allowed = AllowedFolders(allowed)
        self._check(self._folder)

    def exists(self, name: str) -> bool:
        return self._path(name).exists()

    def publish(self, name: str, content: Path, strategy: FileStrategy) -> None:
        """Raises Conflict if another file has the name and is not to be replaced; StorageFull, Unavailable, Failed."""
        path = self._path(name)
        try:
            self._make_folders(path.parent)
            fresh = self.unfinished(name, content)
            self._copy(content, fresh)
            try:
                if strategy == "truncate":
                    fresh.replace(path)
                else:
                    _link_new(fresh, path)
            finally:
                fresh.unlink(missing_ok=True)
            sync_folder(path.parent)
        except OSError as error:
            said = f"{path.name[:MOST_SHOWN]} cannot be written: {error.strerror or error}"
            raise _error_of_disk(error)(said) from error

    def unfinished(self, name: str, content: Path) -> Path:
        """The name that a file has until it is whole."""
        return self._path(name).with_name(f"{TEMPORARY}{content.parent.name}-{content.name}")

    def _path(self, name: str) -> Path:
        path = self._folder / name
        self._check(Path(os.path.realpath(path.parent)))
        return path

    def _check(self, folder: Path) -> None:
        """Raises Forbidden for a folder outside of those that the settings name, also by a link."""
        if not self._allowed.hold(folder):
            hint = "whoever runs the server may name it in `[sinks] folders` of penstock.toml"
            raise Forbidden(f"sinks may not write into {folder}", hint=hint)

    def _make_folders(self, folder: Path) -> None:
        """Make the folders of a file, and force their entries to disk."""
        missing = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for each in reversed(missing):
            sync_folder(each.parent)

    def _copy(self, content: Path, fresh: Path) -> None:
        fresh.unlink(missing_ok=True)
        with content.open("rb") as source, fresh.open("xb") as file:
            shutil.copyfileobj(source, file, 2**20)
            file.flush()
            os.fsync(file.fileno())


def _error_of_disk(error: OSError) -> type[PenstockError]:
    """Whether a file that cannot be written now may be later."""
    if error.errno in DISK_FULL_ERRNOS:
        return StorageFull
    return Unavailable if error.errno in AWAY_ERRNOS or error.errno == errno.EIO else Failed


def _link_new(fresh: Path, path: Path) -> None:
    """Give the file its name if no file has it; one with the same bytes is the one that a run before a crash made."""
    with suppress(FileExistsError):
        os.link(fresh, path)
        return
    if not filecmp.cmp(fresh, path, shallow=False):
        raise Conflict(f"another file is at {path}", hint="it came while the sink ran; run the sink again")


class BucketDestination:
    """The objects of a bucket, by S3's protocol."""

    def __init__(self, values: ConnectionValues, place: str, settings: CopySettings, stops: Callable[[], bool]):
        parts = urlsplit(place)
        if parts.scheme not in ("s3", "s3a") or not parts.netloc:
            raise InvalidRequest(f"`{place}` is no place in a bucket", hint="write EXPORT_BUCKET_URI s3://bucket/path")
        self._bucket = connected_bucket(values, parts.netloc)
        self._beginning = unquote(parts.path).strip("/")
        self._client = WebClient(settings, stops)

    def close(self) -> None:
        self._client.close()

    def exists(self, name: str) -> bool:
        """Raises Unavailable, Failed."""
        status, said = self._send("HEAD", name)
        if status not in (200, GONE):
            raise _refused(status, said, "looked at")
        return status == 200

    def publish(self, name: str, content: Path, strategy: FileStrategy) -> None:
        """Put the object; its name was free or is to be replaced when the run chose it. Raises Unavailable, Failed."""
        status, said = self._send("PUT", name, content.read_bytes())
        if status >= 300:
            raise _refused(status, said, "written")

    def _send(self, method: str, name: str, content: bytes | None = None) -> tuple[int, str]:
        url = object_address(self._bucket, f"{self._beginning}/{name}" if self._beginning else name)
        try:
            headers = signed_request(self._bucket, (method, url), {}, content)
            with self._client.send(method, url, headers, content) as answer:
                said = b"".join(answer.iter_raw()) if method != "HEAD" else b""
                return answer.status_code, said.decode(errors="replace")[:MOST_SHOWN]
        except UnreadableSource as error:
            raise Unavailable(f"the bucket `{self._bucket.name}` cannot be reached: {error}") from None


def _refused(status: int, said: str, what: str) -> Unavailable | Failed:
    message = f"the object cannot be {what}: the bucket answers {status} {said}".strip()
    return Unavailable(message) if status >= 500 or status == 429 else Failed(message)
