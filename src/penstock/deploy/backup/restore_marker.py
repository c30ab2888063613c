"""The marker of a restore that is under way: a file in the project's `.penstock` folder.

In: the folder. Out: `RestoreMarker`. Invariant: it is on disk before anything is restored, and goes once everything is:
so no server starts on a part of a project, and a restore that was killed can be run again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from penstock.errors import Conflict, Failed

FILE = "restore.json"


class UnfinishedRestore(Conflict):
    """A restore into a folder has not ended."""

    code = "unfinished-restore"


@dataclass(frozen=True, slots=True)
class RestoreMarker:
    """What a restore knew when it began."""

    backup: str
    """The folder of the backup."""
    own_files: bool
    """Whether the project had settings, and so keeps its own datafiles."""
    warehouse: str
    inbox: str


def require_restored(home: Path) -> None:
    """Raises UnfinishedRestore if a restore into the folder was killed, or runs."""
    found = read_marker(home)
    if found is not None:
        raise UnfinishedRestore(
            f"the restore of {found.backup} into {home.parent} has not ended: rows are missing",
            hint=f"run `penstock restore {found.backup} {home.parent}` again, which goes on; to begin with an empty"
            f" project, delete {home}",
        )


def read_marker(home: Path) -> RestoreMarker | None:
    """The marker; None if no restore has begun, or it has ended. Raises Failed."""
    try:
        content = (home / FILE).read_bytes()
        # It is empty if the restore was killed before it had begun.
        return RestoreMarker(**orjson.loads(content)) if content else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise Failed(f"{home / FILE} cannot be read: {error}", hint=f"delete {home} and restore again") from error


@contextmanager
def hold_marker(home: Path, marker: RestoreMarker) -> Iterator[None]:
    """The block restores; the marker stays if it raises. Raises UnfinishedRestore if another restore runs there."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (home / FILE).open("ab") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another restore into {home.parent} runs"
            raise UnfinishedRestore(message, hint="wait until it has ended") from None
        file.truncate(0)
        file.write(orjson.dumps(asdict(marker)))
        file.flush()
        os.fsync(file.fileno())
        _sync_folder(home)
        yield
        (home / FILE).unlink()
        _sync_folder(home)


def _sync_folder(folder: Path) -> None:
    entries = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(entries)
    finally:
        os.close(entries)
