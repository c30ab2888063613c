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
from penstock.deploy.external.paths.allowed_folders import AllowedFolders, fixed_folder, pattern_of
from penstock.deploy.external.paths.path_patterns import TooManyPaths, fixed_beginning, folder_test, import_test
from penstock.deploy.external.web_client import ReadLimit, UnreadableSource, WebClient
from penstock.errors import Forbidden, InvalidRequest, Unavailable
from penstock.model.settings import CopySettings
from penstock.state.positions.imported_files import FoundFile

SMALL_BYTES = 2**16
"""A file of so many bytes is small: see `file_group`."""
SETTLE_SECONDS = 5.0
"""A file of this machine is taken once nobody has written to it for so long."""
GONE, REPLACED, TIMED_OUT, TOO_MANY = 404, 412, 408, 429


class UnusableFile(Exception):
    """A file that cannot be taken as it is; the message says why."""


class MissingFile(UnusableFile):
    """A file that is not there any more. It is taken if it comes back."""


@dataclass(frozen=True, slots=True)
class PlacedFile:
    """A file of a place, and when it was last changed."""

    found: FoundFile
    modified: datetime | None
    is_settled: bool = True
    """Whether nobody has written to it for some seconds; until then it is not taken."""


class FilePlace(Protocol):
    """Where files are."""

    marks_are_unique: bool
    """Whether two addresses with one mark are two names of one file."""

    def files(self) -> list[PlacedFile]:
        """The files of the place that are not empty, in no order. Raises Unavailable, InvalidRequest."""

    def fetch(self, file: FoundFile, target: Path) -> tuple[Path, str]:
        """A file of this machine with the contents of one, which may be `target`, and the header Content-Encoding that
        came with it. Raises UnusableFile, Unavailable, OSError."""

    def is_unchanged(self, file: FoundFile, opened: Path) -> bool:
        """Whether what `fetch` has given still has these contents. Raises MissingFile, Unavailable."""

    def owns(self, address: str) -> bool:
        """Whether a file of this address is one of the place."""

    def is_small(self, file: FoundFile) -> bool:
        """Whether a file of the place is known to have at most SMALL_BYTES."""


class FolderPlace:
    """Files of a folder of this machine, below one that the settings allow."""

    marks_are_unique = True

    def __init__(self, address: str, allowed: tuple[str, ...]):
        pattern = pattern_of(address)
        self._matches, self._may_hold = _import_test(pattern), folder_test(pattern)
        self._allowed = AllowedFolders(allowed)
        self._folder = fixed_folder(pattern)
        if not self._allowed.hold(self._folder):
            hint = "whoever runs the server may name it in `[imports] folders` of penstock.toml"
            raise Forbidden(f"data sources may not take files of {self._folder}", hint=hint)

    def files(self) -> list[PlacedFile]:
        self._check_folder()
        found: list[PlacedFile] = []
        before = time.time() - SETTLE_SECONDS
        for folder, folders, names in os.walk(self._folder, onerror=self._refuse):
            folders[:] = [each for each in folders if not _is_hidden(each) and self._goes_into(f"{folder}/{each}")]
            for path in (os.path.join(folder, name) for name in names if not _is_hidden(name)):
                if _is_text(path) and self._matches(path) and self._allowed.hold(path):
                    found += self._placed(path, before)
            if len(found) > MOST_OBJECTS:
                raise InvalidRequest(f"more than {MOST_OBJECTS} files are in {self._folder}")
        return found

    def _goes_into(self, folder: str) -> bool:
        """Whether files may be there: other folders of the place may be large, or not be readable."""
        return _is_text(folder) and self._may_hold(folder)

    def _check_folder(self) -> None:
        """Raises Unavailable if the whole folder is away, so that none of its files is taken for gone."""
        if not os.path.isdir(self._folder):
            raise Unavailable(f"there is no folder {self._folder}")

    def _refuse(self, error: OSError) -> None:
        """A folder that cannot be read would look as if it had no files. Raises Unavailable."""
        raise Unavailable(f"{error.filename} cannot be read: {error.strerror}") from error

    def owns(self, address: str) -> bool:
        return address.startswith("file://") and self._matches(unquote(urlsplit(address).path))

    def _placed(self, path: str, before: float) -> Iterator[PlacedFile]:
        mark, modified = _mark_of(path)
        if mark:
            time_of = datetime.fromtimestamp(modified, timezone.utc)
            is_settled = modified <= before or modified > before + 2 * SETTLE_SECONDS  # a time to come says nothing
            yield PlacedFile(FoundFile(Path(path).as_uri(), mark), time_of, is_settled)

    def fetch(self, file: FoundFile, target: Path) -> tuple[Path, str]:
        path = unquote(urlsplit(file.address).path)
        if not self._allowed.hold(path):
            raise UnusableFile("it is a link to a place outside of the folders that may be read")
        if self._present_mark(path) != file.mark:
            raise UnusableFile("it was replaced after it was found")
        return Path(path), ""

    def is_small(self, file: FoundFile) -> bool:
        return int(file.mark.partition(" ")[0]) <= SMALL_BYTES

    def is_unchanged(self, file: FoundFile, opened: Path) -> bool:
        return self._present_mark(unquote(urlsplit(file.address).path)) == file.mark

    def _present_mark(self, path: str) -> str:
        """The mark of a file. Raises MissingFile, and Unavailable if its whole folder is away."""
        mark, _ = _mark_of(path)
        if not mark:
            self._check_folder()
            raise MissingFile("it is gone")
        return mark


