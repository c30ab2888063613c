"""Replace a file as a whole, so that it is there after a power cut: the one before, or the new one.

In: a path, and its bytes. Out: the file. Invariant: nobody ever sees a part of it; once the call returns, its bytes and
its entry in the folder are on disk (fsync).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

SUFFIX = ".new"
"""Of the file that is written before it takes the other one's place. A crash may leave it behind."""


@contextmanager
def replace_file(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """What the block writes takes the place of `path` if it ends without an error; `mode` is for the new file. Raises
    OSError."""
    fresh = path.with_name(path.name + SUFFIX)
    fresh.unlink(missing_ok=True)
    try:
        # Not by a descriptor: then the file would not know its name, beside which others put theirs.
        with open(fresh, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force the entries of a folder to disk."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
