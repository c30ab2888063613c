"""Places that have files: buckets, and folders of this machine.

In: the address of a place, whose path may be a pattern. Out: which files it has, and a file of this machine with the
contents of one. Invariants: a file is opened with the contents that the list showed, or not at all; no file outside of
the folders that the settings name is read, also not by a link.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from penstock.deploy.connections.bucket_connection import connected_bucket
from penstock.deploy.connections.connection_values import ConnectionValues
from penstock.deploy.external.buckets.object_lists import MOST_OBJECTS, BucketObject, RefusedRequest
from penstock.deploy.external.buckets.object_store import fetch_object, objects_from
from penstock.deploy.external.path_patterns import TooManyPaths, fixed_beginning, path_test
from penstock.deploy.external.web_client import UnreadableSource, WebClient
from penstock.errors import Forbidden, InvalidRequest, Unavailable
from penstock.model.settings import CopySettings
from penstock.state.positions.imported_files import FoundFile

SETTLE_SECONDS = 5.0
"""A file of this machine is taken once nobody has written to it for so long."""
GONE, REPLACED = 404, 412


class UnusableFile(Exception):
    """A file that cannot be taken as it is; the message says why."""


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of a place, and when it was last changed."""

    found: FoundFile
    modified: datetime | None


class FilePlace(Protocol):
    """Where files are."""

    def files(self) -> list[PlacedFile]:
        """The files of the place that are not empty, in no order. Raises Unavailable, InvalidRequest."""

    def fetch(self, file: FoundFile, target: Path) -> tuple[Path, str]:
        """A file of this machine with the contents of one, which may be `target`, and the header Content-Encoding that
        came with it. Raises UnusableFile, Unavailable, OSError."""

    def is_unchanged(self, file: FoundFile, opened: Path) -> bool:
        """Whether what `fetch` has given still has these contents."""


class FolderPlace:
    """Files of a folder of this machine, below one that the settings allow."""

    def __init__(self, address: str, allowed: tuple[str, ...]):
        self._pattern = os.path.normpath(unquote(urlsplit(address).path))
        if address.endswith("/"):
            self._pattern = f"{self._pattern.rstrip('/')}/**"
        self._matches = _path_test(self._pattern)
        self._roots = [os.path.realpath(each) for each in allowed]
        beginning = fixed_beginning(self._pattern)
        self._folder = beginning.rpartition("/")[0] or "/"
        if not self._is_allowed(self._folder):
            hint = "whoever runs the server may name it in `[imports] folders` of penstock.toml"
            raise Forbidden(f"data sources may not take files of {self._folder}", hint=hint)

    def files(self) -> list[PlacedFile]:
        if not os.path.isdir(self._folder):
            raise Unavailable(f"there is no folder {self._folder}")
        found: list[PlacedFile] = []
        before = time.time() - SETTLE_SECONDS
        for folder, folders, names in os.walk(self._folder):
            folders[:] = [each for each in folders if not _is_hidden(each)]
            for path in (os.path.join(folder, name) for name in names if not _is_hidden(name)):
                if self._matches(path) and self._is_allowed(path):
                    found += self._placed(path, before)
            if len(found) > MOST_OBJECTS:
                raise InvalidRequest(f"more than {MOST_OBJECTS} files are in {self._folder}")
        return found

    def _placed(self, path: str, before: float) -> Iterator[PlacedFile]:
        mark, modified = _mark_of(path)
        if mark and 0 < modified <= before:
            time_of = datetime.fromtimestamp(modified, timezone.utc)
            yield PlacedFile(FoundFile(Path(path).as_uri(), mark), time_of)

    def fetch(self, file: FoundFile, target: Path) -> tuple[Path, str]:
        path = unquote(urlsplit(file.address).path)
        if not self._is_allowed(path):
            raise UnusableFile("it is a link to a place outside of the folders that may be read")
        mark, _ = _mark_of(path)
        if not mark:
            raise UnusableFile("it is gone")
        if mark != file.mark:
            raise UnusableFile("it was replaced after it was found")
        return Path(path), ""

    def is_unchanged(self, file: FoundFile, opened: Path) -> bool:
        return _mark_of(unquote(urlsplit(file.address).path))[0] == file.mark

    def _is_allowed(self, path: str) -> bool:
        real = os.path.realpath(path)
        return any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in self._roots)


class BucketPlace:
    """Objects of a bucket, by S3's protocol."""

    def __init__(self, values: ConnectionValues, address: str, settings: CopySettings, stops: Callable[[], bool]):
        parts = urlsplit(address.replace("?", "%3F"))
        if parts.scheme not in ("s3", "s3a") or not parts.netloc:
            raise InvalidRequest(f"`{address}` is no place in a bucket", hint="write s3://bucket/folder/*.csv")
        self._bucket = connected_bucket(values, parts.netloc)
        self._settings, self._stops = settings, stops
        self._pattern = unquote(parts.path).lstrip("/")
        if not self._pattern or self._pattern.endswith("/"):
            self._pattern += "**"
        self._matches = _path_test(self._pattern)

    def files(self) -> list[PlacedFile]:
        with self._client() as client:
            objects = objects_from(client, self._bucket, fixed_beginning(self._pattern))
        return [
            PlacedFile(FoundFile(f"s3://{self._bucket.name}/{each.key}", each.mark), each.modified)
            for each in objects
            if self._is_wanted(each.key)
        ]

    def _is_wanted(self, key: str) -> bool:
        below = key[len(fixed_beginning(self._pattern).rpartition("/")[0]) :]
        hidden = key != self._pattern and any(map(_is_hidden, below.split("/")))
        return not hidden and not key.endswith("/") and self._matches(key)

    def fetch(self, file: FoundFile, target: Path) -> tuple[Path, str]:
        key = file.address.removeprefix(f"s3://{self._bucket.name}/")
        try:
            with self._client() as client:
                return target, fetch_object(client, self._bucket, BucketObject(key, file.mark), target)
        except RefusedRequest as error:
            if error.status == GONE:
                raise UnusableFile("it is gone") from None
            if error.status == REPLACED:
                raise UnusableFile("it was replaced after it was found") from None
            raise Unavailable(f"{file.address} cannot be read: {error}") from None

    def is_unchanged(self, file: FoundFile, opened: Path) -> bool:
        return True  # it is a copy

    @contextmanager
    def _client(self) -> Iterator[WebClient]:
        """The connections for one list or one object. Raises Unavailable inside of the block."""
        try:
            with closing(WebClient(self._settings, self._stops)) as client:
                yield client
        except RefusedRequest as error:
            if error.status in (GONE, REPLACED):
                raise
            raise Unavailable(f"the bucket `{self._bucket.name}` cannot be read: {error}") from None
        except UnreadableSource as error:
            raise Unavailable(f"the bucket `{self._bucket.name}` cannot be read: {error}") from None


def _path_test(pattern: str) -> Callable[[str], bool]:
    try:
        return path_test(pattern)
    except TooManyPaths as error:
        raise InvalidRequest(str(error)) from None


def _is_hidden(name: str) -> bool:
    """Whether a name is one of those that programs give to files that are none of the data, such as `_SUCCESS`."""
    return name.startswith((".", "_"))


def _mark_of(path: str) -> tuple[str, float]:
    """What tells the contents of a file of this machine from others, and when it was changed; nothing without a file
    that has contents."""
    try:
        found = os.stat(path)
    except OSError:
        return "", 0.0
    if not os.path.isfile(path) or not found.st_size:
        return "", 0.0
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino}", found.st_mtime