class BucketPlace:
    """Objects of a bucket, by S3's protocol."""

    marks_are_unique = False  # equal contents have equal marks

    def __init__(self, values: ConnectionValues, address: str, settings: CopySettings, stops: Callable[[], bool]):
        scheme, _, rest = address.partition("://")
        name, _, path = rest.partition("/")
        if scheme not in ("s3", "s3a") or not name:
            raise InvalidRequest("IMPORT_BUCKET_URI is no place in a bucket", hint="write s3://bucket/folder/*.csv")
        self._bucket = connected_bucket(values, name)
        self._settings, self._stops = settings, stops
        self._pattern = path
        if not self._pattern or self._pattern.endswith("/"):
            self._pattern += "**"
        self._matches = _import_test(self._pattern)
        self._small: frozenset[tuple[str, str]] = frozenset()
        """Keys and marks of the objects that were small when they were last looked for."""

    def files(self) -> list[PlacedFile]:
        try:
            with self._client() as client:
                objects = objects_from(client, self._bucket, fixed_beginning(self._pattern))
        except UnreadableSource as error:
            raise Unavailable(f"the bucket `{self._bucket.name}` cannot be read: {error}") from None
        self._small = frozenset((each.key, each.mark) for each in objects if 0 < each.size <= SMALL_BYTES)
        return [
            PlacedFile(FoundFile(f"s3://{self._bucket.name}/{each.key}", each.mark), each.modified)
            for each in objects
            if self._is_wanted(each.key)
        ]

    def owns(self, address: str) -> bool:
        beginning = f"s3://{self._bucket.name}/"
        return address.startswith(beginning) and self._matches(address.removeprefix(beginning))

    def _is_wanted(self, key: str) -> bool:
        below = key[len(fixed_beginning(self._pattern).rpartition("/")[0]) :]
        hidden = key != self._pattern and any(map(_is_hidden, below.split("/")))
        return not hidden and not key.endswith("/") and self._matches(key)

    def is_small(self, file: FoundFile) -> bool:
        return (self._key(file), file.mark) in self._small

    def _key(self, file: FoundFile) -> str:
        return file.address.removeprefix(f"s3://{self._bucket.name}/")

    def fetch(self, file: FoundFile, target: Path) -> tuple[Path, str]:
        key = self._key(file)
        try:
            with self._client() as client:
                return target, fetch_object(client, self._bucket, BucketObject(key, file.mark), target)
        except RefusedRequest as error:
            # The list was readable: what the server says of one object is about that object.
            if error.status == GONE:
                raise MissingFile("it is gone") from None
            raise UnusableFile(
                "it was replaced after it was found" if error.status == REPLACED else str(error)
            ) from None
        except ReadLimit as error:
            raise UnusableFile(str(error)) from None

    def is_unchanged(self, file: FoundFile, opened: Path) -> bool:
        return True  # it is a copy

    @contextmanager
    def _client(self) -> Iterator[WebClient]:
        """The connections for one list or one object. Raises Unavailable inside of the block."""
        try:
            with closing(WebClient(self._settings, self._stops)) as client:
                yield client
        except UnreadableSource as error:
            if isinstance(error, ReadLimit) or (isinstance(error, RefusedRequest) and _is_about_object(error)):
                raise
            raise Unavailable(f"the bucket `{self._bucket.name}` cannot be read: {error}") from None


def _is_about_object(error: RefusedRequest) -> bool:
    """Whether asking again later would give the same answer."""
    return 400 <= error.status < 500 and error.status not in (TIMED_OUT, TOO_MANY)


def _import_test(pattern: str) -> Callable[[str], bool]:
    try:
        return import_test(pattern)
    except TooManyPaths as error:
        raise InvalidRequest(str(error)) from None


def _is_hidden(name: str) -> bool:
    """Whether a name is one of those that programs give to files that are none of the data, such as `_SUCCESS`."""
    return name.startswith((".", "_"))


def _is_text(path: str) -> bool:
    """Whether a path is UTF-8; Python has other bytes as halves of pairs."""
    return not any("\ud800" <= each <= "\udfff" for each in path)


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
