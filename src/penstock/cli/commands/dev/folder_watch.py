"""Tells that files of a project's folder were saved.

In: a folder. Out: `SavedFiles` events. Invariants: what editors, Python and the server write for themselves is no save;
many writes that follow each other are one; a folder that is removed, or that cannot be watched, is looked at now and
then instead.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from watchfiles import watch

from penstock.cli.commands.dev.event_queue import SavedFiles
from penstock.parse.project_files import SUFFIXES, VIRTUAL_ENVIRONMENT

STEP_MILLISECONDS = 100
"""A save is over when nothing was written for as long."""
LONGEST_MILLISECONDS = 1_600
"""Files that are written all the time are looked at as often."""
LOOK_MILLISECONDS = 2_000
"""How often the folder is looked at without a notice, which some file systems do not send."""
RETRY_SECONDS = 0.5
_IGNORED_FOLDERS = frozenset(("node_modules", "__pycache__", "site-packages", "venv", "build", "dist"))
_ENDINGS = (*SUFFIXES, ".incl", ".py", ".sql", ".toml", ".yaml", ".yml")
_ENDINGS_INSIDE = (*_ENDINGS, ".csv", ".json", ".ndjson", ".parquet")
"""Of files in a folder of the project, such as its fixtures; in the project's own folder such a file may be what some
command writes."""
_IGNORED_STARTS = (".", "#")
_OF_EDITORS = "___jb_"
"""What is in the names of temporary files of some editors."""
FileMark: TypeAlias = "tuple[int, int, int, int]"
"""When a file was changed, its size, its number on the disk and its mode."""


class FolderWatch:
    """Watches a folder in a thread of its own, from `start` to `stop`."""

    def __init__(self, folder: Path, tell: Callable[[SavedFiles], None]):
        self._folder = folder
        self._tell = tell
        self._stopped = threading.Event()
        self._known: Mapping[str, FileMark] = {}
        self._thread = threading.Thread(target=self._run, name="folder watch", daemon=True)

    def start(self) -> None:
        """Take the files as they are now for known, and begin to watch."""
        self._known = dict(read_marks(self._folder))
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(LOOK_MILLISECONDS / 1000)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._watch(list(find_folders(self._folder)))
            except (OSError, RuntimeError):
                # The folder is not there, was removed while it was read, or the system watches no more folders.
                self._stopped.wait(RETRY_SECONDS)
            self._compare()

    def _watch(self, folders: list[Path]) -> None:
        """Watch these folders until others are there. Each is watched alone, so that the server's own are not."""
        if not folders:
            raise FileNotFoundError(self._folder)
        notices = watch(
            *folders,
            recursive=False,
            watch_filter=None,
            debounce=LONGEST_MILLISECONDS,
            step=STEP_MILLISECONDS,
            rust_timeout=LOOK_MILLISECONDS,
            yield_on_timeout=True,
            stop_event=self._stopped,
            raise_interrupt=False,
        )
        for _ in notices:
            self._compare()
            if list(find_folders(self._folder)) != folders:
                return

    def _compare(self) -> None:
        """Tell which files are not as they were."""
        found = dict(read_marks(self._folder))
        known, self._known = self._known, found
        changed = sorted(path for path in known.keys() | found.keys() if known.get(path) != found.get(path))
        if changed and not self._stopped.is_set():
            self._tell(SavedFiles(tuple(changed)))


def find_folders(folder: Path) -> Iterator[Path]:
    """The folder and those in it which may have files of a project."""
    for here, _ in _walk(folder):
        yield here


def read_marks(folder: Path) -> Iterator[tuple[str, FileMark]]:
    """The files which may belong to a project, by their relative paths, with what changes when they are saved."""
    own = _own_outputs()
    for here, names in _walk(folder):
        endings = _ENDINGS if here == folder else _ENDINGS_INSIDE
        for name in names:
            try:
                found = os.stat(here / name)
            except OSError:  # it was removed meanwhile, or is a link to nowhere
                continue
            if not name.endswith(endings) or (found.st_dev, found.st_ino) in own:
                continue
            path = (here / name).relative_to(folder).as_posix()
            yield path, (found.st_mtime_ns, found.st_size, found.st_ino, found.st_mode)


def _own_outputs() -> frozenset[tuple[int, int]]:
    """The files that this process writes its output to, each line of which would be taken for a save."""
    found = set()
    for stream in (1, 2):
        with suppress(OSError):
            status = os.fstat(stream)
            found.add((status.st_dev, status.st_ino))
    return frozenset(found)


def _walk(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_ignored(os.path.join(here, name), name))
        yield Path(here), [name for name in names if not _is_temporary(name)]


def _is_temporary(name: str) -> bool:
    return name.startswith(_IGNORED_STARTS) or _OF_EDITORS in name


def _is_ignored(path: str, name: str) -> bool:
    is_environment = os.path.exists(os.path.join(path, VIRTUAL_ENVIRONMENT))
    return name.startswith(".") or name in _IGNORED_FOLDERS or is_environment
