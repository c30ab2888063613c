"""The marker of a restore that is under way: a file in the project's `.penstock` folder.

In: the folder. Out: `RestoreMarker`. Invariant: it is on disk before anything is restored, and goes once everything is:
so no server starts on a part of a project, and a restore that was killed can be run again.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from penstock.deploy.ownership.folder_lock import LOCK
from penstock.errors import Conflict, Failed
from penstock.lake.storage.durable_writes import SUFFIX, replace_file, sync_folder

FILE = "restore.json"
BEFORE_MARKER = frozenset({LOCK, FILE + SUFFIX})
"""What a restore that was killed before it began may leave in the folder."""


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
    made_at: str = ""
    """When the backup was made, which tells it from others wherever it lies."""


def require_restored(home: Path) -> None:
    """Raises UnfinishedRestore if a restore into the folder was killed, or runs."""
    found = read_marker(home)
    if found is not None:
        raise UnfinishedRestore(
            f"the restore of {found.backup} into {home.parent} has not ended: rows are missing",
            hint=f"run `penstock restore {found.backup} {home.parent}` again, which goes on; to begin with an empty"
            f" project, delete {home}",
        )


def require_same_backup(home: Path, begun: RestoreMarker | None, made_at: str) -> None:
    """Raises UnfinishedRestore if the restore that was killed in the folder was one of another backup."""
    if begun is not None and begun.made_at not in ("", made_at):
        raise UnfinishedRestore(
            f"another backup, made at {begun.made_at}, was being restored into {home.parent} from {begun.backup}",
            hint=f"go on with that one; to restore this one, made at {made_at}, delete {home} first",
        )


def read_marker(home: Path) -> RestoreMarker | None:
    """The marker; None if no restore has begun, or it has ended. Raises Failed."""
    try:
        return RestoreMarker(**orjson.loads((home / FILE).read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError) as error:
        raise Failed(f"{home / FILE} cannot be read: {error}", hint=f"delete {home} and restore again") from error


@contextmanager
def hold_marker(home: Path, marker: RestoreMarker, begun: RestoreMarker | None) -> Iterator[None]:
    """The block restores; the marker stays if it raises. `begun` is the marker that was found when the restore was
    prepared. Raises UnfinishedRestore if another restore runs there, or has run since."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Not the marker is locked: it goes, and whoever opened it before would hold a file that has no name.
    with (home / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            message = f"another restore into {home.parent} runs, or a server"
            raise UnfinishedRestore(message, hint="wait until it has ended") from None
        if read_marker(home) != begun:
            message = f"another restore into {home.parent} ran at the same time"
            raise UnfinishedRestore(message, hint="look at what it did, and restore again if it did not end")
        with replace_file(home / FILE) as file:  # a marker that is empty for a moment would be none
            file.write(orjson.dumps(asdict(marker)))
        yield
        (home / FILE).unlink()
        sync_folder(home)
